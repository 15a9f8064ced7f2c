"""The best schedule on inputs with a covariance: exact means, block equations, rows, batches and momenta."""

from dataclasses import replace
from itertools import product

import jax
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.limits.linear import LinearNetwork, rule_of, starting_errors
from dimfree.onepass.pool import pool_critical_rate, stable_rate
from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.questions.schedules.confirmation import Confirmation, nearest
from dimfree.questions.schedules.equations import Equations
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.knobs import knobs_of
from dimfree.questions.schedules.question import QUESTION
from dimfree.questions.schedules.runs import factors_at
from dimfree.questions.schedules.theories import course_of, with_a_theory
from dimfree.questions.schedules.variants import variants

LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "multiplicities": [2, 6, 12]}
ROWS = np.random.default_rng(3).gamma(2.0, size=(80, 6)) * np.arange(1, 7) ** -0.5


def linear(until=6.0, **changes):
    """A linear network of 240 steps."""
    data = {"kind": "teacher", "units": 2, "activation": "linear", "noise": 0.2, "covariance": LEVELS}
    network = {"width": 2, "activation": "linear", "second_layer_start": [1.0, 1.5]}
    base = df.Problem(dimension=20, data=data, network=network, run={"until": until})
    return base.replace(**changes) if changes else base


def committee(**changes):
    """Two erf units on the same inputs."""
    data = {
        "kind": "teacher",
        "units": 2,
        "scaling": "sum",
        "noise": 0.05,
        "covariance": LEVELS | {"multiplicities": [50, 150, 300]},
    }
    network = {"width": 2, "scaling": "sum"}
    base = df.Problem(dimension=500, data=data, network=network, run={"until": 8.0})
    return base.replace(**changes) if changes else base


def end_of(best, factors):
    """The final risk of a linear network by another implementation, which has signal and noise apart."""
    problem, start = best.hunt.problem, best.hunt.starts[0]
    model = df.extend.model(problem)
    rule, D, d = rule_of(model, np.asarray(start.blocks.a)), starting_errors(model, start), problem.dimension
    nodes = Measures(rule.s / d, rule.s * D, rule.s / d, rule.counts * (rule.s / d) ** 2, 0.0)
    batches, last = np.full(len(factors), problem.training.batch), np.array([len(factors)])
    return float(stepwise_risks(nodes, rule.gamma * factors, batches, rule.Delta, last, problem.training.momentum)[0])


@pytest.fixture(scope="module")
def exact():
    """The best schedule of a linear network through its exact mean."""
    return df.optimise(linear(), knots=25, starts=1, against="exponential,greedy", confirm="none")


def test_the_exact_mean_is_optimised_with_certificates(exact):
    assert exact.hunt.course.theory.name == "linear-mean"
    found = exact.certificate
    assert found.converged
    assert found.regular
    assert found.pontryagin_error < 0.02
    assert found.hamiltonian_spread < 0.02
    assert 0 <= found.knots_doubled_gain < 0.01
    assert found.starts_spread < 1e-3
    assert found.grid_error < 1e-6
    assert exact.gain() > 1.02


def test_gains_on_true_labels_are_those_of_the_whole_risk(exact):
    """What the teacher leaves of the labels is in the measured risk: the gain that theory promises is that of the whole, too."""
    floor = 0.3
    ends = {name: exact.schedules[name].risk + floor for name in ("constant", "exponential", "optimal")}
    runs = {name: np.full((81, 1, 8), end) * (1 + 1e-4 * np.arange(8)) for name, end in ends.items()}
    best = replace(exact, confirmed=Confirmation("rows", 20, runs, floor))
    assert best.gain(floor=floor) == pytest.approx(ends["constant"] / ends["optimal"])
    assert best.exit_code == 0
    assert "SGD on the rows confirms it" in best.summary()
    assert "0.3 of them is what the teacher of theory leaves" in best.summary()
    excess = replace(exact, confirmed=Confirmation("rows", 20, runs))
    assert excess.exit_code == 1
    (said,) = (one for one in excess.warnings if "survive" in one)
    assert said.startswith("the gain of the exact mean (1.9x) does not survive on the rows: SGD gains 1.06")


@pytest.mark.slow
def test_no_schedule_nearby_or_on_a_coarse_grid_ends_lower(exact):
    """Judged by another implementation of the recursion."""
    steps, schedule = 240, exact.schedule
    times = np.arange(steps) * exact.problem.time_step
    optimal, own = factors_at(schedule, times), exact.schedules["optimal"].risk
    assert end_of(exact, optimal) == pytest.approx(own, rel=1e-9)
    chance = np.random.default_rng(0)
    for size in (0.02, 0.1, 0.4):
        for _ in range(10):
            moved = np.asarray(schedule.factors) * np.exp(size * chance.normal(size=len(schedule.factors)))
            assert end_of(exact, np.interp(times, schedule.times, moved)) > own * (1 - 1e-7)
    knots = np.array([0.0, 0.3, 0.7, 1.0]) * times[-1]
    top = optimal.max()
    tried = [
        end_of(exact, np.interp(times, knots, top * np.array(one))) for one in product((0.1, 0.3, 0.6, 1.0), repeat=4)
    ]
    assert own < min(tried) < 1.1 * own


@pytest.mark.parametrize("changes", [{}, {"training.momentum": 0.6, "training.batch": 3}], ids=["plain", "momentum"])
def test_gradients_along_the_exact_steps_are_those_of_differences(changes):
    check_gradient(linear(**changes), "linear-mean")


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"training.momentum": 0.99}], ids=["plain", "momentum"])
def test_gradients_along_block_equations_are_those_of_differences(changes):
    check_gradient(committee(**changes), "ode")


def check_gradient(problem, theory):
    starts = [df.extend.draw_start(problem, jax.random.key(n), vectors=True) for n in range(2)]
    course = course_of(problem, theory, starts, Grid(problem.run.until, 60), "mean-log")
    points = course.grid.points
    factors, direction = 0.4 + 0.3 * np.cos(points), np.sin(3 * points)
    up, down = (float(course.seen(factors + by * direction).value) for by in (1e-5, -1e-5))
    assert np.asarray(course.seen(factors).by_factor) @ direction == pytest.approx((up - down) / 2e-5, rel=1e-6)
    seen = course.conditions(factors, course.numbers)
    assert np.isfinite(seen.ratio[10:]).all()


def test_who_confirms_and_how_far_rates_go_on_rows():
    rows = df.Covariance.features(ROWS)
    mine = committee().replace(**{"dimension": 6, "data.covariance": rows})
    assert [nearest(one) for one in (linear(), committee(), mine)] == ["sgd", "chain", "rows"]
    assert stable_rate(committee()) is None
    found = mine.spectrum.pool.rows
    # |a|²/p² = 2 there, and the slope of erf(x/sqrt 2) at most sqrt(2/pi)
    unit = 4 / float(np.sum(np.asarray(df.extend.draw_start(mine, jax.random.key(0), vectors=True).blocks.a) ** 2))
    for batch, momentum in ((1, 0.0), (8, 0.5)):
        one = mine.replace(**{"training.batch": batch, "training.momentum": momentum})
        expected = pool_critical_rate(found, batch) * unit * (1 - momentum) * np.pi / 2
        assert stable_rate(one) == pytest.approx(expected, rel=2e-3)


def test_batches_and_momenta_keep_the_rate_per_sample():
    problem = linear(**{"training.learning_rate": 0.5, "training.batch": 2})
    turned = knobs_of(problem, "learning-rate,batch,momentum", "batch=1:8,momentum=0:0.8")
    assert turned.batches == (1, 2, 4, 8)
    assert turned.momenta == (0.0, 0.5, 0.75, 0.8)
    for one in variants(problem, turned):
        training = one.training
        assert training.effective_rate / training.batch == pytest.approx(0.25)
        samples = one.steps(one.run.until) * training.batch
        assert samples == pytest.approx(problem.steps(problem.run.until) * 2, abs=training.batch)
    assert variants(problem, knobs_of(problem, "learning-rate", None)) == [problem]


def test_what_is_refused():
    with pytest.raises(
        df.RefusalError, match="optimised through linear-mean, which refuses: it is exact for linear networks"
    ):
        df.optimise(committee(), by="linear-mean")
    with pytest.raises(df.ProblemError, match="schedules are not sought by 'odes'; did you mean 'ode'"):
        df.optimise(committee(), by="odes")
    with pytest.raises(
        df.RefusalError, match="rows cannot confirm schedules of this problem: there are no rows to draw"
    ):
        df.optimise(committee(), confirm="rows")
    with pytest.raises(df.ProblemError, match="of momentum reach 1, where nothing is forgotten"):
        df.optimise(linear(), knobs="learning-rate,momentum", bounds="momentum=0:1")
    with pytest.raises(df.RefusalError, match="schedules are not derived for the huber loss"):
        df.optimise(committee(**{"training.loss": "huber"}))


def test_rows_bring_their_dimension_along():
    """Without a file the question's own problem has 1000 dimensions."""
    example = QUESTION.example()
    assert example.dimension == 1000
    assert example.replace(**{"data.covariance.file": "digits"}).dimension == 61
    assert example.replace(**{"training.batch": 2}).dimension == 1000
    with pytest.raises(df.ProblemError, match="leave dimension out, or set it to 61"):
        _ = example.replace(**{"data.covariance.file": "digits", "dimension": 64}).spectrum


@pytest.mark.slow
def test_block_equations_reach_what_the_exact_mean_reaches():
    """A linear network in high dimension: both theories, the same optimum; and the chain sees the gain."""
    problem = linear(**{"dimension": 2000, "data.covariance": LEVELS | {"multiplicities": [200, 600, 1200]}})
    options = {"knots": 17, "starts": 2, "against": "exponential"}
    limit = df.optimise(problem, by="ode", confirm="none", budget=1e4, **options)
    found = df.optimise(problem, by="linear-mean", replicas=32, budget=1e4, **options)
    assert isinstance(limit.hunt.course, Equations)
    assert limit.schedules["optimal"].risk == pytest.approx(found.schedules["optimal"].risk, rel=0.01)
    assert limit.certificate.pontryagin_error < 0.02
    assert found.confirmed.by == "chain"
    log, error = found.confirmed.log_gain()
    assert abs(log - np.log(found.gain())) < 4 * error


@pytest.mark.slow
def test_the_committee_on_blocks_with_its_certificates():
    best = df.optimise(committee(), knots=17, starts=2, against="cosine", replicas=16, budget=1e4)
    found = best.certificate
    assert found.converged
    assert found.pontryagin_error < 0.02
    assert found.grid_error < 1e-4
    assert best.gain() > 1.1
    assert best.confirmed.by == "chain"
    assert best.exit_code == 0


ROWS_OF = {"file": "breast-cancer", "labels": "target", "scale": "each"}
BREAST = {
    "data": {"kind": "teacher", "units": 1, "activation": "linear", "covariance": ROWS_OF},
    "network": {"width": 1, "activation": "linear"},
    "start": {"kind": "gaussian", "scale": 0.5},
}


@pytest.mark.slow
def test_on_heavy_tailed_rows_the_cap_is_what_keeps_training_stable():
    """Breast cancer, each feature of variance 1, five epochs: Gaussians allow three times the rate of the rows."""
    problem = df.Problem(**BREAST, training={"learning_rate": 0.1})
    problem = problem.replace(**{"run.until": 5 * 569 * problem.time_step})
    limit = stable_rate(problem)
    options = {"knots": 15, "starts": 2, "against": "exponential", "replicas": 24}
    capped = df.optimise(problem, **options)
    assert capped.confirmed.by == "rows"
    assert capped.rates().max() <= 0.6 * limit * (1 + 1e-9)
    assert capped.confirmed.lost("optimal") == 0
    free = df.optimise(problem, bounds=(1e-4, 3 * limit), **options)
    assert free.rates().max() > limit
    assert free.schedules["optimal"].risk < capped.schedules["optimal"].risk  # Gaussian theory sees no harm
    real = [float(np.mean(one.confirmed.ends("optimal"))) for one in (capped, free)]
    assert not real[1] < 2 * real[0]  # a mean that is nan or far larger
    assert any("limit of stability of the rows" in said for said in capped.warnings)
    assert LinearNetwork().name == capped.hunt.course.theory.name


def test_the_usual_batches_are_those_that_have_a_limit():
    mine = committee().replace(**{"dimension": 6, "data.covariance": df.Covariance.features(ROWS)})
    problems = variants(mine, knobs_of(mine, "learning-rate,batch", None))
    assert [one.training.batch for one in problems] == [1, 2, 4, 8, 16, 32, 64]
    assert [one.training.batch for one in with_a_theory(problems)] == [1, 2, 4, 8]
    assert with_a_theory(problems[4:]) == problems[4:]
    with pytest.raises(
        df.RefusalError, match="one step is as large as the network: learning_rate/width = 8 is not below"
    ):
        df.optimise(mine, knobs="learning-rate,batch", bounds="batch=1:16")
