"""The high-dimensional limit: ODEs for the overlaps (d to infinity at fixed width; docs/theory/committee.md, section 2).

The canonical convention is the one of this limit, so there is nothing to convert. Its reductions are coefficients of the
same equations: without the variance term it is gradient flow on the population risk, which is also the classical limit
of a vanishing learning rate at fixed d and p.
"""

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from dimfree.description import Cost, Description
from dimfree.functions.model import Model, model
from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.start import Start
from dimfree.gaussian.two_point import two_point_seconds
from dimfree.gaussian.variance import variance, variance_seconds
from dimfree.problem import Problem

_BLOW_UP = 1e6  # overlaps beyond this never come back


class Flow(eqx.Module):
    """The overlaps at a time, whether the solver got there, and whether it stopped at a singularity."""

    overlaps: Overlaps
    time: Float[Array, ""]
    alive: Bool[Array, ""]
    diverged: Bool[Array, ""]


class OverlapFlow(Description):
    """Adaptive integration of the overlap equations (2.1), spherical version (2.2)."""

    rtol: float = 1e-8
    atol: float = 1e-10
    chunk: ClassVar[int] = 16
    variance_on: eqx.AbstractClassVar[bool]

    def cost(self, problem: Problem) -> Cost:
        """Evaluations of the right-hand side; their number is a guess from typical runs."""
        m, n = model(problem), problem.network.width + problem.data.units
        evaluations = 7 * (150 + 2 * problem.run.until)
        kernels = m.width * n * two_point_seconds(m.activation) + 2e-9 * m.width**2 * n + 3e-5
        per_call = kernels + (variance_seconds(m) if self.variance_on else 0.0)
        return Cost(4.0 + evaluations * per_call, evaluations, 8.0 * 20 * n * n + 1e8)

    def begin(self, model: Model, start: Start, replicas: int, key: Key[Array, ""]) -> Flow:
        """The measured overlaps of the start, not their average: plateaus depend on them."""
        return Flow(start.overlaps, jnp.zeros(()), jnp.asarray(True), jnp.asarray(False))

    def velocity(self, model: Model, t: Float[Array, ""], state: Overlaps) -> Overlaps:
        """The right-hand side of equation (2.1)."""
        rate, terms = model.schedule(t), gradient_terms(model, state)
        Phi = rate * terms.PsiGF
        if self.variance_on:
            Phi = Phi + rate**2 * model.gamma / (model.width * model.batch) * variance(model, state)
        da = rate * model.eta_a * terms.Psia - model.omega_a * state.a if model.trained else jnp.zeros_like(state.a)
        dM = rate * terms.PsiM
        if model.spherical:  # the projection undoes decay and any change of norm
            shrink = jnp.diagonal(Phi) / (2 * jnp.diagonal(state.Q))
            return Overlaps(Phi - (shrink[:, None] + shrink) * state.Q, dM - shrink[:, None] * state.M, da)
        return Overlaps(Phi - 2 * model.omega * state.Q, dM - model.omega * state.M, da)

    def advance(self, model: Model, state: Flow, times: Float[Array, " t"]) -> tuple[Flow, Overlaps]:
        """Integrate to the last time; what lies beyond a failure is not finite."""
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: self.velocity(args, jnp.asarray(t), y)),
            diffrax.Tsit5() if self.rtol > 1e-7 else diffrax.Dopri8(),
            t0=state.time,
            t1=times[-1],
            dt0=None,
            y0=state.overlaps,
            args=model,
            saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True))),
            stepsize_controller=self._controller(model, times[-1]),
            event=diffrax.Event(_blown_up),
            max_steps=200_000,
            throw=False,
        )
        at_times, last = solution.ys
        alive = state.alive & (solution.result == diffrax.RESULTS.successful)
        singular = (solution.result == diffrax.RESULTS.event_occurred) | (
            solution.result == diffrax.RESULTS.dt_min_reached
        )
        flow = Flow(jax.tree.map(lambda y: y[0], last), solution.ts[1][0], alive, state.diverged | singular)
        return flow, jax.tree.map(lambda y: y[:, None], at_times)

    def failure(self, model: Model, state: Flow) -> str | None:
        """Where the equations blew up, or the solver gave up, and what to try."""
        if state.alive:
            return None
        t, gamma = float(state.time), float(model.gamma)
        if state.diverged:
            return (
                f"the {self.name} diverges at t = {t:.3g} with learning rate {gamma:g}; "
                f"lower training.learning_rate (try {gamma / 4:.2g}) or keep the norms with training.spherical = true."
            )
        return (
            f"the {self.name} could not be integrated past t = {t:.3g} within its tolerance (rtol = {self.rtol:g}); "
            "raise rtol, or stop earlier with run.until."
        )

    def _controller(self, model: Model, until: Float[Array, ""]) -> diffrax.AbstractStepSizeController[Any, Any]:
        # steps that shrink to nothing announce a singularity at finite time
        controller = diffrax.PIDController(rtol=self.rtol, atol=self.atol, dtmin=1e-13 * until, force_dtmin=False)
        jumps = model.schedule.jumps
        return diffrax.ClipStepSizeController(controller, jump_ts=jnp.asarray(jumps)) if jumps else controller


class HighDimensional(OverlapFlow):
    """The full equations of Saad and Solla, with the variance term of weight gamma/(p batch)."""

    name: ClassVar[str] = "ode"
    summary: ClassVar[str] = "high-dimensional limit: ODEs for the overlaps, variance of the steps included"
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "goldt2019", "veiga2022")
    variance_on: ClassVar[bool] = True

    def refuses(self, problem: Problem) -> str | None:
        """The limit needs the noise of one step to vanish (docs/theory/committee.md, section 4)."""
        gamma, p, d = problem.training.learning_rate, problem.network.width, problem.dimension
        if (gamma / p) ** 2 < d:
            return None
        return (
            f"one step is as large as the network: (learning_rate/width)² = {(gamma / p) ** 2:.3g} is not below the dimension "
            f"{d}, so no deterministic limit exists; lower the learning rate below {p * d**0.5:.3g}."
        )


class GradientFlow(OverlapFlow):
    """The same equations without the variance term: gradient flow on the population risk."""

    name: ClassVar[str] = "gradient-flow"
    summary: ClassVar[str] = (
        "the same without the variance of the steps: vanishing learning rate, or many samples a step"
    )
    cites: ClassVar[tuple[str, ...]] = ("robbins1951", "veiga2022")
    variance_on: ClassVar[bool] = False


def _blown_up(t: Any, y: Overlaps, args: Any, **_: Any) -> Bool[Array, ""]:
    size = jnp.max(jnp.abs(y.Q))
    return ~(size < _BLOW_UP)
