"""The best schedule: against closed forms, with its certificates and exports, and confirmed by real SGD."""

import pickle
import re
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from schedule_problems import (
    A,
    B,
    best_of,
    linear,
    linear_rate,
    linear_risk,
    phase_retrieval,
    retrieval_rate,
    retrieval_risk,
)

import dimfree as df
from dimfree.questions.schedules import words
from dimfree.questions.schedules.confirmation import Confirmation
from dimfree.questions.schedules.export import StepFactor, StepRate, _comments
from dimfree.questions.schedules.runs import factors_at
from stages import gating


@pytest.fixture(scope="module")
def solved():
    """The linear unit with the parameters of the theory sheet, confirmed by a few replicas."""
    return best_of(linear(0.1, 20.0), confirm="chain", replicas=32)


LINEAR = [(0.1, 20.0, 0.0), (0.3, 9.0, 0.4)]
RETRIEVAL = [(0.1, 40.0, 0.1), (0.0, 25.0, 0.1), (1.0, 40.0, 0.1), (0.4, 22.0, 0.3)]


@pytest.mark.parametrize(("noise", "until", "M"), gating(LINEAR, LINEAR[:1]))
def test_the_linear_unit_against_lambert(noise, until, M, solved):
    best = solved if (noise, until, M) == LINEAR[0] else best_of(linear(noise, until, M))
    expected = linear_risk(noise, best.samples, M)
    assert best.schedules["optimal"].risk == pytest.approx(expected[-1], rel=1e-5)
    assert best.schedules["greedy"].risk == pytest.approx(expected[-1], rel=1e-5)  # the state is one number
    assert best.certificate.pontryagin_error < 0.01
    inside = (best.samples > 0.05 * until) & (best.samples < 0.95 * until)
    np.testing.assert_allclose(best.rates()[inside], linear_rate(noise, expected)[inside], rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "until", "M"), RETRIEVAL)
def test_phase_retrieval_on_the_sphere_against_its_closed_form(noise, until, M):
    best = best_of(phase_retrieval(noise, until, M))
    expected = np.array([retrieval_risk(noise, alpha, M) for alpha in best.samples])
    assert best.schedules["optimal"].risk == pytest.approx(expected[-1], rel=1e-5)
    inside = (best.samples > 0.05 * until) & (best.samples < 0.95 * until)
    np.testing.assert_allclose(best.rates()[inside], retrieval_rate(noise, expected)[inside], rtol=0.01)
    if noise == 0:
        assert words.verdict(best) == "A constant rate is as good as any schedule."


def test_the_constant_of_the_linear_unit(solved):
    """Best constant 0.00627013854 at 0.19245 (docs/theory/schedules.md, section 4, D)."""
    assert solved.schedules["constant"].risk == pytest.approx(0.00627013854, rel=1e-7)
    assert solved.rates("constant")[0] == pytest.approx(0.19245, abs=1e-4)
    assert solved.gain() == pytest.approx(0.00627013854 / 0.00347514679, rel=1e-5)


def test_certificates_hold_and_all_guesses_agree(solved):
    found = solved.certificate
    assert found.converged
    assert found.regular
    assert found.pontryagin_error < 0.01
    assert found.hamiltonian_spread < 0.005
    assert 0 <= found.knots_doubled_gain < 1e-5
    assert found.starts_spread < 1e-4
    assert found.grid_error < 1e-5
    assert found.active_bounds == {}


def test_real_sgd_gains_as_much(solved):
    log, error = solved.confirmed.log_gain()
    assert 0 < error < 0.1
    assert abs(log - np.log(solved.gain())) < 4 * error + 10 / 1000  # the limit is off by some 1/d
    assert solved.exit_code == 0


def test_gradient_and_costate_are_those_of_differences(solved):
    """On the grid value and gradient belong together: with respect to rates, numbers and the state at the start."""
    course = solved.hunt.course
    factors, numbers = factors_at(solved.schedules["greedy"].written, course.grid.points) * 0.7, np.array([1.0, 0.02])
    seen = course.seen(factors, numbers)
    direction = np.cos(course.grid.points)
    up, down = (float(course.seen(factors + by * direction, numbers).value) for by in (1e-5, -1e-5))
    assert np.asarray(seen.by_factor) @ direction == pytest.approx((up - down) / 2e-5, rel=1e-6)
    up, down = (float(course.seen(factors, numbers + np.array([0, by])).value) for by in (1e-5, -1e-5))
    assert float(seen.by_number[1]) == pytest.approx((up - down) / 2e-5, rel=1e-6)
    pushed = [eqx.tree_at(lambda x: x.M, course.starts, course.starts.M + by) for by in (1e-5, -1e-5)]
    up, down = (float(replace(course, starts=one).seen(factors, numbers).value) for one in pushed)
    assert float(np.sum(seen.costates.M[0])) == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_batches_instead_of_rates(solved):
    found, training = solved.batches(), solved.best.training
    own = np.interp(found.samples, training.schedule.times, training.schedule.factors)
    np.testing.assert_allclose(found.rate / found.batch, own)
    assert found.batch[0] == 1
    assert found.batch.max() == round(solved.rates().max() / solved.rates()[-1])
    assert found.plain_steps == 20_000
    assert found.steps < 0.4 * found.plain_steps
    assert f"{found.steps:.3g} steps instead of 2e+04" in solved.summary()


def test_optax_and_the_table_replay_every_step(solved):
    optax_rate, rows = solved.to_optax(), df.schedule_table(solved)
    assert rows.shape == (10_000 + len({*rows[:, 0]} - {*np.linspace(0, 19_999, 10_000).round()}), 2)
    steps = np.arange(20_000)
    exact = solved.best.training.schedule
    own = StepRate(solved.best)(steps)
    np.testing.assert_allclose(np.asarray(jax.vmap(optax_rate)(steps)), own, rtol=1e-12)
    np.testing.assert_allclose(np.interp(steps, *rows.T), own, rtol=1e-12)
    # knots lie at whole steps there
    np.testing.assert_allclose(own, np.interp(steps * solved.best.time_step, exact.times, exact.factors), rtol=2e-3)
    again = pickle.loads(pickle.dumps(StepFactor(solved.best)))  # what torch's LambdaLR is given
    np.testing.assert_allclose(solved.problem.training.learning_rate * again(steps), own, rtol=1e-12)


def test_scripts_need_nothing_of_dimfree(solved, tmp_path):
    script = replace(solved, export="optax").save(tmp_path / "best_optax.py")
    made = {}
    exec(script.read_text(), made)
    steps = np.arange(0, 20_000, 7)
    np.testing.assert_allclose(jax.vmap(made["schedule"])(steps), StepRate(solved.best)(steps), rtol=1e-12)
    other = replace(solved, export="torch").save(tmp_path / "best_torch.py").read_text()
    compile(other, "best_torch.py", "exec")
    assert "def scheduler(optimizer):  # whose lr is 1.0" in other


def test_files_say_what_the_rate_multiplies(solved, tmp_path):
    texts = [replace(solved, export="torch").save(tmp_path / name).read_text() for name in ("best.csv", "best.py")]
    for text in texts:
        told = [line for line in text.splitlines() if line.startswith("#")]
        for said in ("width 1", "dimension d = 1000", "variance 1/d", "(y - f)^2/2", "batch of 1", solved.best.digest):
            assert any(said in line for line in told), said
        assert max(map(len, told)) <= 100
    rows = np.loadtxt(
        tmp_path / "best.csv", delimiter=",", skiprows=sum(line[0] == "#" for line in texts[0].splitlines()) + 1
    )
    np.testing.assert_array_equal(rows, df.schedule_table(solved))


@pytest.mark.slow
def test_the_update_of_the_comments_is_that_of_sgd():
    """Written out by automatic differentiation, for a network in which every word matters: risks of both at the end."""
    d, p, batch, until, runs = 20, 2, 3, 2.0, 400
    problem = df.Problem(
        dimension=d,
        data=df.Teacher(units=1, noise=0.1),
        network=df.TwoLayer(width=p, scaling="sqrt", second_layer="trained"),
        training=df.OnePass(learning_rate=1.5, batch=batch, second_layer_rate=2.0, weight_decay=0.1),
        start=df.OverlapStart(Q=((1.0, 0.0), (0.0, 1.0)), M=((0.2,), (0.1,))),
        run=df.Run(until=until, points=2, replicas=runs),
    )
    told = _comments(problem)
    assert "s = 1/sqrt(width), width 2" in told
    assert "mean over a batch of 3" in told
    assert "a <- a - 2 * rate/d * gradient" in told
    decay = float(re.search(r"w <- w - ([0-9.e-]+) w", told)[1])
    teacher = jnp.sqrt(d) * jnp.eye(d)[0]
    first = jnp.sqrt(d) * jnp.stack(
        [jnp.eye(d)[0] * m + jnp.eye(d)[n] * (1 - m**2) ** 0.5 for n, m in ((1, 0.2), (2, 0.1))]
    )
    first = first.at[1, 1].add(-0.02 * d**0.5 / 0.96**0.5)
    first = first.at[1, 2].set((d - first[1, 0] ** 2 - first[1, 1] ** 2) ** 0.5)
    erf = lambda x: jax.scipy.special.erf(x / 2**0.5)  # noqa: E731

    def loss(w, a, x, y):
        return jnp.mean((y - erf(x @ w.T) @ a / p**0.5) ** 2) / 2

    def step(state, key):
        w, a = state
        keys = jax.random.split(key)
        x = jax.random.normal(keys[0], (batch, d)) / d**0.5
        y = erf(x @ teacher) + 0.1**0.5 * jax.random.normal(keys[1], (batch,))
        by_w, by_a = jax.grad(loss, (0, 1))(w, a, x, y)
        return (w - decay * w - 1.5 * by_w, a - 2.0 * 1.5 / d * by_a), None

    steps = problem.steps(until)
    keys = jax.random.split(jax.random.key(0), (runs, steps))
    w, a = jax.jit(jax.vmap(lambda k: jax.lax.scan(step, (first, jnp.ones(p)), k)[0]))(keys)
    x = jax.random.normal(jax.random.key(1), (20_000, d)) / d**0.5
    own = jax.vmap(lambda w, a: jnp.mean((erf(x @ teacher) - erf(x @ w.T) @ a / p**0.5) ** 2) / 2)(w, a)
    real = df.simulate(problem)["risk"].values[-1]
    error = np.hypot(np.std(own), real.std(ddof=1)) / runs**0.5
    assert abs(float(own.mean()) - real.mean()) < 4.5 * error
    assert error < 0.05 * real.mean()


def test_torch_replays_every_step(solved):
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=solved.problem.training.learning_rate)
    scheduler, rates = solved.to_torch(optimizer), []
    for _ in range(500):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    np.testing.assert_allclose(rates, StepRate(solved.best)(np.arange(500)), rtol=1e-12)
    assert scheduler.state_dict()["lr_lambdas"][0] is not None


def made_up(solved, **gains):
    """The answer with real SGD that gains so much, as logarithms of 32 replicas, over the best constant rate."""
    tried = solved.schedules | {"cosine": solved.schedules["greedy"]}
    found = solved.found._replace(tried=tried) if "cosine" in gains else solved.found
    risks = {"constant": np.ones((81, 1, 32))} | {
        name: np.exp(-np.tile(value, (81, 1, 1))) for name, value in gains.items()
    }
    return replace(solved, found=found, confirmed=Confirmation("chain", 200, risks))


NOISE = np.random.default_rng(0).normal(size=32)
NOISE = (NOISE - NOISE.mean()) / NOISE.std(ddof=1) * 32**0.5  # a standard error of 1


def test_a_gain_that_does_not_survive_is_said_and_fails(solved):
    small = made_up(solved, optimal=np.log(1.1) + 0.05 * NOISE)
    assert small.exit_code == 1
    assert small.warnings[-1].startswith("the gain of the ODE (1.8x) does not survive at d = 200: SGD gains 1.1 ± 0.06")
    assert small.warnings[-1].endswith("average over more starts (starts = 32), or optimise at larger d.")
    assert "SGD at d = 200 does not confirm it: 1.1 ± 0.06 times below." in small.summary()
    gone = made_up(solved, optimal=np.where(np.arange(32) < 8, np.nan, 1.0))
    assert gone.exit_code == 1
    assert gone.warnings[-1].startswith("25 % of the replicas of chain diverge under the optimal schedule at d = 200")
    assert "25 % diverge" in gone.summary()


def test_a_gain_that_is_not_resolved_is_not_confirmed(solved):
    """Exit code 0 promises that the gain survives, not that it may."""
    wide = made_up(solved, optimal=np.log(1.8) + 0.5 * NOISE, cosine=np.log(2.0) + 0.1 * NOISE[::-1])
    assert wide.exit_code == 1
    assert "SGD at d = 200 leaves it open: 1.8 ± 0.9 times below, with cosine 2 ± 0.2." in wide.summary()
    assert "with 32 replicas the gain of SGD is not resolved (from 0.65 to 5 at 95 %)" in wide.warnings[-1]
    more = int(wide.warnings[-1].split("replicas = ")[1].rstrip("."))
    assert (
        0.5 / (more / 32) ** 0.5 * 2.04 < np.log(1.8) / 2 < 0.5 / (more / 64) ** 0.5 * 2.04
    )  # enough, and not far too many
    alone = replace(
        wide,
        confirmed=Confirmation("chain", 200, {"constant": np.ones((81, 1, 1)), "optimal": np.ones((81, 1, 1)) / 2}),
    )
    assert alone.exit_code == 1
    assert "from nothing to anything" in alone.warnings[-1]


def test_a_gain_that_survives_is_confirmed_and_a_better_family_is_named(solved):
    good = made_up(solved, optimal=np.log(1.8) + 0.02 * NOISE, cosine=np.log(1.7) + 0.02 * NOISE)
    assert good.exit_code == 0
    assert "SGD at d = 200 confirms it: 1.8 ± 0.04 times below, with cosine 1.7 ± 0.03." in good.summary()
    beaten = made_up(solved, optimal=np.log(1.8) + 0.02 * NOISE, cosine=np.log(2.5) + 0.02 * NOISE)
    assert beaten.exit_code == 1
    assert "is better off with cosine: 2.5 ± 0.05 times below, with the best schedule 1.8 ± 0.04." in beaten.summary()


@pytest.mark.slow
def test_weight_decay_beyond_what_helps_ends_on_its_bound():
    """A decay of 5e-4 helps a little, as shrinkage does; one that must be 20 times as strong harms."""
    best = best_of(linear(0.1, 20.0), knobs="learning-rate,weight-decay", bounds="weight_decay=0:0.5")
    assert 0 < best.turned["weight_decay"] < 2e-3
    assert best.schedules["optimal"].risk < 0.00347514679
    strong = best_of(linear(0.1, 20.0), knobs="learning-rate,weight-decay", bounds="weight_decay=0.01:0.5")
    assert strong.turned == {"weight_decay": 0.01}
    assert strong.certificate.active_bounds == {"weight_decay lower": 1.0}
    assert "the best weight_decay is its bound 0.01; widen its bounds" in strong.summary()
    assert strong.schedules["optimal"].risk > 0.00347514679


@pytest.mark.slow
def test_the_second_layers_rate_is_found_with_the_schedule():
    problem = linear(0.1, 20.0).replace(**{"network.second_layer": "trained", "network.second_layer_start": 0.3})
    plain = best_of(problem)
    best = best_of(problem, knobs=["learning_rate", "second_layer_rate"], bounds={"second_layer_rate": (0.0, 5.0)})
    assert 0 <= best.turned["second_layer_rate"] <= 5
    assert best.schedules["optimal"].risk < plain.schedules["optimal"].risk
    assert float(df.solve(best.best)["risk"][-1, 0]) == pytest.approx(best.schedules["optimal"].risk, rel=1e-4)


@pytest.mark.slow
def test_drawn_starts_are_averaged_and_confirmed_on_fresh_ones():
    """Starts with overlaps of 0.1 or so escape at different times; the search and real SGD have their own."""
    drawn = phase_retrieval(0.1, 30.0).replace(start=df.SphereStart(), dimension=100)
    best = best_of(drawn, starts=3, knots=9, confirm="chain", replicas=6)
    assert best.schedules["optimal"].risks.shape == (81, 3)
    assert best.confirmed.risks["optimal"].shape == (81, 6, 1)  # more starts than the search has, for the errors
    assert not np.allclose(best.confirmed.risks["optimal"][0, :3, 0], best.schedules["optimal"].risks[0])
    ends = best.schedules["optimal"].risks[-1]
    assert best.schedules["optimal"].risk == pytest.approx(np.exp(np.log(ends).mean()))
    assert best.gain() > 1
    with pytest.raises(df.ProblemError, match=r"run\.starts = 3 asks for more"):
        best_of(linear(0.1, 20.0), starts=3)


@pytest.fixture(scope="module")
def plateau():
    return df.optimise(A, knots=25, replicas=32)


@pytest.mark.slow
def test_problem_a_reaches_the_optimum_with_certificates(plateau):
    risks = {name: one.risk for name, one in plateau.schedules.items()}
    assert risks["optimal"] <= 2.7260e-6
    assert risks["constant"] == pytest.approx(7.4386e-6, rel=1e-3)
    assert risks["cosine"] == pytest.approx(5.7591e-6, rel=1e-3)
    assert risks["hold-power"] == pytest.approx(4.2582e-6, rel=1e-3)
    assert plateau.schedules["exponential"].words.startswith("degenerates to the constant 1.75")
    assert risks["greedy"] >= 1e-2  # the trap
    found = plateau.certificate
    assert found.starts_spread < 1e-4
    assert found.pontryagin_error < 0.01
    assert found.hamiltonian_spread < 0.005
    assert found.grid_error < 1e-4


@pytest.mark.slow
def test_problem_a_is_confirmed_by_the_chain(plateau):
    log, error = plateau.confirmed.log_gain()
    assert log - 3 * error > np.log(2)
    assert plateau.exit_code == 0


@pytest.mark.slow
def test_problem_b_reaches_the_optimum_and_the_chain_sees_it():
    best = df.optimise(B, knots=33, against="cosine", replicas=32)
    assert best.schedules["optimal"].risk <= 1.4345e-4
    assert best.schedules["constant"].risk == pytest.approx(1.40551e-3, rel=1e-3)
    assert best.schedules["cosine"].risk == pytest.approx(1.6353e-4, rel=1e-3)
    found = best.certificate
    assert found.starts_spread < 1e-4
    assert found.pontryagin_error < 0.01
    assert found.hamiltonian_spread < 0.005
    for over, least in (("constant", 9.0), ("cosine", 1.1)):
        log, error = best.confirmed.log_gain("optimal", over)
        assert log - 3 * error > np.log(least), over
