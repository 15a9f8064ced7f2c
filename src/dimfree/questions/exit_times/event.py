"""When a limit leaves mediocrity: the first time that the risk has lost a given part, as an event of the ODE.

t_exit = inf{t: R(t) <= (1 - T) R(0)} of docs/theory/committee.md, section 6, for every problem of the committee family and
every activation; the closed formulas of formulas.py are for phase retrieval only.
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix
from jaxtyping import Array, Float

from dimfree.errors import ProblemError
from dimfree.gaussian.moments import risk
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.ode import HighDimensional, OverlapEquations
from dimfree.states.overlaps import Overlaps

_MOST_STEPS = 100_000


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is not a share of the risk, between 0 and 1."""
    if not 0 < threshold < 1:
        raise ProblemError(
            f"threshold = {threshold:g} was given; the part of the risk to be lost must lie between 0 and 1."
        )


@eqx.filter_jit
def exit_events(
    model: TeacherModel,
    starts: Overlaps,
    threshold: Float[Array, ""] | float,
    horizon: Float[Array, ""] | float,
    equations: OverlapEquations = HighDimensional(),  # noqa: B008
) -> Float[Array, " n"]:
    """The exit time of each start (leading axis), in one compilation; infinite when it does not leave before `horizon`."""
    T, end = jnp.asarray(threshold, dtype=float), jnp.asarray(horizon, dtype=float)
    return jax.vmap(lambda start: _exit(equations, model, start, T, end))(starts)


def _exit(equations: OverlapEquations, model: TeacherModel, start: Overlaps, threshold: Array, horizon: Array) -> Array:
    level = (1 - threshold) * risk(model, start)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: equations.velocity(args, jnp.asarray(t), y)),
        diffrax.Tsit5() if equations.rtol > 1e-7 else diffrax.Dopri8(),
        t0=jnp.zeros(()),
        t1=horizon,
        dt0=None,
        y0=start,
        args=model,
        stepsize_controller=equations.controller(model, horizon),
        event=diffrax.Event(
            lambda t, y, args, **_: risk(args, y) - level,
            optimistix.Bisection(0.1 * equations.rtol, 0.1 * equations.atol, flip=True),  # type: ignore[call-arg]
        ),
        max_steps=_MOST_STEPS,
        throw=False,
    )
    left = solution.result == diffrax.RESULTS.event_occurred
    assert solution.ts is not None
    return jnp.where(left, solution.ts[-1], jnp.inf)
