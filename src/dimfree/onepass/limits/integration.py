"""Limits as differential equations: one adaptive integration for all, with error control, divergence and failures.

A limit says what moves (`initial`), how fast (`velocity`) and when it has diverged (`size`); the rest is here.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix
from jaxtyping import Array, Bool, Float, Key

from dimfree.description import Dynamics, Evolution, Flow, Observed, Values
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.causes import extreme_number, why_no_first_step
from dimfree.onepass.limits.caution import unresolved
from dimfree.onepass.limits.scope import not_derived, square_only
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.problem import smaller_steps
from dimfree.onepass.start import Start
from dimfree.problem import Problem
from dimfree.states.overlaps import Overlaps

_BLOW_UP = 1e6  # overlaps beyond this never come back
_DENSE = 400  # unknowns; larger states take explicit steps, however stiff, because implicit ones need all derivatives
_PAYS = 100  # eta_a per unknown above which implicit steps are cheaper than the explicit ones that stability needs
Y = TypeVar("Y")
M = TypeVar("M", bound=DirectionsModel, contravariant=True)


class Integrated(eqx.Module, Generic[Y]):
    """The state at a time, whether the solver got there, and whether it stopped at a singularity."""

    state: Y
    time: Float[Array, ""]
    alive: Bool[Array, ""]
    diverged: Bool[Array, ""]


class _Controller(diffrax.PIDController):
    """Error control that fails when steps are rejected down to the smallest one.

    Steps that are kept may be smaller: those that end where the schedule jumps may be of the order of rounding.
    """

    def adapt_step_size(self, *args: Any, **more: Any) -> tuple[Any, ...]:
        kept, t0, t1, made_jump, state, result = super().adapt_step_size(*args, **more)
        return kept, t0, t1, made_jump, state, diffrax.RESULTS.where(kept, diffrax.RESULTS.successful, result)


class Integration(Flow[M, Start, Y], Dynamics[M, Start, Integrated[Y]], Generic[M, Y]):
    """An ordinary differential equation and its solver."""

    rtol: float = 1e-8
    atol: float = 1e-10

    def fields(self, model: M, state: Y) -> Overlaps:
        """Overlaps as preactivations see them; not all equations have overlaps."""
        raise NotImplementedError

    def begin(self, model: M, start: Start, replicas: int, key: Key[Array, ""]) -> Integrated[Y]:
        """The start, at time 0."""
        return Integrated(self.initial(model, start), jnp.zeros(()), jnp.asarray(True), jnp.asarray(False))

    def integrate(self, model: M, state: Integrated[Y], times: Float[Array, " t"]) -> tuple[Integrated[Y], Y]:
        """Integrate to the last time; what lies beyond a failure is not finite."""
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: _velocity(self, args, jnp.asarray(t), y)),
            self.solver(model, state.state),
            t0=state.time,
            t1=times[-1],
            dt0=None,
            y0=state.state,
            args=model,
            saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True))),
            stepsize_controller=self.controller(model, times[-1]),
            event=diffrax.Event(lambda t, y, args, **_: ~(self.size(y) < _BLOW_UP)),
            max_steps=200_000,
            throw=False,
        )
        at_times, last = solution.ys
        alive = state.alive & (solution.result == diffrax.RESULTS.successful)
        singular = (solution.result == diffrax.RESULTS.event_occurred) | (
            solution.result == diffrax.RESULTS.dt_min_reached
        )
        here = Integrated(jax.tree.map(lambda y: y[0], last), solution.ts[1][0], alive, state.diverged | singular)
        return here, jax.tree.map(lambda y: y[:, None], at_times)

    def advance(self, model: M, state: Integrated[Y], times: Float[Array, " t"]) -> tuple[Integrated[Y], Observed]:
        """Integrate, then observe."""
        here, states = self.integrate(model, state, times)
        return here, self.observe(model, states)

    def solver(self, model: M, state: Y) -> diffrax.AbstractAdaptiveSolver[Any]:
        """Explicit steps; implicit ones where a fast second layer makes the equations stiff (docs/theory/mean-field.md, e)."""
        if self.stiff(model, state):
            # Full Newton: a matrix kept through a step makes half of the steps fail. It stops at differences of velocities of
            # this size, beyond which rounding, enlarged by eta_a, lets it go no further; convergence is quadratic, so that what
            # is left is of the order of their square.
            return diffrax.Kvaerno5(root_finder=optimistix.Newton(rtol=1e-5, atol=1e-4, norm=optimistix.rms_norm))
        return diffrax.Tsit5() if max(self.rtol, model.roughness) > 1e-7 else diffrax.Dopri8()

    def stiff(self, model: M, state: Y) -> bool:
        """Whether implicit steps are cheaper."""
        return implicit_steps(model, sum(x.size for x in jax.tree.leaves(state)))

    def jumps(self, model: M) -> Float[Array, " n"]:
        return model.schedule.jumps

    def tolerances(self, model: M) -> tuple[float, float]:
        """The tolerances of the description, or larger ones if averages jump by more."""
        return max(self.rtol, model.roughness), max(self.atol, model.roughness)

    def controller(self, model: M, until: Float[Array, ""]) -> diffrax.AbstractStepSizeController[Any, Any]:
        """Error control; steps that shrink to nothing announce a singularity at finite time."""
        rtol, atol = self.tolerances(model)
        controller = _Controller(rtol=rtol, atol=atol, dtmin=1e-13 * until, force_dtmin=False)
        jumps = self.jumps(model)
        return diffrax.ClipStepSizeController(controller, jump_ts=jumps) if jumps.size else controller


class Equations(Integration[M, Y], Evolution[M, Start, Integrated[Y]], Generic[M, Y]):
    """A limit that is an ordinary differential equation."""

    models: ClassVar[type[DirectionsModel]] = TeacherModel
    needs: ClassVar[frozenset[str]] = frozenset({"pairs"})
    chunk: ClassVar[int] = 16
    any_loss: ClassVar[bool] = False  # whether the equations use the model's averages, whatever its loss is

    def remedy(self, model: M) -> str:
        """Say what to change when the equations blow up, as the end of a sentence."""
        if extreme := extreme_number(model):
            return extreme
        projectable = not model.spherical and not model.momentum
        return smaller_steps(float(model.gamma), projectable=projectable)

    def refuses(self, problem: Problem, model: M) -> str | None:
        """Offsets, noise on the weights and a frozen first layer are not part of these limits."""
        if not self.any_loss and (why := square_only(problem, model)):
            return why
        return not_derived(model)

    def warns(self, problem: Problem, model: M, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Warn of risks that the tolerance does not resolve."""
        return (*super().warns(problem, model, seen), *unresolved(model, seen, self.rtol))

    def failure(self, model: M, state: Integrated[Y]) -> str | None:
        """Say where the equations blew up or the solver gave up, and what to try."""
        if state.alive:
            return None
        t, gamma = float(state.time), float(model.gamma)
        if state.diverged and t == 0:
            return f"the {self.name} cannot start: {why_no_first_step(model, state.state, _BLOW_UP)}"
        if state.diverged:
            return f"the {self.name} diverges at t = {t:.3g} with learning rate {gamma:g}; {self.remedy(model)}."
        return (
            f"the {self.name} could not be integrated past t = {t:.3g} within its tolerance (rtol = {self.rtol:g}); "
            "raise rtol, or stop earlier with run.until."
        )


def implicit_steps(model: DirectionsModel, unknowns: int) -> bool:
    """Whether equations for so many numbers are integrated by implicit steps."""
    return unknowns <= _DENSE and model.stiffness > 0 and 10**model.stiffness >= _PAYS * unknowns


@eqx.filter_jit
def _velocity(one: Integration[M, Y], model: M, t: Float[Array, ""], state: Y) -> Y:
    """The right-hand side as a program of its own: a solver asks for it in several places, and it is traced once for all."""
    return one.velocity(model, t, state)
