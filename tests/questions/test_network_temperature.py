"""Effective temperatures of networks on data sets: one unit is what it was, and twins of two units agree with the theory."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

import dimfree as df
from dimfree.dataset.committee.linear import solve_linear
from dimfree.questions.temperature.answer import Account, Temperature, temperature
from dimfree.questions.temperature.subject import Twins

NUMBERS = {"learning_rate": 0.3, "loss": "square", "weight_decay": 0.3, "batch_fraction": 0.4}
RUN = {"until": 24.0, "points": 2, "spacing": "linear"}


def network(units: int = 2, **changes) -> df.extend.NetworkProblem:
    start = df.OverlapStart(Q=np.eye(units).tolist(), M=[[0.3]] * units)
    problem = df.Problem(
        dimension=200,
        data=df.DataSetTeacher(units=1, activation="linear", noise=0.2),
        network=df.TwoLayer(width=units, activation="linear"),
        training=df.NetworkMultiPass(**NUMBERS),
        start=start,
        run=RUN,
    )
    return problem.replace(**changes) if changes else problem


def test_one_unit_is_the_linear_teacher():
    single = df.Problem(
        data=df.LinearTeacher(noise=0.2),
        training=df.MultiPass(**NUMBERS),
        start=df.AlignedStart(overlap=0.3, variance=1 - 0.3**2),
        run=RUN,
    )
    one, known = temperature(network(1)).accounts[0], temperature(single).accounts[0]
    np.testing.assert_allclose(one.chi, known.chi, atol=1e-10)
    np.testing.assert_allclose(one.Delta_C, known.Delta_C, atol=1e-10)


def test_langevin_noise_of_two_units_has_its_own_temperature_as_the_step_vanishes():
    heat = {"training.batch_fraction": 1.0, "training.temperature": 0.25, "training.weight_decay": 0.5}
    shift = [temperature(network(**heat, **{"training.learning_rate": eta})).value - 0.25 for eta in (0.4, 0.2)]
    assert 0 < shift[1] < shift[0] < 0.1
    assert shift[0] / shift[1] == pytest.approx(2.0, rel=0.3)


@pytest.mark.slow
def test_twins_agree_with_the_theory_and_not_with_a_colder_one():
    heat = {"training.temperature": 0.1, "training.weight_decay": 0.5}
    found = temperature(network(**heat), seeds=16)
    assert found.names == ("dmft", "simulation")
    assert found.chance() > 1e-3
    colder = temperature(network(**heat | {"training.temperature": 0.08}))
    assert replace(found, accounts=(colder.accounts[0], found.accounts[1])).chance() < 1e-5


def test_twins_that_are_the_theory_do_not_deviate_while_norms_still_change(monkeypatch):
    def exact(self, since, steps, key, seeds):
        found, at = solve_linear(self.model, self.start, steps), [*since, steps]
        C, R = (self.of_units(part) for part in (found.C, found.R))
        chi = [float(self.model.eta) * R[steps, s:steps].sum() for s in since]
        return Twins(np.stack(seeds * [C[np.ix_(at, at)]]), np.stack(seeds * [chi]))

    monkeypatch.setattr("dimfree.questions.temperature.subject._Network.twins", exact)
    found = temperature(network(), seeds=2)
    assert found.drift < -0.02
    assert found.deviation()[0] == pytest.approx(0.0, abs=1e-9 * found.value)


def test_chance_is_that_of_student():
    """The error of few seeds is itself uncertain; an exact theory has none."""
    lag, slopes = np.arange(4.0), 0.25 + np.array([0.02, 0.05, -0.01, 0.03])
    exact = Account("dmft", lag, lag[None], 0.25 * lag[None])
    runs = Account("simulation", lag, np.tile(lag, (4, 1)), slopes[:, None] * lag)
    found = Temperature(network(), (exact, runs), 0.0, None)
    expected = ttest_1samp(slopes, 0.25).pvalue
    assert found.chance() == pytest.approx(expected, rel=1e-6)
    assert f"with 4 seeds chance alone makes it as large in {100 * expected:.2g} % of all cases" in found.summary()
    assert found.values()["deviation"]["chance"] == found.chance()
    scattered = Account("dmft", lag, np.tile(lag, (3, 1)), (0.25 + np.array([[0.01], [0.0], [-0.01]])) * lag)
    both = Temperature(network(), (scattered, runs), 0.0, None)
    assert both.chance() == pytest.approx(ttest_ind(slopes, [0.26, 0.25, 0.24], equal_var=False).pvalue, rel=1e-6)


def test_units_that_bend_have_no_response():
    with pytest.raises(df.errors.RefusalError, match="relu units bend"):
        temperature(network(**{"network.activation": "relu"}))
