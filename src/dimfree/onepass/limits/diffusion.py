"""The diffusion correction: the overlap ODEs with the noise that SGD still has at finite dimension.

docs/theory/committee.md, section 6: dX = (velocity of the ODE) dt + sqrt(gamma/(p d)) Sigma^(1/2) dB for X = (M, Q, a), with
Sigma the covariance of one step's scaled increments (gaussian/increments.py). Conventions are the canonical ones. Drift
and noise are of leading order in 1/d.

Noise is small, so the midpoint rule is used for the drift, with noise of the midpoint's covariance inside of it: errors are
of order h² without noise, and gamma h/(p d) with it. Steps are as long as `resolution` allows and never shorter than one
step of SGD, and the same for all paths.
"""

from collections.abc import Mapping
from math import isqrt
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox.internal import while_loop
from jaxtyping import Array, Bool, Float, Int, Key

from dimfree.description import Cost, Evolution, Observed, Values
from dimfree.gaussian.increments import Rule, kick, rule
from dimfree.gaussian.variance.ladder import variance_points, variance_seconds
from dimfree.onepass.directions import TeacherModel, teacher_observables
from dimfree.onepass.limits.caution import misstated_spread, refused_spread
from dimfree.onepass.limits.ode import HighDimensional, decayed
from dimfree.onepass.limits.scope import square_only
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start, typical_overlaps
from dimfree.problem import Problem
from dimfree.random_numbers import normals
from dimfree.states.overlaps import Overlaps

_POINTS = (
    150  # points of Gaussian averages in the noise of one path and step; the exact rule for squares of width 1 has 147
)
_BLOCK = 50_000  # numbers per field that are held together, so that they stay in the cache
_OFTEN = 0.01  # share of the steps that may end at overlaps which no weights have
_CHECKPOINTS = 32  # states between two asked times that are kept for derivatives


class Paths(eqx.Module):
    """Overlaps with a leading replica axis, the norms that the spherical rule keeps, and where the clock stands."""

    overlaps: Overlaps
    norms: Float[Array, "r p"]
    time: Float[Array, ""]
    stride: Float[Array, ""]  # the length of the next step, unless an asked time comes first
    steps: Int[Array, ""]
    outside: Float[Array, ""]  # sum over steps of the share of paths that ended at impossible overlaps
    key: Key[Array, ""]


class Diffusion(Evolution[TeacherModel, Start, Paths]):
    """Paths of the stochastic differential equation; a path depends on the key and on the asked times."""

    name: ClassVar[str] = "diffusion"
    summary: ClassVar[str] = (
        "the ode with the noise of finite dimension: sample paths at a cost that does not grow with d"
    )
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023escaping",)
    models: ClassVar[type[TeacherModel]] = TeacherModel
    needs: ClassVar[frozenset[str]] = frozenset({"pairs"})
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True
    resolution: float = 0.1  # the longest step, as a share of the shortest time scale

    def refuses(self, problem: Problem, model: TeacherModel) -> str | None:
        """It is the next order after the ODE, so it holds where the ODE does and the noise of a step is of leading order."""
        if why := square_only(problem, model):
            return why
        if why := HighDimensional().refuses(problem, model):
            return why
        assert isinstance(problem, OnePassProblem)
        start = typical_overlaps(problem)
        return None if start is None else refused_spread(model, start)

    def warns(self, problem: Problem, model: TeacherModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Say where along the run the noise of a step is not that of leading order."""
        return tuple(misstated_spread(model, seen, problem.times))

    def cost(self, problem: Problem, model: TeacherModel) -> Cost:
        """Steps are a guess from typical runs; a step costs two velocities and one kick per path."""
        m, R, n = model, problem.run.replicas, model.width + model.units
        steps = min(problem.steps(problem.run.until), problem.run.points + 15 + 30 * problem.run.until)
        points = rule(m, _POINTS).w.size
        per_path = 2 * (variance_seconds(m) + 5e-7 * n * m.width) + 1e-8 * points * (1 + n) + 2e-6 * m.width
        return Cost(
            9.0 + steps * (2e-4 + R * per_path), steps, 1e8 + 8.0 * 50 * _BLOCK + 8.0 * R * (points + 20 * n * n)
        )

    def accuracy(self, problem: Problem, model: TeacherModel) -> float:
        """Allow for the order after that of the noise, which is included."""
        return model.fluctuation**2 + 1 / problem.dimension

    def leaves_open(self, problem: Problem, model: TeacherModel) -> str:
        """The accuracy depends on the dimension."""
        return f"at dimension {problem.dimension:,}"

    def begin(self, model: TeacherModel, start: Start, replicas: int, key: Key[Array, ""]) -> Paths:
        """Every path starts from the measured overlaps."""
        overlaps = jax.tree.map(lambda x: jnp.broadcast_to(x, (replicas, *x.shape)), start.overlaps)
        norms = jnp.diagonal(overlaps.Q, axis1=-2, axis2=-1)
        return Paths(overlaps, norms, jnp.zeros(()), model.time_step, jnp.zeros((), int), jnp.zeros(()), key)

    def advance(self, model: TeacherModel, state: Paths, times: Float[Array, " t"]) -> tuple[Paths, Observed]:
        """Step to each time; a path that is lost stays lost."""
        nodes = rule(model, _POINTS)

        def to_time(state: Paths, time: Array) -> tuple[Paths, Overlaps]:
            unfinished = lambda now: (now.time < time) & jnp.isfinite(jnp.sum(now.overlaps.Q))  # noqa: E731
            stepped = lambda now: self._step(model, nodes, now, time)  # noqa: E731
            # as diffrax loops: the number of steps is not known beforehand, and derivatives pass through
            state = while_loop(unfinished, stepped, state, kind="checkpointed", checkpoints=_CHECKPOINTS)
            return state, state.overlaps

        state, overlaps = jax.lax.scan(to_time, state, times)
        return state, teacher_observables(model, overlaps)

    def failure(self, model: TeacherModel, state: Paths) -> str | None:
        """Fail if noise often carries paths to overlaps that no weights have: then it is no small correction."""
        share = float(state.outside) / max(1, int(state.steps))
        if not share > _OFTEN:
            return None
        return (
            f"{100 * share:.2g} % of the steps of the diffusion up to t = {float(state.time):.3g} end at overlaps that no "
            f"weights have: the noise is not small at dimension {int(model.dimension)} with learning rate "
            f"{float(model.gamma):g}; lower training.learning_rate, raise dimension, or use chain."
        )

    def _step(self, model: TeacherModel, nodes: Rule, state: Paths, end: Array) -> Paths:
        """Take one step of all paths, which ends early at an asked time or where the schedule jumps."""
        t, jumps = state.time, model.schedule.jumps
        end = jnp.minimum(end, jnp.min(jnp.where(t < jumps, jumps, jnp.inf), initial=jnp.inf))
        h = jnp.minimum(jnp.maximum(state.stride, model.time_step), end - t)
        replicas, N = state.norms.shape[0], nodes.w.size
        count = N + (0 if nodes.exact else nodes.x.shape[1] ** 2)
        drawn = normals(jax.random.fold_in(state.key, state.steps), replicas * count).reshape(replicas, count)

        one = lambda path: _step_path(model, nodes, t, h, *path)  # noqa: E731
        size = max(1, min(replicas, _BLOCK // (max(N, variance_points(model)) * (model.width + model.units))))
        overlaps, left, pace = jax.lax.map(one, (state.overlaps, state.norms, drawn), batch_size=size)
        return Paths(
            overlaps,
            state.norms,
            jnp.where(h < end - t, t + h, end),
            jnp.minimum(2 * state.stride, self.resolution / jnp.maximum(jnp.max(pace), 1e-9)),
            state.steps + 1,
            state.outside + jnp.mean(left),
            state.key,
        )


class _Stepped(NamedTuple):
    overlaps: Overlaps
    outside: Bool[Array, ""]
    pace: Float[Array, ""]


def _step_path(
    model: TeacherModel, nodes: Rule, t: Array, h: Array, start: Overlaps, norms: Array, drawn: Array
) -> _Stepped:
    """The midpoint rule; its midpoint has half of the noise, so that noise made in this step is also carried by the drift."""
    mean = HighDimensional().drift(model, t, start)
    first = decayed(model, start, mean)
    middle = _moved(start, h / 2, first)
    shares, turn = jnp.split(drawn.astype(float), [nodes.w.size])
    turned = nodes if nodes.exact else nodes._replace(x=nodes.x @ _rotation(turn))
    noise = kick(model, model.schedule(t + h / 2), middle, mean, turned, shares)
    scale = jnp.sqrt(model.time_step * h)
    there = _moved(middle, scale / 2, noise)
    second = HighDimensional().velocity(model, t + h / 2, there)
    end, outside = _possible(model, _moved(_moved(start, h, second), scale, noise), norms)
    pace = _distance(second, first) / jnp.maximum(_distance(there, start), 1e-30)
    return _Stepped(end, outside, pace)


def _possible(model: TeacherModel, state: Overlaps, norms: Array) -> tuple[Overlaps, Array]:
    """The nearest Q that these M allow, Q - M P⁻¹ Mᵀ positive semi-definite, at the prescribed norms; and whether it is far."""
    along = state.M @ jnp.linalg.pinv(model.target.P, hermitian=True) @ state.M.T
    values, vectors = jnp.linalg.eigh(state.Q - along)
    Q = jnp.where(values[0] < 0, along + (vectors * jnp.maximum(values, 0.0)) @ vectors.T, state.Q)
    s = jnp.sqrt(norms / jnp.diagonal(Q)) if model.spherical else jnp.ones_like(norms)
    far = values[0] < -jnp.max(jnp.diagonal(state.Q)) / model.dimension  # below 1/d the theory resolves nothing
    return Overlaps(s[:, None] * Q * s, s[:, None] * state.M, state.a), far


def _moved(state: Overlaps, by: Array, direction: Overlaps) -> Overlaps:
    return jax.tree.map(lambda x, v: x + by * v, state, direction)


def _distance(one: Overlaps, other: Overlaps) -> Array:
    return jnp.sqrt(
        sum(jnp.sum((x - y) ** 2) for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))
    )


def _rotation(drawn: Float[Array, " nn"]) -> Float[Array, "n n"]:
    """A random rotation: it turns the error of a few directions into noise that averages out over paths and steps."""
    n = isqrt(drawn.size)
    directions, triangle = jnp.linalg.qr(drawn.reshape(n, n))
    return directions * jnp.sign(jnp.diagonal(triangle))
