"""The four-point term Psi^Var_ij = a_i a_j E[sigma'_i sigma'_j (E_0² + Delta)], as a ladder of exactness.

Closed forms (erf, square, ReLU), the risk at tilted overlaps (erf beside units of their own), then quadrature while the number of
directions is small (exact for polynomials; on nodes that follow the state for smooth functions), then fixed scrambled-Sobol
points (docs/theory/committee.md, section 3.3).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.functions.target import Committee, HermiteLink, UnlikeUnits
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import kernels, risk_of
from dimfree.gaussian.nodes import Table, Vector, gauss_hermite, trapezoid
from dimfree.gaussian.points import normal_points
from dimfree.gaussian.variance.erf import variance_erf, variance_erf_wide_error, widest_exact
from dimfree.gaussian.variance.relu import variance_relu
from dimfree.gaussian.variance.smooth import (
    is_smooth,
    points_at_once,
    smooth_seconds,
    variance_smooth,
    variance_smooth_error,
)
from dimfree.gaussian.variance.tilted import MOST_STUDENTS, tilted_seconds, variance_tilted
from dimfree.states.overlaps import Overlaps, factor

_RELU_TUPLES = 110_000  # above this many index tuples (width 16) the closed ReLU form takes over 15 ms
_POINTS = 4096
_SCRAMBLES = 4
_LARGEST_RULE = 400_000
_NO_RULE = (np.zeros((0, 0)), np.zeros(0))
_TRAPEZOID_STEP = {
    1: 1 / 8,
    2: 1 / 8,
    3: 1 / 5,
    4: 1 / 3,
}  # coarser as the dimension grows, whatever the state: for the noise of a step, which needs no more than that
_TRAPEZOID_RADIUS = {1: 8.6, 2: 8.6, 3: 7.6, 4: 6.6}


def variance(model: Learner, state: Overlaps) -> Float[Array, "p p"]:
    """Psi^Var by the most exact rung that applies, symmetric to the last bit: equations of the overlaps rely on it."""
    found = _variance(model, state)
    return (found + found.T) / 2


def _variance(model: Learner, state: Overlaps) -> Float[Array, "p p"]:
    match variance_method(model):
        case "erf":
            return variance_erf(state.covariance(model.target.P), _weights(model, state), state.a, model.Delta)
        case "square":
            return _square(state.covariance(model.target.P), _weights(model, state), state.a, model.Delta)
        case "relu":
            return variance_relu(state.covariance(model.target.P), _weights(model, state), state.a, model.Delta)
        case "tilted":
            return variance_tilted(model, state)
        case "product":
            return _average(model, state, *(jnp.asarray(part) for part in product_rule(model)))
        case "smooth":
            return variance_smooth(model, state)
        case _:
            return _sampled(model, state, jnp.asarray(_points(model, 0)))


def variance_method(model: Learner) -> str:
    """The method of the ladder by which the variance term of this model is computed."""
    sigma, target, n = model.activation, model.target, model.width + model.units
    g = target.activation if isinstance(target, Committee) else None
    match sigma, g:
        case Erf(), Erf():
            return "erf"
        case Polynomial(coefficients=(0.0, 0.0, 1.0)), Polynomial(coefficients=(0.0, 0.0, 1.0)):
            return "square"
        case PiecewiseLinear(), PiecewiseLinear() if (
            sigma.is_relu and g.is_relu and (model.width * n) ** 2 <= _RELU_TUPLES
        ):
            return "relu"
    if isinstance(target, UnlikeUnits) and isinstance(sigma, Erf):
        return "tilted" if model.width <= MOST_STUDENTS else "sampled"
    if _is_polynomial(model):
        return "product" if len(product_rule(model)[1]) else "sampled"
    return "smooth" if is_smooth(model) else "sampled"


def variance_is_exact(model: Learner) -> bool:
    """Whether the variance term is exact to rounding at every state, so that there is no error to estimate."""
    which = variance_method(model)
    return which in {"square", "relu", "tilted", "product"} or (which == "erf" and model.width <= widest_exact())


def variance_error(model: Learner, state: Overlaps) -> Float[Array, ""]:
    """The relative error of the variance term (Frobenius norm): from a finer rule, or from independent scramblings."""
    if variance_is_exact(model):
        return jnp.zeros(())
    match variance_method(model):
        case "erf":
            Omega, v = state.covariance(model.target.P), _weights(model, state)
            return variance_erf_wide_error(Omega, v, state.a, model.Delta)
        case "smooth":
            return variance_smooth_error(model, state)
        case _:
            points = jnp.asarray(np.stack([_points(model, scramble) for scramble in range(_SCRAMBLES)]))
            estimates = jax.lax.map(lambda half: _sampled(model, state, half), points)
            spread = jnp.sqrt(jnp.sum(jnp.var(estimates, axis=0, ddof=1)))
            return spread / jnp.sqrt(jnp.sum(jnp.mean(estimates, axis=0) ** 2))


def variance_points(model: Learner) -> int:
    """How many points one evaluation holds at once; zero for closed forms."""
    match variance_method(model):
        case "product":
            return len(product_rule(model)[1])
        case "smooth":
            return points_at_once(model)
        case "sampled":
            return 2 * _POINTS
        case _:
            return 0


def variance_seconds(model: Learner) -> float:
    """Roughly what one evaluation costs, for predictions of cost."""
    p, n = model.width, model.width + model.units
    match variance_method(model):
        case "erf":
            return min(1.5e-9 * (p * n) ** 2, 2e-7 * _POINTS * n / 10)
        case "square":
            return 1e-9 * n**3
        case "relu":
            return 1.5e-7 * (p * n) ** 2
        case "tilted":
            return tilted_seconds(model)
        case "product":
            return 2e-9 * n * variance_points(model)
        case "smooth":
            return smooth_seconds(model)
        case _:
            return 2e-8 * n * variance_points(model)


def _weights(model: Learner, state: Overlaps) -> Float[Array, " n"]:
    """v = (-a/p, a*/k), so that E_0 = sum_l v_l g_l(u_l)."""
    assert isinstance(model.target, Committee)
    return jnp.concatenate([-state.a / model.width, model.target.second_layer / model.units])


def _square(Omega: Array, v: Array, a: Array, Delta: Array) -> Array:
    """Equation (3.5)."""
    p = a.shape[0]
    OD = Omega * v
    ODO = OD @ Omega
    tau_1, tau_2 = jnp.trace(OD), jnp.trace(OD @ OD)
    bracket = Omega * (tau_1**2 + 2 * tau_2 + Delta) + 4 * tau_1 * ODO + 8 * OD @ ODO
    return 4 * jnp.outer(a, a) * bracket[:p, :p]


def product_rule(model: Learner, power: int = 2) -> tuple[Table, Vector]:
    """Nodes over all p + k directions for averages of products of `power` terms sigma' E, or none if they are too many.

    Gauss-Hermite if all is polynomial (exact), else a trapezoid of fixed step if all is smooth.
    """
    n = model.width + model.units
    if _is_polynomial(model):
        own, target = _degree(model.activation), _target_degree(model)
        count = power * (own - 1 + max(own, target)) // 2 + 1
        return gauss_hermite(count, n) if count**n <= _LARGEST_RULE else _NO_RULE
    return trapezoid(_TRAPEZOID_STEP[n], n, _TRAPEZOID_RADIUS[n]) if is_smooth(model) else _NO_RULE


def _is_polynomial(model: Learner) -> bool:
    student, target = model.activation, model.target
    return all(isinstance(one, Polynomial) for one in (student, *target.functions))


def _degree(f: Activation) -> int:
    assert isinstance(f, Polynomial)
    return f.degree


def _target_degree(model: Learner) -> int:
    if not isinstance(model.target, HermiteLink):
        return max(map(_degree, model.target.functions))
    return max(sum(term) for term in model.target.terms)


def fields(
    model: Learner, state: Overlaps, x: Float[Array, "N n"]
) -> tuple[Float[Array, "N n"], Float[Array, "N p"], Float[Array, " N"]]:
    """The preactivations u = A x, sigma'(lambda) and E_0 at standard normal points x."""
    n, p = model.width + model.units, model.width
    u = x @ factor(state.covariance(model.target.P), n).T
    error = model.target(u[:, p:]) - model.activation(u[:, :p]) @ (state.a / p)
    return u, model.activation.derivative(u[:, :p]), error


def _average(model: Learner, state: Overlaps, x: Array, w: Array) -> Array:
    _, slopes, error = fields(model, state, x)
    return jnp.outer(state.a, state.a) * ((slopes * (w * (error**2 + model.Delta))[:, None]).T @ slopes)


def _points(model: Learner, scramble: int) -> Table:
    return normal_points(model.width + model.units, _POINTS, scramble)


def _sampled(model: Learner, state: Overlaps, half: Float[Array, "N n"]) -> Array:
    """Points and their mirror images, with the exact E[sigma' sigma'] and E[E_0²] as control variates."""
    _, slopes, error = fields(model, state, jnp.concatenate([half, -half]))
    students, cross = kernels(model, state)
    B, twice_risk = students.B, 2 * risk_of(model, state.a, students, cross)
    excess = (error**2 - twice_risk) / error.shape[0]
    covariance = (slopes * excess[:, None]).T @ slopes - B * jnp.sum(excess)
    return jnp.outer(state.a, state.a) * (B * (twice_risk + model.Delta) + covariance)
