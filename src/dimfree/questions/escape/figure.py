"""The figure of a sample complexity: how much of label and activation lies at every Hermite degree."""

from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dimfree.gaussian.links import hermite_coefficients
from dimfree.questions.escape.answer import expansion

if TYPE_CHECKING:
    from dimfree.questions.escape.answer import SampleComplexity

_FEWEST = 8  # the axis has at least this many degrees


def draw_degrees(found: "SampleComplexity", figure: Figure) -> None:
    """Variance by degree, the constant left out; a direction is found by the lowest degree that both have."""
    label = _label_variance(found)
    degrees = np.arange(1, len(label))
    activation = hermite_coefficients(found.problem.network.activation, len(label)) ** 2
    figure.set_size_inches(6.4, 4.0)
    axes = figure.subplots()
    for shift, values, colour, name in ((-0.2, label, "#1f78b4", "label"), (0.2, activation, "#d95f02", "activation")):
        axes.bar(degrees + shift, values[1:] / values[1:].sum(), 0.4, color=colour, alpha=0.8, label=name)
    axes.axvline(found.exponent, color="black", lw=1, ls=":", label=f"information exponent {found.exponent}", zorder=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="Hermite degree", ylabel="share of the variance", title=f"samples: {found.order}")
    axes.legend(frameon=False)


def _label_variance(found: "SampleComplexity") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """E of the squared part of each degree: products of He_n have the variance prod n!."""
    terms, coefficients = expansion(found.problem)
    variance = np.zeros(max(_FEWEST, *(sum(term) for term in terms)) + 1)
    for term, coefficient in zip(terms, coefficients, strict=True):
        variance[sum(term)] += coefficient**2 * prod(map(factorial, term))
    return variance
