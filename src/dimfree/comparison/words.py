"""A judgement in words: holds, until when, and by how much it fails."""

from dimfree.comparison.judgement import TOO_WIDE, Judgement, Off, Stretch

HOLDS, IN_PART, UNTIL, FAILS, OPEN, UNTESTED = (
    "holds",
    "holds in part",
    "holds until",
    "does not hold",
    "not resolved",
    "not tested",
)
BEST_FIRST = (HOLDS, IN_PART, UNTIL, UNTESTED, OPEN, FAILS)
_EARLY = 0.1  # of the run: what fails before that does not hold


def grade(found: Judgement, until: float) -> str:
    """One of six words."""
    fails, parts = found.fails, _parts(found)
    if not found.moves and fails is None:
        return UNTESTED
    if fails is None:
        return OPEN if found.error_percent > TOO_WIDE else IN_PART if parts else HOLDS
    if not fails.to_the_end:
        return IN_PART
    return FAILS if fails.since <= _EARLY * until else UNTIL


def sentence(found: Judgement, until: float) -> str:
    """The same with times and sizes."""
    word, parts = grade(found, until), _parts(found)
    match word:
        case "holds" | "not tested":
            told = "holds" if word == HOLDS else f"not tested: the risk stays at {found.final_risk:.3g}"
        case "not resolved":
            return f"not resolved: error bars leave {per_cent(found.error_percent)} open, raise run.replicas"
        case "holds in part" if found.fails is None:
            told = "risk holds"
        case _:
            assert found.fails is not None
            told = _failing(word, found.fails)
    return "; ".join([told, *parts])


def _failing(word: str, fails: Stretch) -> str:
    at_end, at_worst = off(fails.last), off(fails.worst)
    alike = fails.worst * fails.last > 0 and abs(fails.worst) < 1.5 * abs(fails.last)
    both = at_end if alike else f"{at_end}, at worst {at_worst}"
    if word == UNTIL:
        return f"holds until t = {fails.since:.3g}, then {both}"
    if word == FAILS:
        return f"does not hold: from t = {fails.begin:.3g} on, at the end {both}"
    return f"holds but for t = {fails.begin:.3g} to {fails.end:.3g}, where it is {at_worst}"


def _parts(found: Judgement) -> list[str]:
    """What else is not right."""
    parts = []
    if found.also:
        parts.append(f"{off(found.also.worst)} between t = {found.also.begin:.3g} and {found.also.end:.3g}")
    if found.escape:
        late = "late" if found.escape.amount > 0 else "early"
        parts.append(f"leaves the plateau {per_cent(found.escape.amount)} too {late}")
    if found.spread:
        parts.append(_spread(found.spread))
    if found.overlaps:
        parts.append(f"{found.overlaps.what} off by {per_cent(found.overlaps.amount)} at t = {found.overlaps.time:.3g}")
    return parts


def _spread(spread: Off) -> str:
    factor, word = (spread.amount, "large") if spread.amount > 1 else (1 / spread.amount, "small")
    return f"spread {factor:.2g} times too {word} at t = {spread.time:.3g}"


def off(percent: float) -> str:
    """A deviation as one says it."""
    if percent > 1000:
        return f"{1 + percent / 100:.2g} times too high"
    return f"{per_cent(percent)} too {'high' if percent > 0 else 'low'}"


def per_cent(amount: float) -> str:
    """A size in per cent, with two digits and without an exponent."""
    return f"{abs(amount):.0f} %" if abs(amount) >= 10 else f"{abs(amount):.2g} %"
