"""The overlap equations on a fixed grid under any rates: final objective, gradient, states and costates, as one program.

docs/theory/schedules.md, sections 2 and 5. Adaptive steps would make the value noisy in the rates; on a fixed grid value and
gradient belong together to the last bit. All families of schedules and all numbers of knots share the one program
rates -> (value, gradient): how rates depend on parameters is chained outside of it. The four stages of the classical
Runge-Kutta rule are a loop, so that the right-hand side, which is most of the compilation, stands in it once.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.programs.compiled import program
from dimfree.questions.schedules.parts import Followed, Objective, State, greedy, objective, velocity

_REACH = (0.0, 0.5, 0.5, 1.0)  # where in a step the four stages are
_SHARE = (1 / 6, 1 / 3, 1 / 3, 1 / 6)  # the weight of each stage
Rate = Callable[[Float[Array, ""], State], Float[Array, ""]]  # a function of the given factor and of the state


class Steered(NamedTuple):
    """What a walk under given rates leads to."""

    value: Float[Array, ""]  # the objective at the end
    by_factor: Float[Array, " points"]  # its derivatives
    by_number: Float[Array, "2"]
    states: State  # at the beginning of every step
    costates: State  # the derivatives of the value with respect to them


def walk(
    model: Followed,
    start: State,
    steps: Float[Array, " n"],
    given: Float[Array, "n 4"],
    push: State,
    rate: Rate,
) -> tuple[State, tuple[State, Float[Array, "n 4"]]]:
    """The last state; states before each step, each moved by `push`; and the factors that were used in every stage."""

    def step(state: State, now: tuple[Array, Array, State]) -> tuple[State, tuple[State, Array]]:
        h, asked, pushed = now
        begin = _moved(state, jnp.ones(()), pushed)

        @jax.checkpoint
        def stage(done: tuple[State, State], at: tuple[Array, Array, Array]) -> tuple[tuple[State, State], Array]:
            (speed, end), (reach, share, wanted) = done, at
            here = _moved(begin, reach * h, speed)
            factor = rate(wanted, here)
            speed = velocity(model, factor, here)
            return (speed, _moved(end, share * h, speed)), factor

        still = jax.tree.map(jnp.zeros_like, begin)
        (_, end), factors = jax.lax.scan(stage, (still, begin), (jnp.asarray(_REACH), jnp.asarray(_SHARE), asked))
        return end, (begin, factors)

    return jax.lax.scan(step, start, (steps, given, push))


def _moved(state: State, by: Array, direction: State) -> State:
    return jax.tree.map(lambda x, v: x + by * v, state, direction)


def _given(rate: Array, state: State) -> Array:
    return rate


def _stages(factors: Float[Array, " points"]) -> Float[Array, "n 4"]:
    """Factors at the ends and middles of all steps, as the four stages need them."""
    middles = factors[1::2]
    return jnp.stack([factors[:-1:2], middles, middles, factors[2::2]], axis=1)


def _unpushed(start: State, steps: Array) -> State:
    return jax.tree.map(lambda x: jnp.zeros((steps.size, *x.shape)), start)


def final(
    model: Followed, start: State, steps: Float[Array, " n"], factors: Float[Array, " points"], kind: Objective
) -> Float[Array, ""]:
    """The objective at the end, without a gradient."""
    return objective(model, walk(model, start, steps, _stages(factors), _unpushed(start, steps), _given)[0], kind)


@program
def steered(
    model: Followed,
    start: State,
    steps: Float[Array, " n"],
    factors: Float[Array, " points"],
    numbers: Float[Array, "2"],
    kind: Objective,
) -> Steered:
    """Value, gradient and costates; `numbers` are eta_a and omega. A costate is the gradient with respect to a push."""

    def value(factors: Array, numbers: Array, push: State) -> tuple[Array, State]:
        changed = eqx.tree_at(lambda m: (m.model.eta_a, m.model.omega), model, (numbers[0], numbers[1]))
        end, (states, _) = walk(changed, start, steps, _stages(factors), push, _given)
        return objective(changed, end, kind), states

    slopes = jax.value_and_grad(value, (0, 1, 2), has_aux=True)
    (found, states), (by_factor, by_number, costates) = slopes(factors, numbers, _unpushed(start, steps))
    return Steered(found, by_factor, by_number, states, costates)


@program
def greedy_factors(
    model: Followed, start: State, steps: Float[Array, " n"], bounds: Float[Array, "2"], kind: Objective
) -> Float[Array, " points"]:
    """The locally optimal factors along their own path, at the ends and middles of all steps."""
    rate = lambda _, state: greedy(model, state, bounds, kind)  # noqa: E731
    wanted = jnp.zeros((steps.size, 4))
    end, (_, used) = walk(model, start, steps, wanted, _unpushed(start, steps), rate)
    return jnp.append(used[:, :2].reshape(-1), greedy(model, end, bounds, kind))
