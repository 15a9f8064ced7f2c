"""Where the spectrum of a projected population is cut into cells (docs/theory/scaling.md, section 2, evaluation 2).

Cuts lie in the gaps of the upper spectrum, where every mode has a narrow band, and below that at equal ratios.
"""

import numpy as np
from jaxtyping import Float

from dimfree.onepass.projected.companion import crowding, inverse
from dimfree.onepass.projected.population import Population

WIDEST = 1.7  # largest over smallest eigenvalue of a cell
_NARROWEST = 1.15
_BELOW, _ABOVE = 0.7, 1.25  # the outermost cuts, over the edges of the spectrum


def cuts(population: Population, d: float, smallest: float, largest: float) -> Float[np.ndarray, " n"]:
    """Ends of all cells, from above; `smallest` and `largest` are the edges of the spectrum."""
    gaps = _gaps(population, d, _ABOVE * largest)
    found = [_ABOVE * largest]
    for gap, band in gaps:
        found += _between(found[-1], gap, band)
    return np.array(found + _between(found[-1], _BELOW * smallest, None))


def _gaps(population: Population, d: float, top: float) -> list[tuple[float, float | None]]:
    """Cuts in gaps, each with the band between it and the cut above, if only one mode has its band there."""
    h, found, above, first = population.h, [], top, 0
    for number in population.lasts[:-1]:
        middle = float(np.sqrt(h[number]) * np.sqrt(h[number + 1]))
        if crowding(population, -1 / middle) >= d:  # no gap here
            continue
        cut = inverse(population, d, -1 / middle)
        if not 0 < cut * _NARROWEST < above:
            continue
        others = np.delete(np.arange(len(h)), number)
        pushed = np.sum(population.counts[others] * h[others] / (h[number] - h[others])) / d
        band = float(h[number]) * (1 + float(pushed))
        alone = first == number and cut < band < above
        found.append((cut, band if alone else None))
        above, first = cut, int(number) + 1
    return found


def _between(above: float, below: float, band: float | None) -> list[float]:
    """Cuts below one cut down to another, so that no cell is too wide; a single band stays in the middle of its cell."""
    if above <= WIDEST * below:
        return [below]
    if band is None:
        pieces = int(np.ceil(np.log(above / below) / np.log(WIDEST)))
        return [above * (below / above) ** (n / pieces) for n in range(1, pieces)] + [below]
    upper, lower = min(band * np.sqrt(WIDEST), above), max(band / np.sqrt(WIDEST), below)
    found = _between(above, upper, None) if upper * _NARROWEST < above else []
    if lower <= _NARROWEST * below:
        return [*found, below]
    return [*found, lower, *_between(lower, below, None)]
