"""Gauss rules with positive weights for the two measures of a projected population (docs/theory/scaling.md, section 2, 3-4).

Moments of a cell are integrals of the transforms over a half circle above it; Wheeler's algorithm makes nodes of them.
"""

import numpy as np
from jaxtyping import Complex, Float

from dimfree.onepass.projected.companion import high_above, noise, signal, transform
from dimfree.onepass.projected.population import Population

Vector = Float[np.ndarray, " _"]
_NODES = 5  # of a cell
_ANGLES = 40  # points of a half circle
_NEGLIGIBLE = 1e-11  # a further polynomial's square has at least this share of the measure, or the measure is a spike
_ROUNDING = 1e-12  # of a cell's measure, over the integral of the transform's size
_FALL = 1.6  # from one height to the next above the top of a circle


def gauss_rules(population: Population, d: float, cuts: Vector) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Nodes and weights of the signal and of the noise, cell by cell."""
    centre, radius = (cuts[:-1] + cuts[1:]) / 2, (cuts[:-1] - cuts[1:]) / 2
    share, weight = np.polynomial.legendre.leggauss(_ANGLES)
    t = (share + 1) / 2
    theta = np.pi * (
        t - np.sin(2 * np.pi * t) / (2 * np.pi)
    )  # close together at both ends, where circles meet the axis
    turned = np.exp(1j * theta)
    dz = 1j * turned * np.pi * (1 - np.cos(2 * np.pi * t)) * weight / 2  # per radius
    z = centre[:, None] + radius[:, None] * turned
    m = _around(population, d, z, centre, radius)
    k = np.arange(2 * _NODES)
    polynomials = np.cos(k[:, None] * np.arccos(turned.astype(complex)))  # Chebyshev's, at points of a circle
    found = []
    for of in (signal, noise):
        s = of(population, z.ravel(), m.ravel()).reshape(z.shape)
        moments = -np.imag((s * dz * radius[:, None]) @ polynomials.T) / np.pi
        held = moments[:, 0] > _ROUNDING * radius * np.sum(np.abs(s * dz), axis=1)  # the others are empty
        found.append(_nodes(moments[held], centre[held], radius[held]))
    return found[0], found[1]


def _around(
    population: Population, d: float, z: Complex[np.ndarray, "c a"], centre: Vector, radius: Vector
) -> Complex[np.ndarray, "c a"]:
    """The transform on all half circles, from their tops outwards on both sides at once."""
    height = 4 * centre
    m = high_above(population, d, centre + 1j * height)
    while (height > radius).any():
        height = np.maximum(height / _FALL, radius)
        m = transform(population, d, centre + 1j * height, m)
    found, half, cells = np.empty_like(z), _ANGLES // 2, len(centre)
    both = np.concatenate([m, m])
    for step in range(half):
        right, left = half - 1 - step, half + step
        both = transform(population, d, np.concatenate([z[:, right], z[:, left]]), both)
        found[:, right], found[:, left] = both[:cells], both[cells:]
    return found


def _nodes(moments: Float[np.ndarray, "c k"], centre: Vector, radius: Vector) -> tuple[Vector, Vector]:
    """The nodes and weights of all cells, as one rule."""
    places, weights = [], []
    for nu, middle, half in zip(moments, centre, radius, strict=True):
        u, w = wheeler(nu)
        places.append(middle + half * u)
        weights.append(w)
    x, w = np.concatenate(places), np.concatenate(weights)
    order = np.argsort(x)
    return x[order], w[order]


def wheeler(nu: Float[np.ndarray, " k"]) -> tuple[Vector, Vector]:
    """The Gauss rule on [-1, 1] with these moments of Chebyshev's polynomials; fewer nodes where rounding leaves no more."""
    n = len(nu) // 2
    scale = 2.0 ** np.minimum(0, 1 - np.arange(2 * n))  # T_k over its leading coefficient
    b = np.where(np.arange(2 * n) == 1, 0.5, 0.25)
    before, now = np.zeros(2 * n), nu * scale
    a, off = [now[1] / now[0]], [now[0]]
    for k in range(1, n):
        after = np.zeros(2 * n)
        for i in range(k, 2 * n - k):
            after[i] = now[i + 1] - a[-1] * now[i] + b[i] * now[i - 1] - off[-1] * before[i] * (k > 1)
        if after[k] <= _NEGLIGIBLE * nu[0] * scale[k] ** 2:
            break
        a.append(after[k + 1] / after[k] - now[k] / now[k - 1])
        off.append(after[k] / now[k - 1])
        before, now = now, after
    while True:
        side = np.sqrt(off[1:])
        u, vectors = np.linalg.eigh(np.diag(a) + np.diag(side, 1) + np.diag(side, -1))
        if len(a) == 1 or np.abs(u).max() <= 1:
            return u, nu[0] * vectors[0] ** 2
        a, off = a[:-1], off[:-1]
