"""The best schedule behind a random projection: by the equivalent and for one projection, and batches that real SGD takes."""

import jax
import numpy as np
import pytest
from test_structured_schedules import check_gradient

import dimfree as df
from dimfree.onepass.projected.best_schedule import best_schedule
from dimfree.onepass.projected.mean_risk import critical_rate
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.questions.scaling.theory import Law, curves, sizes_for
from dimfree.questions.scaling.what_if import best_of_schedule, searched
from dimfree.questions.schedules.confirmation import BY, nearest
from dimfree.questions.schedules.export import as_csv
from dimfree.questions.schedules.grown import grown
from dimfree.questions.schedules.runs import factors_at
from stages import gating

STEPS = 320


def projected(**changes):
    """A power law of phase III with noisy labels."""
    base = df.Problem(
        dimension=32,
        data={"kind": "power-law", "alpha": 0.7, "beta": 1.2, "inputs": 256, "noise": 0.1},
        training={"learning_rate": 0.15},
        run={"until": 0.15 * STEPS / 32, "seed": 2},
    )
    return base.replace(**changes) if changes else base


@pytest.fixture(scope="module")
def best():
    return df.optimise(projected(), knots=13, against="cosine", confirm="none")


def test_the_equivalent_is_optimised_with_certificates(best):
    assert best.hunt.course.theory.name == "equivalent"
    found = best.certificate
    assert found.converged
    assert found.regular
    assert found.pontryagin_error < 0.02
    assert 0 <= found.knots_doubled_gain < 0.01
    assert found.starts_spread < 1e-3
    assert found.grid_error < 1e-9
    assert "not certain" not in best.summary()


@pytest.mark.slow
def test_a_search_that_shares_no_line_ends_as_low(best):
    """`best_schedule` has the recursion, its slopes and the search of its own, in NumPy."""
    measures = equivalent(df.extend.model(best.problem).population(), 32)
    other = best_schedule(measures, critical_rate(measures, 1), 1, 0.1, STEPS)
    assert best.schedules["optimal"].risk == pytest.approx(other.risk, rel=2e-3)
    assert best.gain() > 1.05
    assert best.schedules["cosine"].risk > best.schedules["optimal"].risk


MOVING = {"training.momentum": 0.6, "training.batch": 3}


@pytest.mark.parametrize(
    ("theory", "changes"),
    gating([("equivalent", {}), ("equivalent", MOVING), ("projected-mean", MOVING)], [("equivalent", {})]),
)
def test_gradients_are_those_of_differences(theory, changes):
    check_gradient(projected(**changes), theory)


def test_batches_are_taken_by_the_theory(best):
    rates, batches = best.batches().one_by_one(32)
    assert batches.min() == 1
    assert batches.max() > 8
    assert 0 <= batches.sum() - STEPS < batches[-1]
    measures = equivalent(df.extend.model(best.problem).population(), 32)
    one_by_one = stepwise_risks(measures, rates, batches, 0.1, np.array([len(rates)]))[0]
    assert best.in_batches() == pytest.approx(one_by_one, rel=1e-9)
    assert f"They end at a risk of {one_by_one:.4g}, by the equivalent." in " ".join(best.summary().split())
    assert best.values()["batches"]["risk"] == best.in_batches()


@pytest.mark.slow
def test_batches_are_taken_by_real_sgd(best):
    """Against the exact mean of the same projection along the same batches."""
    run, model, dt = best.run_batches(replicas=400), df.extend.model(best.problem), best.problem.time_step
    assert list(run.batches[:2]) == [1, 2]
    assert run.samples[-1] == STEPS
    firsts, rates, batches = np.append(0, run.samples[:-1]), [], []
    for first, last, batch in zip(firsts, run.samples, run.batches, strict=True):
        starts = np.arange(first, last, batch)
        rates.append(0.15 * batch * factors_at(best.schedule, starts * dt))
        batches.append(np.full(len(starts), batch))
    assert run.steps == sum(map(len, batches)) < 0.8 * STEPS
    exact = stepwise_risks(model.measures(), np.concatenate(rates), np.concatenate(batches), 0.1, np.array([run.steps]))
    error = run.ends.std(ddof=1) / np.sqrt(run.ends.size)
    assert abs(run.ends.mean() - exact[0]) < 4 * error
    assert error < 0.01 * exact[0]


@pytest.mark.slow
def test_sgd_in_the_eigenbasis_confirms_the_best_schedule_of_its_projection():
    found = df.optimise(projected(), knots=13, against="cosine", by="projected-mean", replicas=128)
    assert found.confirmed.by == "sgd-eigenbasis"
    assert found.exit_code == 0
    assert "confirms it" in found.summary()
    mean, ends = found.schedules["optimal"].risk, found.confirmed.ends("optimal")
    assert abs(ends.mean() - mean) < 4 * ends.std(ddof=1) / np.sqrt(ends.size)


def test_who_confirms_and_what_scripts_say():
    table = df.Problem(data={"kind": "projected"}, dimension=16)
    assert [nearest(one) for one in (projected(), table)] == ["sgd-eigenbasis", "projected-rows"]
    straight = {"kind": "linear", "times": [0.0, 1.0], "factors": [1.0, 0.5]}
    said = as_csv(projected(**{"training.schedule": straight}))
    assert "# Inputs: x = W^T z, d = 32 random mixtures of what is projected; entries of W of variance 1/d." in said
    assert "divide the rate by d" not in said


def test_equations_of_the_limit_are_refused():
    with pytest.raises(df.RefusalError, match="optimised through ode, which refuses: it describes training on"):
        df.optimise(projected(), by="ode")
    with pytest.raises(df.RefusalError, match="optimised through linear-mean, which refuses"):
        df.optimise(projected(), by="linear-mean")


def test_too_few_samples_for_batches_that_grow_are_refused(best):
    with pytest.raises(df.ProblemError, match="nothing is confirmed by 'projected-mean'"):
        best.run_batches(by="projected-mean")
    straight = {"kind": "linear", "times": [0.0, 0.1], "factors": [1.0, 0.5]}
    short = projected(**{"training.schedule": straight, "run.until": 20 * 0.15 / 32})
    with pytest.raises(df.RefusalError, match=r"need at least 32 samples; raise run\.until"):
        grown(short, BY["sgd"], [], jax.random.key(0), 1)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta", "noise"), [(1.0, 0.7, 0.0), (0.7, 1.2, 0.0), (1.0, 0.7, 0.1)])
def test_the_best_schedule_changes_as_compute_grows(alpha, beta, noise):
    """docs/scaling.md: without noise the largest rate rises and the shape stays; with it that falls and the decay is earlier."""
    spent = np.array([1e4, 1e5])
    law = Law(df.PowerLaw(alpha=alpha, beta=beta, inputs={"per_size": 1000.0}, noise=noise), 0.5, 1)
    sizes = curves(law, sizes_for(law.data, spent[-1], None), spent).frontier.size
    found = [searched(law, d, round(C / d)) for d, C in zip(sizes, spent, strict=True)]
    assert all(one.certified for one in found)
    (early, late), steps = (one.shape for one in found), [len(one.rates) for one in found]
    lost = [
        best_of_schedule(law, d, float(n), "constant")[1] / one.risk
        for d, n, one in zip(sizes, steps, found, strict=True)
    ]
    assert lost[1] > 1.1 * lost[0] > 1.1
    if noise:
        assert late.peak < 0.95 * early.peak
        assert late.held < early.held - 0.05
    else:
        assert late.peak > 1.05 * early.peak
        assert abs(late.held - early.held) < 0.05
        assert early.held > 0.8
