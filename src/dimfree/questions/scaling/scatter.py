"""By how much the curve of one projection differs from the mean over projections (docs/theory/scaling.md, section 2.1)."""

import numpy as np

from dimfree.onepass.projected.measures import drawn
from dimfree.questions.scaling.theory import Law

_DRAWS = 24
_SIZES = (8, 64)  # of projections that are drawn
_MOST_INPUTS = 2000  # of them; further ones are too small to be told apart


def scatter(law: Law, size: float, compute: float, seed: int) -> float:
    """The standard deviation over projections of this size, over the mean: that of a small size, times the root of sizes."""
    small = int(np.clip(round(size), *_SIZES))
    h, b = (values[:_MOST_INPUTS] for values in law.data.modes(small))
    if small >= len(h):
        return np.nan
    rng = np.random.default_rng(seed)
    steps = np.array([max(compute / (size * law.batch), 1.0)])
    risks = []
    for _ in range(_DRAWS):
        W = rng.standard_normal((len(h), small)) / np.sqrt(small)
        risks.append(law.risks(small, steps, drawn(h, b, W).measures)[0])
    middle = np.percentile(risks, [16, 84])  # an unstable projection has any risk
    return float((middle[1] - middle[0]) / 2 / np.median(risks) * np.sqrt(small / size))
