"""Effective temperatures: known ones are found, accounts agree, and what makes no sense is refused in one sentence."""

import json
from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import numpy as np
import pytest

import dimfree as df
from dimfree.dataset.dmft.description import DMFT
from dimfree.errors import ProblemError, RefusalError
from dimfree.questions.temperature.answer import Account, Temperature, temperature

SQUARE = {"loss": "square", "learning_rate": 0.2, "weight_decay": 0.1}


class MoreSamples(DMFT):
    """Wrong on purpose: it believes in more data than there are."""

    name: ClassVar[str] = "more-samples"

    def replica(self, model, start, times, key, number):
        return super().replica(
            eqx.tree_at(lambda m: m.limit.alpha, model, 1.3 * model.limit.alpha), start, times, key, number
        )


def problem(until: float = 60.0, dimension: int = 150, **training) -> df.extend.DataSetProblem:
    return df.extend.DataSetProblem(
        dimension=dimension,
        data=df.TwoClusters(samples=3.0, variance=0.5),
        training=df.MultiPass(**(SQUARE | {"batch_fraction": 0.3} | training)),
        run=df.Run(until=until),
    )


@pytest.fixture(scope="module")
def found() -> Temperature:
    return temperature(problem(), seeds=8)


@pytest.mark.slow
def test_langevin_noise_has_its_own_temperature_as_the_step_vanishes():
    """The sheet: an O(eta) shift."""
    shift = [
        temperature(
            problem(until=20.0, batch_fraction=1.0, temperature=0.25, learning_rate=eta, weight_decay=0.5)
        ).value
        - 0.25
        for eta in (0.2, 0.1)
    ]
    assert 0 < shift[1] < shift[0] < 0.1
    assert shift[0] / shift[1] == pytest.approx(2.0, rel=0.2)


@pytest.mark.slow
def test_theory_and_closed_form_agree(found):
    assert found.names == ("dmft", "closed form", "simulation")
    assert found.no_temperature is None
    for which in ("short", "fit"):
        exact, closed = (found.account(name).slope(which)[0] for name in ("dmft", "closed form"))
        assert exact == pytest.approx(closed, rel=5e-3)


@pytest.mark.slow
def test_twin_runs_agree_with_the_theory_and_not_with_a_wrong_one(found):
    off, error = found.deviation()
    assert abs(off) < 4.5 * error
    assert error < 0.1 * found.value
    wrong = temperature(problem(), theory=MoreSamples()).accounts[0]
    off, error = replace(found, accounts=(wrong, *found.accounts[1:])).deviation()
    assert abs(off) > 4.5 * error


def test_a_run_that_is_not_stationary_has_no_temperature(tmp_path):
    early = temperature(problem(until=4.0))
    assert early.value is early.deviation() is None
    assert early.summary().startswith("there is no temperature: C(t,t) still changes by")
    assert early.summary().endswith("the run is not stationary; raise run.until, or choose a shorter window.")
    assert early.exit_code == 1
    assert early.to_dict()["accounts"]["dmft"]["temperature"] is None
    early.plot(tmp_path / "early.png")
    assert (tmp_path / "early.png").stat().st_size > 10_000


def test_without_noise_there_is_no_temperature():
    for cold in (problem(batch_fraction=1.0), df.extend.DataSetProblem()):
        with pytest.raises(RefusalError, match="there is no temperature: the full batch without Langevin noise"):
            temperature(cold)


@pytest.mark.slow
def test_the_default_has_an_answer_and_it_is_that_of_the_closed_form():
    found = temperature()
    assert found.exit_code == 0
    assert found.value == pytest.approx(found.account("closed form").slope("fit")[0], rel=5e-3)


@pytest.mark.slow
def test_interpolation_has_no_temperature():
    """Noise that dies out with the training loss: nothing is stationary."""
    few = problem(until=30.0, weight_decay=0.0).replace(**{"data.samples": 0.5})
    assert temperature(few).value is None


@pytest.mark.slow
def test_persistent_batches_have_no_closed_form_and_are_hotter(found):
    hot = temperature(problem(persistence=2.0))
    assert hot.names == ("dmft",)
    assert "not for a persistence time of 2" in hot.no_closed_form
    assert "no closed form" in hot.summary()
    assert hot.value > 3 * found.value


@pytest.mark.slow
def test_ensembles_of_paths_give_an_error_bar():
    logistic = temperature(problem(until=6.0, loss="logistic"), theory=DMFT(paths=300, ensembles=3))
    value, error = logistic.accounts[0].slope("fit")
    assert 0 < error < value


def test_slopes_of_a_known_curve():
    chi, Delta_C = np.array([[0.0, 1.0, 2.0, 4.0]]), np.array([[0.0, 0.3, 0.5, 0.6]])
    one = Account("known", np.array([0.0, 0.1, 0.2, 0.4]), chi, Delta_C)
    values = [one.slope(which)[0] for which in ("short", "long", "total", "fit")]
    np.testing.assert_allclose(values, [0.3, 0.05, 0.15, (0.3 + 1.0 + 2.4) / 21])
    some = one.at(np.array([0.0, 0.2, 0.4]))
    np.testing.assert_allclose(some.chi, [[0.0, 2.0, 4.0]])
    assert some.slope("short") == (0.25, 0.0)


@pytest.mark.slow
def test_everything_can_be_written(found, tmp_path):
    assert json.loads(json.dumps(found.to_dict()))["accounts"]["dmft"]["temperature"]["fit"]["value"] == found.value
    found.plot(tmp_path / "temperature.png")
    assert (tmp_path / "temperature.png").stat().st_size > 10_000
    assert found.save(tmp_path / "temperature.nc").exists()
    text = found.summary()
    assert "closed form" in text
    assert "standard errors) from that of dmft" in text


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"window": 100.0}, ProblemError, "the window is 100, .* end before run.until = 60"),
        ({"window": 0.01}, ProblemError, "at least one step of 0.2"),
        ({"seeds": 1}, ProblemError, "one seed gives no error bar; ask for at least 2"),
        ({"budget": 0.1}, RefusalError, "300 steps need about .* lower run.until, or raise the budget"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        temperature(problem(), **arguments)


def test_bad_problems(tmp_path):
    with pytest.raises(
        RefusalError,
        match=r"dmft refuses: training diverges: training.learning_rate = 2 is not below .* lower training.learning_rate",
    ):
        temperature(problem(learning_rate=2.0))
    with pytest.raises(RefusalError, match="dmft refuses: the hinge loss has no second derivative"):
        temperature(problem(loss="hinge"))
    file = tmp_path / "one-pass.toml"
    file.write_text(df.dumps(df.Problem()))
    with pytest.raises(
        RefusalError,
        match="are about training on a data set, and this problem is training on fresh samples of a teacher",
    ):
        temperature(file)
