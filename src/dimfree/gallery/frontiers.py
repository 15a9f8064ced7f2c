"""Frontiers of power laws behind random projections, which several figures show (docs/theory/scaling.md, section 3)."""

import numpy as np
from jaxtyping import Float

from dimfree.onepass.projected.mean_risk import forcing_and_kernel, mean_risks
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.projected.phases import phase
from dimfree.onepass.projected.population import power_law
from dimfree.readings.frontier import Frontier, lowest

_RATE = 0.5  # over the trace
_ROOM, _MORE_ROOM = (
    24,
    2400,
)  # largest size over what the phase says; without the noise of the steps larger sizes are best


def inputs_of(alpha: float, size: float) -> float:
    """The number v of inputs: many for every feature, or only a few for each where the trace grows with v."""
    return (1000 if 2 * alpha > 1 else 4) * size


def frontier(alpha: float, beta: float, compute: Float[np.ndarray, " c"], *, kernel: bool) -> Frontier:
    """The frontier at one sample a step and the rate 0.5/trace; without `kernel`, wrongly, without the noise of the steps."""
    low, high = (float(C) ** min(phase(alpha, beta).size, 0.6) for C in (compute[0], compute[-1]))
    top = high * (_ROOM if kernel else _MORE_ROOM)
    spread = 2.0 ** np.arange(np.log2(max(low / _ROOM, 8.0)), np.log2(top), 0.5)
    sizes, risks = np.unique(np.round(spread)), []
    for d in sizes:
        population = power_law(alpha, beta, inputs_of(alpha, d))
        found, steps = equivalent(population, d), compute / d
        gamma = _RATE / population.trace
        risk = (
            mean_risks(found, gamma, 1, 0.0, np.maximum(steps, 1.0))
            if kernel
            else forcing_and_kernel(found, gamma, 1, np.maximum(steps, 1.0))[0] / 2
        )
        risks.append(np.where(steps >= 1, risk, np.nan))
    return lowest(sizes, np.array(risks), compute)


def exponents_at(found: Frontier, budget: float) -> tuple[float, float]:
    """The exponents p and q over the decade around a budget; the frontier must contain both ends of that decade."""
    first, last = (int(np.argmin(np.abs(np.log(found.compute / (budget * 10**e))))) for e in (-0.5, 0.5))
    across = np.log(found.compute[last] / found.compute[first])
    p, q = (np.log(values[last] / values[first]) / across for values in (found.size, found.risk))
    return float(p), float(-q)
