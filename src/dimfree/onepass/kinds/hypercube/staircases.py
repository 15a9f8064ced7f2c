"""What dimension-free dynamics on the hypercube can learn, before and after they ran (docs/theory/mean-field.md, section d)."""

from collections.abc import Iterator, Mapping
from math import factorial

import jax.numpy as jnp
import numpy as np
from numpy.polynomial import hermite_e

from dimfree.description import Values
from dimfree.functions.activation import Activation
from dimfree.functions.leap import Staircase, staircase
from dimfree.gaussian.nodes import trapezoid
from dimfree.onepass.kinds.hypercube.model import HypercubeModel, hypercube_model
from dimfree.onepass.kinds.hypercube.section import Hypercube
from dimfree.onepass.problem import OnePassProblem

_NOTHING = 1e-12  # a moment below this share of the activation's size counts as zero
_STILL = 1e-6  # a mean weight below this may come from rounding alone
_LONG = 1.0  # a time after which a weight that moves at all has moved
_BELOW = 1e-6  # how far rounding may take a risk below its bound


def steps_of(data: Hypercube) -> Staircase:
    """The staircase of the labels; coordinates are counted from 1."""
    return staircase(data.supports, data.weights)


def plateau(data: Hypercube) -> float:
    """The risk that no dimension-free dynamics gets below: half the sum of squares of what single steps do not reach."""
    unreached = {*steps_of(data).unreached}
    pairs = zip(data.supports, data.weights, strict=True)
    return 0.5 * sum(weight**2 for support, weight in pairs if support in unreached)


def said_of_staircase(data: Hypercube) -> str:
    """Whether the labels are a merged staircase, and what is out of reach if they are not."""
    found = steps_of(data)
    if found.merged:
        return "the labels are a merged staircase (leap 1): each product adds at most one coordinate to those before."
    out = " and ".join(_product(support) for support in found.unreached)
    return (
        f"the labels are not a merged staircase (leap {found.leap}): dynamics in times of order one do not learn {out}, "
        f"and their risk stays above {plateau(data):.4g}; SGD gets below after a time that grows with the dimension."
    )


def said_of_hypercube(problem: OnePassProblem) -> str:
    """What can be learned."""
    data = problem.data
    assert isinstance(data, Hypercube)
    said = (said_of_staircase(data), *said_of_derivatives(problem, hypercube_model(problem)))
    return " ".join(one[0].upper() + one[1:] for one in said)


def vanishing_orders(problem: OnePassProblem, model: HypercubeModel) -> tuple[int, ...]:
    """The sizes of products for which the neurons of the start have no derivative: E sigma^(r)(b + s G) = 0."""
    data = problem.data
    assert isinstance(data, Hypercube)
    sizes = {len(support) for support, weight in zip(data.supports, data.weights, strict=True) if weight}
    scale = getattr(problem.start, "scale", 1.0)
    return tuple(sorted(sizes & {*_vanishing(model.activation, problem.network.bias_start, scale, max(sizes))} - {0}))


def said_of_derivatives(problem: OnePassProblem, model: HypercubeModel) -> Iterator[str]:
    """Which products cannot be learned because a derivative of the activation vanishes, with their orders."""
    if orders := vanishing_orders(problem, model):
        said = " and ".join(map(str, orders))
        yield (
            f"the derivatives of order {said} of {model.activation.name} vanish at the start (offset "
            f"{problem.network.bias_start:g}), and products of {said} coordinates need them; choose another activation, or "
            "set network.bias_start."
        )


def hypercube_cautions(
    problem: OnePassProblem, model: HypercubeModel, seen: Mapping[str, Values], *, from_zero: bool
) -> Iterator[str]:
    """Say what cannot be learned, what was not learned though it could be, and what only rounding can have learned."""
    data = problem.data
    assert isinstance(data, Hypercube)
    found, until = steps_of(data), problem.run.until
    yield from said_of_derivatives(problem, model)
    if not from_zero:
        return
    if not found.merged:
        yield said_of_staircase(data)
    still = np.flatnonzero(seen["u_mean"][-1, 0] < _STILL)
    stuck = [data.coordinates[i] for i in still if data.coordinates[i] in found.reached]
    if stuck and until >= _LONG and model.train_w and not vanishing_orders(problem, model):
        yield (
            f"the weights of coordinate {' and '.join(map(str, stuck))} stay at 0, although single steps lead there: the labels "
            "have a symmetry that keeps them; change a coefficient, or look at sgd, whose start has no symmetry."
        )
    if float(np.min(seen["risk"])) < plateau(data) - _BELOW:
        yield (
            f"the risk falls below {plateau(data):.4g}, which exact dynamics do not: rounding errors grew until they left the "
            "plateau; stop earlier with run.until."
        )


def _vanishing(sigma: Activation, offset: float, scale: float, highest: int) -> Iterator[int]:
    """Orders up to `highest` whose Hermite coefficient E sigma(b + s G) he_r(G), s^r E sigma^(r)/sqrt(r!), is rounding."""
    points, weights = trapezoid(1 / 32, 1, 9.0)
    x = points[:, 0]
    values = np.asarray(sigma(jnp.asarray(offset + scale * x)))
    moments = (
        (weights * values)
        @ hermite_e.hermevander(x, highest)
        / np.sqrt([float(factorial(r)) for r in range(highest + 1)])
    )
    size = float(np.sqrt(weights @ values**2))
    return (r for r in range(1, highest + 1) if abs(moments[r]) <= _NOTHING * size)


def _product(support: tuple[int, ...]) -> str:
    return "".join(f"z{i}" for i in support)
