"""Power laws behind a random projection: real SGD on genuine inputs, in the eigenbasis, and its mean."""

import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError, RefusalError
from dimfree.onepass.projected.mean_risk import mean_risks
from dimfree.onepass.projected.measures import drawn, equivalent
from dimfree.onepass.projected.population import power_law


def problem(**changes):
    return df.Problem(
        data={"kind": "power-law", "alpha": 0.7, "beta": 1.2, "inputs": 300, "noise": 0.05},
        dimension=24,
        training={"learning_rate": 0.12, "batch": 2},
        run={"until": 2.0, "replicas": 400, "points": 11, "seed": 3},
    ).replace(**changes)


def z_scores(given, by):
    """Of the mean over runs against the exact mean of the same projection, at all times but 0."""
    risk, mean = df.simulate(given, by=by)["risk"].values, df.solve(given, by="projected-mean")["risk"].values[:, 0]
    error = risk[1:].std(1, ddof=1) / np.sqrt(risk.shape[1])
    return (risk.mean(1) - mean)[1:] / error


def test_sgd_in_the_eigenbasis_has_the_exact_mean():
    z = z_scores(problem(), "sgd-eigenbasis")
    assert np.sqrt(np.mean(z**2)) < 2
    assert np.abs(z).max() < 4


@pytest.mark.slow
def test_sgd_on_genuine_inputs_has_the_exact_mean():
    """Forty values of four settings; times of one run are not independent, and neither is their r.m.s. sharp."""
    settings = (
        {},
        {"data.alpha": 1.0, "data.beta": 0.7, "run.seed": 4},
        {"data.alpha": 0.4, "data.beta": 0.8, "training.learning_rate": 0.04, "run.seed": 5},
        {"training.schedule": {"kind": "power", "scale": 0.5, "exponent": 0.5}, "run.seed": 6},
    )
    z = np.concatenate([z_scores(problem(**one), "sgd") for one in settings])
    assert len(z) >= 40
    assert np.sqrt(np.mean(z**2)) <= 1.3


def test_what_no_weights_reach_is_the_last_risk_of_small_steps():
    given = problem(**{"data.noise": 0.0, "training.learning_rate": 0.01, "run.until": 100.0})
    model = df.extend.model(given)
    last = df.solve(given, by="projected-mean")["risk"].values[-1, 0]
    np.testing.assert_allclose(last, float(model.unreached) / 2, rtol=0.05)


def test_a_schedule_of_ones_is_no_schedule():
    ones = problem(**{"training.schedule": {"kind": "power", "scale": 1.0, "exponent": 0.0}})
    for by in ("projected-mean", "equivalent"):
        found = [df.solve(one, by=by)["risk"].values for one in (ones, problem())]
        np.testing.assert_allclose(*found, rtol=1e-10)


def test_a_rate_above_the_limit_of_stability_is_warned_of():
    given = problem(**{"training.learning_rate": 2.0, "training.batch": 1, "run.until": 0.5})
    comparison = df.compare(given, only=["projected-mean"])
    assert "learning_rate 2 is above the limit of stability" in comparison.summary().replace("\n", " ")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dimension": 300}, "size 300 is not below inputs 300: nothing is hidden; lower dimension"),
        ({"data.beta": -0.3}, r"alpha \+ beta = 0.4: the target's energy diverges with inputs"),
        ({"data.alpha": 12.0}, "alpha = 12.0: input should be less than or equal to 5"),
        ({"network.width": 2}, "is about one linear unit; set network.width = 1"),
        ({"network.activation": "erf"}, "is about one linear unit"),
        ({"start.scale": 2.0}, r"begin at 0 and are not kept on a sphere; leave out \[start\]"),
        ({"data.inputs": 10_000_000}, "is too large to be drawn; lower dimension or data.inputs"),
        ({"training.momentum": 0.5, "training.nesterov": True}, "worked out for plain momentum; leave nesterov out"),
        ({"data.inputs": {"per_size": 1.0}}, "greater than 1"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(changes, sentence):
    with pytest.raises(ProblemError, match=sentence):
        problem(**changes)


def test_inputs_may_grow_with_the_size():
    assert problem(**{"data.inputs": {"per_size": 8}}).data.inputs_of(24) == 192


@pytest.mark.slow
@pytest.mark.parametrize("by", ["sgd", "sgd-eigenbasis"])
def test_sgd_with_momentum_has_the_exact_mean(by):
    z = z_scores(problem(**{"training.momentum": 0.8, "training.learning_rate": 0.03, "run.seed": 7}), by)
    assert np.sqrt(np.mean(z**2)) < 2


def test_momentum_is_another_rate_where_steps_are_small():
    """Plain SGD at rate/(1 - momentum), up to the order of that rate (docs/theory/scaling.md, section 4)."""
    slow = {"training.momentum": 0.5, "training.learning_rate": 0.001, "run.until": 1.0}
    plain = {"training.learning_rate": 0.002, "run.until": 1.0}
    found = [df.solve(problem(**one), by="equivalent")["risk"].values[1:] for one in (slow, plain)]
    np.testing.assert_allclose(*found, rtol=5e-3)  # the lag of a step


def test_pde_names_a_description_that_applies():
    with pytest.raises(RefusalError, match="use equivalent or sgd"):
        df.solve(problem(), by="pde")


@pytest.mark.slow
def test_the_mean_over_projections_is_above_the_equivalent_by_c_over_d():
    """docs/theory/scaling.md, section 2.1: c is about 1, and one projection scatters by sigma/sqrt(d), sigma about 1.7."""
    v, steps = 400, np.array([10.0, 100.0, 1000.0])
    population, (h, b) = power_law(0.7, 1.2, v), df.PowerLaw(inputs=v).modes(1)
    gamma, c, sigma = 0.5 / population.trace, [], []
    for d, draws in ((24, 1200), (48, 800), (96, 400)):
        rng, mean = np.random.default_rng(d), mean_risks(equivalent(population, d), gamma, 1, 0.0, steps)
        ratios = []
        for _ in range(draws):
            W = rng.standard_normal((v, d)) / np.sqrt(d)
            ratios.append(mean_risks(drawn(h, b, W).measures, gamma, 1, 0.0, steps) / mean)
        off, spread = np.mean(ratios, axis=0) - 1, np.std(ratios, axis=0, ddof=1)
        assert (np.abs(d * off - 1.2) < 1.0 + 3 * d * spread / np.sqrt(draws)).all()
        c.append(d * off)
        sigma.append(spread * np.sqrt(d))
    assert np.mean(c) > 0.4  # 1.0 in 6000 draws at d = 24: 0.85(10), at 48: 1.0(2), at 96: 2.1(4)
    np.testing.assert_allclose(sigma, 1.75, rtol=0.25)
