"""The tangent kernel per unit, K/N: at infinite width by the two-point ladder, of a finite network with an error bar.

K(x, x')/N -> E[sigma(u) sigma(u')] + E[a²] x.x' E[sigma'(u) sigma'(u')] for (u, u') Gaussian with covariance scale² x.x'
(docs/theory/mean-field.md, section h; committee.md, section 3.2 for the expectations).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.gaussian.two_point.ladder import two_point
from dimfree.lazy.network import Shape, Weights, jacobian, product
from dimfree.programs.compiled import quick_program

_BLOCK = 65_536  # pairs of points that are evaluated together
_SAME = 1e-12  # vectors whose cosine is closer to 1 than this count as parallel
Points = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class SampledKernel(NamedTuple):
    """Kernel per unit of a finite network, and the standard error of every entry over its independent units."""

    kernel: Float[Array, "n m"]
    error: Float[Array, "n m"]


def infinite_width_kernel(
    shape: Shape, X: Float[Array, "n d"], Z: Float[Array, "m d"] | None = None
) -> Float[Array, "n m"]:
    """The kernel between two sets of points, or of one set with itself, of which only one triangle is computed."""
    if Z is not None:
        products = X @ Z.T
        q_x, q_z = (jnp.sum(points**2, axis=1) for points in (X, Z))
        return _entries(shape, *jnp.broadcast_arrays(q_x[:, None], products, q_z))
    products = X @ X.T
    rows, columns = jnp.triu_indices(X.shape[0])
    squares = jnp.diagonal(products)  # the same rounding as off the diagonal, so that coinciding points coincide
    upper = jnp.zeros_like(products).at[rows, columns]
    found = upper.set(_entries(shape, squares[rows], products[rows, columns], squares[columns]))
    return found + jnp.triu(found, 1).T


compiled_kernel = quick_program(infinite_width_kernel)  # for callers outside a larger program


def _entries(
    shape: Shape, q_x: Float[Array, "*s"], products: Float[Array, "*s"], q_z: Float[Array, "*s"]
) -> Float[Array, "*s"]:
    many = products.size
    block = min(_BLOCK, many)
    flat = [jnp.pad(jnp.ravel(x), (0, -many % block), mode="edge").reshape(-1, block) for x in (q_x, products, q_z)]

    def entries(pairs: tuple[Array, Array, Array]) -> Array:
        q_u, c, q_w = (shape.scale**2 * x for x in pairs)
        found = two_point(shape.activation, shape.activation, q_u, c, q_w)
        value = found.kappa if shape.second else jnp.zeros_like(c)
        return value + shape.second_scale**2 * pairs[1] * found.B if shape.first else value

    return jax.lax.map(entries, tuple(flat)).reshape(-1)[:many].reshape(products.shape)


def sampled_kernel(
    shape: Shape, theta: Weights, X: Float[Array, "n d"], Z: Float[Array, "m d"] | None = None
) -> SampledKernel:
    """J J'^T/N of a network whose units start in pairs: each pair is one sample of the kernel at infinite width."""
    left, right = jacobian(shape, theta, X), jacobian(shape, theta, X if Z is None else Z)
    width, G = theta.a.size, left.X @ right.X.T
    mean = product(left, right) / width
    square = (left.values**2) @ (right.values**2).T + G**2 * ((left.slopes**2) @ (right.slopes**2).T)
    square += 2 * G * ((left.values * left.slopes) @ (right.values * right.slopes).T)
    variance = jnp.maximum(square / width - mean**2, 0.0)
    return SampledKernel(mean, jnp.sqrt(variance / (width / 2 - 1)))


def coinciding(shape: Shape, X: Points) -> tuple[int, int] | None:
    """Two points with parallel columns of the kernel, which makes it singular: equal points, or points that the
    activation cannot tell apart.

    Such points are parallel, so that only parallel pairs are tested (ReLU is homogeneous, erf is odd).
    """
    length = np.linalg.norm(X, axis=1)
    cosine = np.abs(X @ X.T) / (length[:, None] * length)
    for i, j in np.argwhere(np.triu(cosine > 1 - _SAME, 1)):
        pair = np.asarray(compiled_kernel(shape, jnp.asarray(X[[i, j]])))
        if abs(pair[0, 1]) > (1 - 1e3 * _SAME) * np.sqrt(pair[0, 0] * pair[1, 1]):
            return int(i), int(j)
    return None
