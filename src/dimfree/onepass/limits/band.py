"""The linear-noise band: how far paths of the diffusion spread around the ODE, without sampling any.

docs/theory/committee.md, section 6, linearised: deviations from the ODE are Gaussian with covariance S,

    dS/dt = J S + S Jᵀ + gamma/(p d) Sigma,    S(0) = 0,

J the Jacobian of the velocity and Sigma the covariance of a step along the ODE. It holds while deviations are small
enough for the velocity to be linear in them: not at an escape from a saddle that the noise itself decides.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Cost, Observed
from dimfree.errors import DivergenceError, RefusalError
from dimfree.gaussian.increments import increments, pack, rule, unpack
from dimfree.gaussian.moments import risk
from dimfree.onepass.directions import TeacherModel, teacher_observables
from dimfree.onepass.limits.caution import misstated_spread, refused_spread
from dimfree.onepass.limits.integration import Equations, Integrated
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start
from dimfree.problem import Problem
from dimfree.setting import why_not
from dimfree.states.overlaps import Overlaps


class Band(NamedTuple):
    """The ODE and one standard deviation around it at the asked times."""

    overlaps: Overlaps  # with a leading time axis
    spread: Overlaps
    risk: Float[Array, " t"]
    risk_spread: Float[Array, " t"]
    covariance: Float[Array, "t D D"]  # S, in the order of gaussian.increments.pack
    warnings: tuple[str, ...] = ()  # what to distrust in it, one sentence each


class _Noisy(NamedTuple):
    overlaps: Overlaps
    S: Float[Array, "*t D D"]  # in units of gamma/(p d)


class _LinearNoise(Equations[TeacherModel, _Noisy]):
    """The ODE and the covariance around it as one flow."""

    name: ClassVar[str] = "band"
    summary: ClassVar[str] = "linear noise around the ode"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023escaping",)
    rtol: float = 1e-6
    atol: float = 1e-8

    def cost(self, problem: Problem, model: TeacherModel) -> Cost:
        """Count the ODE, times the number of directions of its Jacobian."""
        ode, p, k = HighDimensional().cost(problem, model), model.width, model.units
        D = p * k + p * (p + 1) // 2 + p
        return Cost(D * ode.seconds, ode.steps, D * ode.memory)

    def initial(self, model: TeacherModel, start: Start) -> _Noisy:
        """The spread is zero at the start."""
        D = pack(model, start.overlaps).size
        return _Noisy(start.overlaps, jnp.zeros((D, D)))

    def observe(self, model: TeacherModel, states: _Noisy) -> Observed:
        """The ODE itself; `band` reads the spread off the states."""
        return teacher_observables(model, states.overlaps)

    def size(self, state: _Noisy) -> Float[Array, ""]:
        """The largest overlap."""
        return jnp.max(jnp.abs(state.overlaps.Q))

    def velocity(self, model: TeacherModel, t: Float[Array, ""], state: _Noisy) -> _Noisy:
        """The velocity of the ODE, and dS/dt of the covariance."""
        ode, overlaps = HighDimensional().velocity, state.overlaps
        packed = lambda x: pack(model, ode(model, t, unpack(model, x, overlaps)))  # noqa: E731
        JS = jax.jacfwd(packed)(pack(model, overlaps)) @ state.S
        Sigma = increments(model, model.schedule(t), overlaps, rule(model)).covariance
        return _Noisy(ode(model, t, overlaps), JS + JS.T + Sigma)


def band(problem: OnePassProblem, start: Start, times: Float[Array, " t"]) -> Band:
    """The band around the ODE in which runs of SGD lie: one standard deviation, computed without sampling.

    Arguments:
        problem: the problem, on fresh samples of a teacher
        start: where SGD begins, from `df.extend.draw_start`
        times: the times at which to compute it
    """
    refusal = why_not(HighDimensional(), problem)
    if refusal:
        raise RefusalError(f"there is no band: {refusal}")
    m = teacher_model(problem)
    if why := refused_spread(m, start.overlaps):
        raise RefusalError(f"there is no band: {why}")
    end, found = _solve(m, start, times)
    failure = _LinearNoise().failure(m, end)
    if failure:
        raise DivergenceError(failure)
    seen = {name: np.asarray(getattr(found.overlaps, name))[:, None] for name in ("Q", "M", "a")}
    return found._replace(warnings=tuple(misstated_spread(m, seen, np.asarray(times))))


@eqx.filter_jit
def _solve(model: TeacherModel, start: Start, times: Array) -> tuple[Integrated[_Noisy], Band]:
    one = _LinearNoise()
    end, found = one.integrate(model, one.begin(model, start, 1, jax.random.key(0)), times)
    overlaps, S = jax.tree.map(lambda x: x[:, 0], found)
    S = model.time_step * S

    def spreads(state: Overlaps, S: Array) -> tuple[Overlaps, Array, Array]:
        value = lambda x: risk(model, unpack(model, x, state))  # noqa: E731
        R, gradient = jax.value_and_grad(value)(pack(model, state))
        still = jax.tree.map(jnp.zeros_like, state)
        return unpack(model, _root(jnp.diagonal(S)), still), R, _root(gradient @ S @ gradient)

    spread, R, risk_spread = jax.vmap(spreads)(overlaps, S)
    return end, Band(overlaps, spread, R, risk_spread, S)


def _root(variance: Array) -> Array:
    return jnp.sqrt(jnp.maximum(variance, 0.0))  # rounding may leave a zero slightly negative
