"""What is said of a table, and what numbers of a scaling law must not be trusted for (docs/theory/scaling.md, sections 3, 6)."""

from collections.abc import Iterator

import numpy as np

from dimfree.onepass.kinds.projection.section.power_law import PerSize, PowerLaw
from dimfree.onepass.projected.companion import capacity
from dimfree.onepass.projected.estimate import Estimate
from dimfree.onepass.projected.phases import Phase
from dimfree.onepass.projected.population import power_law
from dimfree.questions.scaling.theory import Curves, Law

_OFF = 0.03  # of an exponent, beyond which it must not be used
_SHORT = 0.05  # of the capacity, that too few inputs take away
_MANY = 1e5  # times the size: as good as infinitely many inputs
_SCATTER = 0.05  # of one projection
_LONGEST = 1e12  # steps


def said_of(law: Law, found: Curves, phase: Phase, compute: float, scatter: float) -> Iterator[str]:
    """All that applies."""
    f = found.frontier
    best = np.argmin(np.nan_to_num(found.risks, nan=np.inf), axis=0)
    for ended, end, remedy in (
        (np.isnan(f.size) & (best == 0), "smallest", "begin at larger compute"),
        (np.isnan(f.size) & (best > 0), "largest", _remedy(law, found)),
    ):
        if ended.any():
            yield (
                f"At compute {f.compute[ended][0 if best[ended][0] else -1]:.2g} the best size is the {end} of the list "
                f"{found.sizes[0]:g} to {found.sizes[-1]:g}, and so it is not given: {remedy}."
            )
    p, q = f.local_exponents()
    near = int(np.argmin(np.abs(np.log(f.compute / compute))))
    if max(abs(p[near] - phase.size), abs(q[near] - phase.loss)) > _OFF:
        yield (
            f"At compute {f.compute[near]:.2g} the local exponents are p = {p[near]:.2f} and q = {q[near]:.2f}, asymptotically "
            f"{phase.size:.2f} and {phase.loss:.2f} ({phase.name}): extrapolate with the curve, not with the exponent."
        )
    size = f.size[near]
    if np.isfinite(size):
        yield from _inputs(law, float(size))
        yield from _label_noise(law, found)
        if scatter > _SCATTER:
            yield f"One projection of size {size:.3g} scatters by {100 * scatter:.0f} % around this risk, the mean over them."


def said_of_rows(law: Law, found: Estimate | None) -> Iterator[str]:
    """What of a table is left out, and its exponents."""
    if law.data.pool is not None:
        yield from law.data.pool.left_out()
        explained = law.population(1).energy
        yield (
            f"Labels are divided by their standard deviation, and the best linear fit explains {100 * explained:.3g} % of them: "
            f"the risk begins at {explained / 2:.3g}."
        )
    if found is None:
        return
    others = ", ".join(f"{name} {100 * share:.0f} %" for name, share in found.phases.items())
    yield (
        f"alpha = {found.alpha:.3f} (± {found.by_chance[0]:.3f} by chance, ± {found.by_window[0]:.2g} by the window of ranks), "
        + _beta(found)
        + (f"; phases of drawn tables and windows: {others}." if others else ".")
    )


def _beta(found: Estimate) -> str:
    if np.isnan(found.beta):
        return "beta is not known"
    by_chance = f"beta = {found.beta:.3f} (± {found.by_chance[1]:.3f}"
    if np.isnan(found.by_window[1]):
        return f"{by_chance} by chance, from the only window in which the target is seen)"
    return f"{by_chance}, ± {found.by_window[1]:.2g})"


def said_of_table(found: Estimate) -> Iterator[str]:
    """Which ranks exponents are read off, and why not others."""
    whole = found.windows[0]
    yield (
        f"Eigenvalues beyond rank {whole.last} of {found.rows} rows are not used: they are biased low for want of rows, or fall "
        f"off at the end of the table; the window of ranks is {whole.first} to {whole.last}."
    )
    if whole.seen < whole.last:
        so = f"beta is read off ranks {whole.first} to {whole.seen}"
        if np.isnan(found.beta):
            so = "too few ranks are left for beta, and there is no phase"
        yield f"Beyond rank {whole.seen} the noise of the labels hides the target: {so}."


def _remedy(law: Law, found: Curves) -> str:
    largest = found.sizes[-1]
    if np.nanmin(found.risks) > law.population(largest).energy / 2:
        return "nothing is learnt at this rate, and so the fewest steps are best; lower training.learning_rate or raise batch"
    inputs = law.data.inputs_of(largest)
    if largest * 2 > inputs:
        return f"the {inputs} inputs end the law there"
    return "extend the sizes"


def _inputs(law: Law, size: float) -> Iterator[str]:
    data, v = law.data, law.data.inputs_of(size)
    if not isinstance(data, PowerLaw):
        return
    if 2 * data.alpha <= 1:
        if not isinstance(data.inputs, PerSize):
            yield (
                f"2 alpha = {2 * data.alpha:g}: the trace grows with inputs, and {v} of them for all sizes are no power law; "
                "give inputs = {per_size = 4}."
            )
        return
    ratio = capacity(law.population(size), size)[1] / capacity(power_law(data.alpha, data.beta, _MANY * size), size)[1]
    if 1 - ratio > _SHORT:
        yield (
            f"Inputs are {v / size:.3g} times the size {size:.3g}: what no weights reach is {100 * (1 - ratio):.0f} % below that "
            "of the power law; raise data.inputs for exponents of the phase."
        )


def _label_noise(law: Law, found: Curves) -> Iterator[str]:
    Delta = law.data.label_noise
    if Delta and law.schedule == "constant":
        lowest = np.min(law.risks(found.sizes[-1], np.geomspace(1, _LONGEST, 200)))
        yield (
            f"Label noise {Delta:.3g} with a constant rate: the frontier ends near a risk of {lowest:.2g}; use schedule wsd or "
            "cosine, or larger batches."
        )
