"""Labels with Gaussian noise: p(y), E[g | y] and E[g² | y] are the link's images of phi, g phi and g² phi, smeared out.

docs/theory/spectral.md, section 2. Nodes in g are so dense that the link changes by one standard deviation of the noise from
panel to panel; the labels are a grid, on which sums of Gaussians are spectrally accurate.
"""

from itertools import pairwise
from math import pi, sqrt

import numpy as np

from dimfree.errors import ProblemError
from dimfree.gaussian.level_sets import LevelSets, density
from dimfree.gaussian.nodes import Vector, gauss_legendre

_REACH = 6.5  # beyond this a Gaussian has 1e-10 of its weight
_PER_DEVIATION = 4  # points of the grid of labels per standard deviation of the noise
_WIDE = 7  # standard deviations over which noise smears a label out
_PANELS = 450  # smallest number of panels, each with four nodes
_MOST = 2_000_000  # panels


def smeared(levels: LevelSets, noise: float) -> tuple[Vector, Vector, Vector, Vector]:
    """Labels, weights, E[g | y] and E[g² | y]."""
    deviation = sqrt(noise)
    g, mass = _nodes(levels, deviation)
    f, step = levels.value(g), deviation / _PER_DEVIATION
    cell = np.rint((f - f.min()) / step).astype(int) + _WIDE * _PER_DEVIATION
    size = int(cell.max()) + _WIDE * _PER_DEVIATION + 1
    y = f.min() + step * (np.arange(size) - _WIDE * _PER_DEVIATION)
    sums = np.zeros((3, size))
    for offset in range(-_WIDE * _PER_DEVIATION, _WIDE * _PER_DEVIATION + 1):
        kernel = mass * np.exp(-0.5 * ((y[cell + offset] - f) / deviation) ** 2) / (_PER_DEVIATION * sqrt(2 * pi))
        for power in range(3):
            sums[power] += np.bincount(cell + offset, kernel * g**power, size)
    seen = sums[0] > 1e-250
    return y[seen], sums[0, seen], *(sums[1:, seen] / sums[0, seen])


def _nodes(levels: LevelSets, deviation: float) -> tuple[Vector, Vector]:
    """Nodes in g and their Gaussian weights: panels end at cuts, and where the link has changed by the deviation."""
    inner = np.unique(levels.cuts())
    stations = np.array([-_REACH, *inner[np.abs(inner) < _REACH], _REACH])
    fine = np.concatenate([np.linspace(a, b, 200)[:-1] for a, b in pairwise(stations)] + [stations[-1:]])
    change = np.abs(np.diff(levels.value(fine))) / deviation + np.diff(fine) * _PANELS / (2 * _REACH)
    counts = np.ceil(change).astype(int)
    if counts.sum() > _MOST:
        raise ProblemError(
            f"noise of variance {deviation**2:.3g} is too small beside labels that differ by {np.ptp(levels.value(fine)):.3g}; "
            "raise it, or set it to 0."
        )
    left, width = (np.repeat(one, counts) for one in (fine[:-1], np.diff(fine) / counts))
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    t, w = gauss_legendre(4)
    g = (left[:, None] + width[:, None] * (place[:, None] + t)).ravel()
    return g, (width[:, None] * w).ravel() * density(g)
