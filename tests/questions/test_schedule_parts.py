"""What the search for a schedule is made of: right-hand sides, objectives, batches, knots."""

import equinox as eqx
import jax
import numpy as np
import pytest
from schedule_problems import A, B
from scipy.integrate import solve_ivp

import dimfree as df
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.parts import over_starts, parts, steerable
from dimfree.questions.schedules.runs import factors_at, table

PARTS = eqx.filter_jit(parts)


def test_the_right_hand_side_is_a_polynomial_of_the_rate():
    problem = A.replace(**{"network.second_layer": "trained", "training.weight_decay": 0.3, "data.noise": 0.1})
    start = df.extend.draw_start(problem, jax.random.key(0), vectors=False).overlaps
    states = jax.tree.map(lambda x: x[None], start)
    F0, F1, F2 = PARTS(steerable(df.extend.model(problem)), states)
    rated = problem.replace(**{"training.schedule": df.LinearKnots(times=(0.0,), factors=(1.7,))})
    whole = jax.jit(HighDimensional().velocity)(df.extend.model(rated), np.zeros(()), start)
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
    start = df.extend.draw_start(B, jax.random.key(0), vectors=False).overlaps
    large = B.replace(**{"training.learning_rate": 4.0, "training.batch": 4})
    velocities = [jax.jit(HighDimensional().velocity)(df.extend.model(one), np.zeros(()), start) for one in (B, large)]
    for name in ("Q", "M"):
        np.testing.assert_allclose(*(getattr(one, name) for one in velocities), rtol=1e-13, atol=1e-15)


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


def _linearised(problem: df.extend.OnePassProblem) -> np.ndarray:
    """The derivatives of F1 with respect to (Q11, Q12, Q22, M) by differences."""
    model = steerable(df.extend.model(problem))
    start = jax.tree.map(lambda x: x[None], df.extend.draw_start(problem, jax.random.key(0), vectors=False).overlaps)

    def moved(direction: np.ndarray, by: float) -> np.ndarray:
        q, M = by * direction[:3], by * direction[3:].reshape(2, 2)
        here = df.extend.Overlaps(start.Q + q[[0, 1, 1, 2]].reshape(2, 2), start.M + M, start.a)
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
