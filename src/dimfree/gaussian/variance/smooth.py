"""Four-point term of smooth functions in few directions, by quadrature over two students and what the others do given them.

Psi^Var_ij = a_i a_j E[sigma'_i sigma'_j (E_0² + Delta)], and given u_i and u_j, E_0 is a sum of functions of one Gaussian each:
its mean is a sum of averages over one variable, and its variance one of covariances that Mehler's formula writes as
sum_n rho^n c_n c'_n in their Hermite coefficients. Four dimensions become three, the nodes of all of them follow the state, and
nothing cancels as the error E_0 vanishes (docs/theory/committee.md, section 3.3).
"""

from functools import partial
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, General
from dimfree.functions.target import Committee, HermiteLink, UnlikeUnits
from dimfree.gaussian.adaptive import Numbers, Sums, along_all, block_nodes, blocks_for, total
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.gaussian.resolution import resolution
from dimfree.gaussian.series import normalised_hermite
from dimfree.states.overlaps import Overlaps, factor

_MOST_DIRECTIONS = 4
_SHARPEST = 1 / 8  # functions that need a finer step than this at variance 4 are left to sampling
_ORDERS = 16  # orders of Mehler's formula between two other units
_SIDE = {1: 48, 2: 16}  # nodes of one axis that are evaluated together
_MOST = {
    1: 64,
    2: 24,
}  # such blocks on one axis: for tanh below 1e-8 up to a variance of 50; what is missing is estimated
_MOST_BESIDES, _MOST_INNER = (
    14,
    5,
)  # such blocks where there are more students; and blocks of 48 nodes for the other students
_FINER = 4 / 3  # how much finer the rule is by which another one is judged
_ROUNDING = 1e-12  # no rule is said to have a smaller relative error than this


_Function = Activation | tuple[tuple[int, ...], ...]  # functions of the teacher units, or the terms of a link


class _Outer(NamedTuple):
    """What is fixed when the loops are compiled: functions, how many students are integrated over, how finely."""

    sigma: Activation
    target: _Function
    students: int  # one or two
    others: int  # students that are not integrated over
    finer: float
    orders: int


def is_smooth(model: Learner) -> bool:
    """Whether this rung applies: few directions, functions without kinks and not too sharp."""
    functions = [model.activation, *model.target.functions]
    tame = all(not f.kinks and not (isinstance(f, General) and f.step < _SHARPEST) for f in functions)
    return tame and not isinstance(model.target, UnlikeUnits) and model.width + model.units <= _MOST_DIRECTIONS


def variance_smooth(model: Learner, state: Overlaps, finer: float = 1.0, orders: int = _ORDERS) -> Float[Array, "p p"]:
    """Psi^Var, two students at a time."""
    p, n, target = model.width, model.width + model.units, model.target
    if isinstance(target, Committee):
        function: _Function = target.activation
        v = target.second_layer / target.units
    else:
        assert isinstance(target, HermiteLink)
        function, v = target.terms, target.coefficients
    students = min(p, 2)
    outer = _Outer(model.activation, function, students, p - students, finer, orders)

    def one(Omega: Array, b: Array) -> Array:
        squares, slopes = _averages(outer, factor(Omega, n), b, v)
        return squares + model.Delta * slopes

    Omega, b = state.covariance(target.P), state.a / p
    if p == students:
        return jnp.outer(state.a, state.a) * one(Omega, b)
    pairs = list(combinations(range(p), 2))
    order = np.array([[*pair, *(i for i in range(n) if i not in pair)] for pair in pairs])
    found = jnp.zeros((p, p))
    blocks = jax.lax.map(lambda pair: one(*pair), (Omega[order[:, :, None], order[:, None, :]], b[order[:, :p]]))
    for pair, block in zip(pairs, blocks, strict=True):
        found = found.at[np.ix_(pair, pair)].set(block)
    return jnp.outer(state.a, state.a) * found


def variance_smooth_error(model: Learner, state: Overlaps) -> Float[Array, ""]:
    """The relative error (Frobenius norm): errors fall exponentially with the step, so a finer rule is as good as exact."""
    rule, better = variance_smooth(model, state), variance_smooth(model, state, _FINER, _ORDERS + _ORDERS // 2)
    return _ROUNDING + jnp.linalg.norm(rule - better) / jnp.linalg.norm(better)


def points_at_once(model: Learner) -> int:
    """How many numbers one block of the rule holds for each direction."""
    students = min(model.width, 2)
    return 48 * _SIDE[students] ** students


def smooth_seconds(model: Learner) -> float:
    """Roughly what one evaluation costs at unit variances."""
    p, n = model.width, model.width + model.units
    students = min(p, 2)
    nodes = 48 * (20 * resolution(model.activation, 4) + 16) ** students * max(n - students, 1)
    return 1e-8 * nodes * max(p * (p - 1) // 2, 1)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _averages(outer: _Outer, A: Float[Array, "n n"], b: Float[Array, " p"], v: Float[Array, " v"]) -> Sums:
    """E[sigma'_i sigma'_j E_0²] and E[sigma'_i sigma'_j] of the first students, where u = A x and E_0 = f*(v) - sum b sigma."""
    q, size = outer.students, _SIDE[outer.students]
    sharpness = np.full(A.shape[0], _sharpness(outer.target))
    sharpness[: q + outer.others] = resolution(outer.sigma, 4)
    most = round(outer.finer * (_MOST_BESIDES if outer.others else _MOST[q]))
    blocks = blocks_for(outer.finer * jnp.abs(A[:, :q].T) * sharpness, size=size, most=most)

    def part(i: Array) -> Sums:
        number = jnp.stack([i] if q == 1 else [jax.lax.div(i, blocks[1]), jax.lax.rem(i, blocks[1])])
        x, w = block_nodes(number, blocks, size=size)
        x = jnp.stack(jnp.meshgrid(*x, indexing="ij"), axis=-1).reshape(-1, q)
        weights = w[0] if q == 1 else jnp.outer(*w).ravel()
        u = x @ A[:q, :q].T
        mean, spread = _given(outer, A, b, v, x)
        squares = (mean - outer.sigma(u) @ b[:q]) ** 2 + spread
        slopes = outer.sigma.derivative(u)
        return (slopes * (weights * squares)[:, None]).T @ slopes, (slopes * weights[:, None]).T @ slopes

    return total(jnp.prod(blocks), part)


@_averages.defjvp
def _averages_jvp(outer: _Outer, primals: Numbers, tangents: Numbers) -> tuple[Sums, Sums]:
    return along_all(partial(_averages.fun, outer), primals, tangents)


def _given(outer: _Outer, A: Array, b: Array, v: Array, x: Float[Array, "N q"]) -> tuple[Array, Array]:
    """Mean and variance of the contribution of the other students and the teacher to E_0, given the first students."""
    q = outer.students
    centre, rest = x @ A[q:, :q].T, A[q:, q:]
    if isinstance(outer.target, tuple) and len(outer.target[0]) > 1:
        return _given_link(outer.target, v, centre, rest)
    scale, many = _root(jnp.sum(rest**2, axis=1)), outer.others

    def added(u: Float[Array, "N o b"]) -> Float[Array, "N o b"]:
        if isinstance(outer.target, tuple):
            labels = HermiteLink(outer.target, v, jnp.eye(1))(u[:, many:, :, None])
        else:
            labels = v[:, None] * outer.target(u[:, many:])
        return jnp.concatenate([-b[q:, None] * outer.sigma(u[:, :many]), labels], axis=1) if many else labels

    base = added(centre[..., None])
    sharpness = np.full(len(scale), _sharpness(outer.target))
    sharpness[:many] = resolution(outer.sigma, 2)
    blocks = blocks_for(outer.finer * jnp.asarray(sharpness) * scale, most=round(outer.finer * _MOST_INNER))
    pairs = list(combinations(range(len(scale)), 2))

    def part(i: Array) -> Sums:
        y, w = block_nodes(i, blocks)
        change = added(centre[..., None] + scale[:, None] * y) - base
        he = normalised_hermite(y, outer.orders) if pairs else jnp.ones((1, y.size))
        return change @ (w * he).T, change**2 @ w

    c, squares = total(blocks, part)
    mean = jnp.sum(base[..., 0] + c[..., 0], axis=1)
    spread = jnp.sum(squares - c[..., 0] ** 2, axis=1)
    unit = rest / jnp.where(scale > 0, scale, 1.0)[:, None]
    for one, other in pairs:
        powers = (unit[one] @ unit[other]) ** np.arange(1, outer.orders)
        spread = spread + 2 * (c[:, one, 1:] * c[:, other, 1:]) @ powers
    return mean, spread


def _sharpness(target: _Function) -> float:
    return 0.0 if isinstance(target, tuple) else resolution(target, 2)


def _given_link(terms: tuple[tuple[int, ...], ...], v: Array, centre: Array, rest: Array) -> tuple[Array, Array]:
    """The same for a polynomial of several directions, exactly."""
    y, w = gauss_hermite(max(sum(term) for term in terms) + 1, rest.shape[0])
    labels = HermiteLink(terms, v, jnp.eye(rest.shape[0]))(centre[:, None, :] + jnp.asarray(y) @ rest.T)
    mean = labels @ w
    return mean, (labels - mean[:, None]) ** 2 @ w


def _root(x: Array) -> Array:
    """The square root, with gradient 0 where nothing is left."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1.0)), 0.0)
