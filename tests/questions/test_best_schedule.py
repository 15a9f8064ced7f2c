"""The best schedule: against closed forms, with its certificates, words, files and exports."""

import json
import pickle
from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest
from schedule_problems import A, B, linear, linear_rate, linear_risk, phase_retrieval, retrieval_rate, retrieval_risk
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.questions.schedules import words
from dimfree.questions.schedules.confirmation import Confirmation
from dimfree.questions.schedules.export import StepFactor, StepRate
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.parts import over_starts, parts, steerable
from dimfree.questions.schedules.runs import factors_at, table
from stages import gating

PARTS = eqx.filter_jit(parts)


def best_of(problem: df.OnePassProblem, **options: object):
    return df.optimise(problem, **{"knots": 25, "against": "greedy", "confirm": "none"} | options)


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


def test_the_right_hand_side_is_a_polynomial_of_the_rate():
    problem = A.replace(**{"network.second_layer": "trained", "training.weight_decay": 0.3, "data.noise": 0.1})
    start = df.draw_start(problem, jax.random.key(0), vectors=False).overlaps
    states = jax.tree.map(lambda x: x[None], start)
    F0, F1, F2 = PARTS(steerable(df.model(problem)), states)
    rated = problem.replace(**{"training.schedule": df.LinearKnots(times=(0.0,), factors=(1.7,))})
    whole = jax.jit(HighDimensional().velocity)(df.model(rated), np.zeros(()), start)
    for name in ("Q", "M", "a"):
        told = getattr(F0, name) + 1.7 * getattr(F1, name) + 1.7**2 * getattr(F2, name)
        np.testing.assert_allclose(told[0], getattr(whole, name), rtol=1e-12, atol=1e-14)
    assert float(np.abs(F2.M).max()) < 1e-14  # the variance of steps acts on norms alone


def test_objectives_over_starts():
    risks = np.array([1e-3, 1e-2, 1e-1])
    found = {kind: float(np.exp(over_starts(jax.device_put(risks), kind))) for kind in ("mean-log", "mean", "worst")}
    assert found["mean-log"] == pytest.approx(1e-2)
    assert found["mean"] == pytest.approx(risks.mean())
    assert found["worst"] == pytest.approx(np.mean(risks**8) ** (1 / 8))
    assert risks.mean() < found["worst"] < risks.max()


def test_a_batch_that_grows_with_the_rate_is_the_same_trajectory():
    """At infinite dimension only rate/batch matters (section 2): the same risk at the same t, which is the same samples."""
    start = df.draw_start(B, jax.random.key(0), vectors=False).overlaps
    large = B.replace(**{"training.learning_rate": 4.0, "training.batch": 4})
    velocities = [jax.jit(HighDimensional().velocity)(df.model(one), np.zeros(()), start) for one in (B, large)]
    for name in ("Q", "M"):
        np.testing.assert_allclose(*(getattr(one, name) for one in velocities), rtol=1e-13, atol=1e-15)


def test_batches_instead_of_rates(solved):
    found, training = solved.batches(), solved.best.training
    own = np.interp(found.samples, training.schedule.times, training.schedule.factors)
    np.testing.assert_allclose(found.rate / found.batch, own)
    assert found.batch[0] == 1
    assert found.batch.max() == round(solved.rates().max() / solved.rates()[-1])
    assert found.plain_steps == 20_000
    assert found.steps < 0.4 * found.plain_steps
    assert f"{found.steps:.3g} steps instead of 2e+04" in solved.summary()


def test_late_law_of_two_curvatures():
    """Section 3: eta = 12.786/(alpha + 12.8), rho0 = Delta = 1; curvatures are those of the equations at the solution."""
    h = 2 / np.pi * (1 / np.sqrt(3) + np.array([0.5, -0.5]))
    solution = df.OverlapStart(Q=((1.0, 0.0), (0.0, 1.0)), M=((1.0, 0.0), (0.0, 1.0)))
    decays = -np.linalg.eigvals(_linearised(A.replace(start=solution))) / 2  # per sample and dimension
    for expected in (2 * h[0], h.sum(), 2 * h[1]):
        assert np.min(np.abs(decays - expected)) < 1e-6
    rate = lambda alpha: 12.786 / (alpha + 12.8)  # noqa: E731
    moved = solve_ivp(
        lambda alpha, rho: -2 * rate(alpha) * h * rho + rate(alpha) ** 2 * h,
        (0, 1e5), [1.0, 1.0], t_eval=[1e2, 1e3, 1e4, 1e5], rtol=1e-10, atol=1e-14, method="LSODA",
    )  # fmt: skip
    np.testing.assert_allclose((h @ moved.y / 2) * moved.t, [2.5123, 2.9076, 3.0058, 3.0451], atol=6e-5)


def _linearised(problem: df.OnePassProblem) -> np.ndarray:
    """The derivatives of F1 with respect to (Q11, Q12, Q22, M) by differences."""
    model = steerable(df.model(problem))
    start = jax.tree.map(lambda x: x[None], df.draw_start(problem, jax.random.key(0), vectors=False).overlaps)

    def moved(direction: np.ndarray, by: float) -> np.ndarray:
        q, M = by * direction[:3], by * direction[3:].reshape(2, 2)
        here = df.Overlaps(start.Q + q[[0, 1, 1, 2]].reshape(2, 2), start.M + M, start.a)
        F1 = PARTS(model, here).F1
        return np.append(np.asarray(F1.Q)[0][[0, 0, 1], [0, 1, 1]], np.asarray(F1.M)[0])

    return np.stack([(moved(e, 1e-5) - moved(e, -1e-5)) / 2e-5 for e in np.eye(7)], axis=1)


def test_knots_are_points_of_the_grid_and_follow_a_bend():
    grid = Grid(10.0, 400)
    assert np.isin(grid.knots(25), grid.times).all()
    bent = 1 / (1 + np.exp(20 * (grid.times - 6))) + 0.1
    placed = grid.placed(bent, 25)
    assert len(placed) == 25
    assert (np.diff(placed) > 0).all()
    assert placed[0] == 0
    assert placed[-1] == 10
    assert np.sum(np.abs(placed - 6) < 0.5) > 2 * np.sum(np.abs(grid.knots(25) - 6) < 0.5)
    flat = grid.placed(np.ones(401), 25)
    assert len(np.unique(flat)) == 25


def test_a_table_of_knots_stays_what_it_is():
    grid, knots = Grid(10.0, 400), df.LinearKnots(times=(0.0, 3.3, 10.0), factors=(1.0, 0.2, 0.5))
    told, times = table(knots, grid), np.linspace(0, 10, 777)
    assert len(told.times) == len(table(df.ExponentialDecay(), grid).times)
    np.testing.assert_allclose(factors_at(told, times), factors_at(knots, times), rtol=1e-13)


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


def test_the_command_prints_one_object_and_writes_its_files(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(df.dumps(linear(0.1, 20.0)))
    options = (
        "--knots",
        "25",
        "--against",
        "greedy",
        "--replicas",
        "32",
        "--export",
        "optax",
        "--json",
        "--out",
        str(tmp_path / "out"),
    )
    result = CliRunner().invoke(app, ["optimise", str(file), *options])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found["schedules"]) == ["constant", "greedy", "optimal"]
    for one in found["schedules"].values():
        assert {"risk", "gain", "rates", "cpu_seconds"} <= one.keys()
    assert found["schedules"]["optimal"]["risk"] == pytest.approx(0.00347514679, rel=1e-5)
    assert found["certificate"]["pontryagin_error"] < 0.01
    assert found["confirmed"]["optimal"]["gain"]["value"] > 1.2
    assert {"mean", "median", "worst", "error"} <= found["confirmed"]["optimal"].keys()
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["best.csv", "best.nc", "best.png", "best.toml", "best_optax.py"]
    assert set(found["files"]) == {"problem", "rates", "results", "figure", "script"}
    problem = df.load(found["files"]["problem"])
    assert problem.training.schedule.kind == "linear"
    assert problem.replace(**{"training.schedule": None}) == linear(0.1, 20.0)
    first = (tmp_path / "out" / "best.csv").read_text().splitlines()[:2]
    assert first == ["step,rate", f"0,{problem.training.schedule.factors[0]!r}"]


WRONG = {
    "the second layer's rate enters linearly, so its best value is a bound; give --bounds second_layer_rate=0:10.": {
        "knobs": "learning-rate,second-layer-rate"
    },
    "weight decay enters linearly, so its best value is a bound; give --bounds weight_decay=0:1.": {
        "knobs": ["learning_rate", "weight_decay"]
    },
    "there is no knob 'batch'": {"knobs": "batch"},
    "bounds of weight_decay were given, which is no knob": {"bounds": {"weight_decay": (0.0, 1.0)}},
    "second_layer_rate is a knob of a second layer that learns": {
        "knobs": "second-layer-rate",
        "bounds": "second_layer_rate=0:10",
    },
    "the bounds 3:1 of learning_rate are no range of positive numbers": {"bounds": "3:1"},
    "bounds '3' are not two numbers; write them as 0.01:3.": {"bounds": "3"},
    "there is no family of schedules 'cosinus'; did you mean 'cosine'?": {"against": "cosinus"},
    "there is no objective 'median'": {"objective": "median"},
    "nothing is confirmed by 'adam'": {"confirm": "adam"},
    "there is no export to 'keras'": {"export": "keras"},
    "3 knots are too few for a schedule; give at least 4.": {"knots": 3},
}


@pytest.mark.parametrize("told", WRONG)
def test_wrong_wishes_are_one_sentence(told):
    with pytest.raises(df.ProblemError) as failure:
        df.optimise(linear(0.1, 20.0), **WRONG[told])
    assert told in str(failure.value)


def test_refusals():
    with pytest.raises(df.RefusalError, match=r"would take about .* more than the budget .* raise --budget"):
        best_of(linear(0.1, 20.0), budget=1e-3)
    with pytest.raises(
        df.RefusalError, match="optimised through ode, which refuses: it is derived for neurons without"
    ):
        best_of(linear(0.1, 20.0).replace(**{"network.bias_start": 0.5}))
    fast = A.replace(**{"network.second_layer": "trained", "training.second_layer_rate": 1e5})
    with pytest.raises(df.RefusalError, match=r"makes the equations stiff, .* lower training.second_layer_rate"):
        best_of(fast)


def test_a_bound_that_holds_the_optimum_is_told():
    best = best_of(linear(0.1, 20.0), bounds=(0.01, 0.5))
    share = best.certificate.active_bounds["learning_rate upper"]
    assert 0.1 < share < 0.5
    assert best.rates().max() == pytest.approx(0.5)
    (told,) = (one for one in best.warnings if "on the bound" in one)
    assert told == (
        f"the optimum lies on the bound 0.5 for {100 * share:.2g} % of the run; widen --bounds, or read this as "
        "'as large as allowed'."
    )


@pytest.mark.slow
def test_a_schedule_that_is_set_is_the_first_guess():
    given = linear(0.1, 20.0).replace(**{"training.schedule": df.ExponentialDecay(scale=7.0)})
    best = best_of(given)
    assert best.warnings == ("training.schedule is already set; it is used as the first guess.",)
    assert best.schedules["optimal"].risk == pytest.approx(0.00347514679, rel=1e-5)
    assert best.certificate.starts_spread < 1e-4


@pytest.mark.slow
def test_a_plateau_that_nothing_leaves_is_told():
    """One direction of phase retrieval at an overlap so small that it does not grow in time."""
    with pytest.raises(df.ProblemError) as failure:
        best_of(phase_retrieval(0.1, 3.0, M=1e-3))
    assert str(failure.value) == (
        "every schedule ends on the plateau (risk 2 at the end of every start); raise run.until (try 12), or start less "
        "symmetric."
    )


@pytest.mark.slow
def test_a_risk_that_is_not_resolved_is_told():
    best = best_of(linear(0.0, 20.0))
    (told,) = (one for one in best.warnings if "resolves" in one)
    assert told == "the risk (2e-09) is below what rtol = 1e-08 resolves; shorten run.until or lower rtol."


def test_a_gain_that_does_not_survive_is_told_and_fails(solved):
    scattered = np.exp(np.random.default_rng(0).normal(size=(81, 1, 32)))

    def answer(constant, optimal):
        found = Confirmation("chain", 200, {"constant": constant, "optimal": optimal})
        return replace(solved, confirmed=found)

    small = answer(1.1 * scattered**0.2, scattered[:, :, ::-1] ** 0.2)
    assert small.exit_code == 1
    told = small.warnings[-1]
    assert told.startswith("the gain of the ODE (1.8x) does not survive at d = 200: SGD gains 1.1 ± 0.0")
    assert told.endswith("use --starts 32, or optimise at larger d.")
    assert answer(1.1 * scattered, scattered[:, :, ::-1]).exit_code == 0  # with such error bars nothing is known
    gone = answer(scattered, np.where(np.arange(32) < 8, np.nan, scattered))
    assert gone.exit_code == 1
    assert gone.warnings[-1].startswith("25 % of the replicas of chain diverge under the optimal schedule at d = 200")
    assert "25 % diverge" in gone.summary()


@pytest.mark.slow
def test_weight_decay_beyond_what_helps_ends_on_its_bound():
    """A decay of 5e-4 helps a little, as shrinkage does; one that must be 20 times as strong harms."""
    best = best_of(linear(0.1, 20.0), knobs="learning-rate,weight-decay", bounds="weight_decay=0:0.5")
    assert 0 < best.turned["weight_decay"] < 2e-3
    assert best.schedules["optimal"].risk < 0.00347514679
    strong = best_of(linear(0.1, 20.0), knobs="learning-rate,weight-decay", bounds="weight_decay=0.01:0.5")
    assert strong.turned == {"weight_decay": 0.01}
    assert strong.certificate.active_bounds == {"weight_decay lower": 1.0}
    assert "the best weight_decay is its bound 0.01; widen --bounds" in strong.summary()
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
    assert best.confirmed.risks["optimal"].shape == (81, 3, 2)
    assert not np.allclose(best.confirmed.risks["optimal"][0, :, 0], best.schedules["optimal"].risks[0])
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
