"""A judgement in words: whether an account holds, until when, by how much it fails, or what would resolve it."""

from math import inf, isnan

from dimfree.comparison.beside import Off
from dimfree.comparison.chance import MOST
from dimfree.comparison.judgement import Judgement
from dimfree.comparison.resolution import Unresolved
from dimfree.comparison.stretches import Stretch

HOLDS, WITHIN, IN_PART, UNTIL, OPEN, FAILS = (
    "holds",
    "holds within",
    "holds in part",
    "holds until",
    "not resolved",
    "does not hold",
)
BEST_FIRST = (HOLDS, WITHIN, IN_PART, UNTIL, OPEN, FAILS)
_EARLY = 0.1  # share of the run: an account that fails earlier does not hold


def grade(found: Judgement, until: float) -> str:
    """The judgement as one of the six grades of `BEST_FIRST`."""
    fails = found.fails
    if found.impossible:
        return FAILS
    if fails is None:
        if not found.resolved:
            return OPEN
        return IN_PART if _parts(found) else WITHIN if found.within else HOLDS
    if not found.resolved:
        return FAILS
    if not fails.to_the_end:
        return IN_PART
    return FAILS if fails.since <= _EARLY * until else UNTIL


def sentence(found: Judgement, until: float) -> str:
    """The judgement as a sentence with times and sizes."""
    return "; ".join([_told(found, until), *_open_parts(found), *_parts(found)])


def _told(found: Judgement, until: float) -> str:
    word = grade(found, until)
    if found.impossible:
        amount, time = found.impossible.amount, found.impossible.time
        return f"impossible: its risk is {amount:.2g} at t = {time:.3g}, and no risk is negative"
    if found.fails:
        return _failing(word, found.fails)
    match word:
        case "not resolved":
            assert found.unresolved is not None
            return f"not resolved: {_chance(found.unresolved)}; {_remedy(found.unresolved)}"
        case "holds within":
            return _within(found)
        case "holds in part":
            return f"risk {_within(found)}" if found.within else "risk holds"
        case _:
            return "holds" if found.moves else f"holds: nothing moves, the risk stays at {found.final_risk:.3g}"


def _within(found: Judgement) -> str:
    assert found.within is not None
    where = f" {found.leaves_open}" if found.leaves_open else ""
    at_worst = f"{off(found.within.amount)} at t = {found.within.time:.3g}"
    return f"holds within the {per_cent(found.allowed_percent)} that it leaves open{where}: {at_worst}"


def _failing(word: str, fails: Stretch) -> str:
    at_end, at_worst = off(fails.last), off(fails.worst)
    alike = fails.worst * fails.last > 0 and (fails.last in (inf, -inf) or abs(fails.worst) < 1.5 * abs(fails.last))
    both = at_end if alike else f"{at_end}, at worst {at_worst}"
    if word == UNTIL:
        return f"holds until t = {fails.since:.3g}, then {both}"
    if fails.to_the_end:
        return f"does not hold: from t = {fails.begin:.3g} on, at the end {both}"
    if word == IN_PART and fails.since == 0 < fails.end:  # it agrees nowhere before
        return f"holds only after t = {fails.end:.3g}, before that it is {at_worst}"
    when = f"t = {fails.begin:.3g}" + (f" to {fails.end:.3g}" if fails.end > fails.begin else "")
    return f"{'does not hold: for' if word == FAILS else 'holds but for'} {when}, where it is {at_worst}"


def _chance(found: Unresolved) -> str:
    """The deviation, and how large chance alone can make it."""
    seen = f"{off(found.percent)} at t = {found.time:.3g}"
    if isnan(found.chance):
        return f"{seen}, but a single run has no error bar"
    return f"{seen}, but chance alone can make {off_by(found.chance)}"


def _remedy(found: Unresolved) -> str:
    what = "starts" if found.of_starts else "replicas"
    if found.runs >= MOST:
        return f"a million {what} would not resolve it"
    return f"about {_rounded(found.runs)} {what} would resolve it"


def _rounded(count: int) -> int:
    """A count rounded up to two digits."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // unit) * unit


def _open_parts(found: Judgement) -> list[str]:
    """What chance leaves open, as a further part of the sentence."""
    opened = found.unresolved
    if opened is None or (found.fails is None and not found.resolved and not found.impossible):
        return []
    if not found.resolved:
        return [f"the rest is not resolved: {_chance(opened)}"]
    return [f"not resolved {_when(opened.begin, opened.end)}, where chance alone can make {off_by(opened.chance)}"]


def _parts(found: Judgement) -> list[str]:
    """What else is wrong, as further parts of the sentence."""
    parts = []
    if found.also:
        parts.append(f"{off(found.also.worst)} {_when(found.also.begin, found.also.end)}")
    if found.escape:
        late = "late" if found.escape.amount > 0 else "early"
        parts.append(f"leaves the plateau {per_cent(found.escape.amount)} too {late}")
    if found.spread:
        parts.append(_spread(found.spread))
    if found.overlaps:
        parts.append(f"{found.overlaps.what} off by {per_cent(found.overlaps.amount)} at t = {found.overlaps.time:.3g}")
    return parts


def _when(begin: float, end: float) -> str:
    return f"between t = {begin:.3g} and {end:.3g}" if end > begin else f"at t = {end:.3g}"


def _spread(spread: Off) -> str:
    factor, word = (spread.amount, "large") if spread.amount > 1 else (1 / spread.amount, "small")
    return f"spread {factor:.2g} times too {word} at t = {spread.time:.3g}"


def off(percent: float) -> str:
    """A deviation in words."""
    if percent in (inf, -inf):
        return "not a finite number" if percent > 0 else "finite where real SGD is not"
    if percent > 1000:
        return f"{1 + percent / 100:.2g} times too high"
    return f"{per_cent(percent)} too {'high' if percent > 0 else 'low'}"


def off_by(percent: float) -> str:
    """How large chance can make a deviation, in words."""
    return f"a factor of {1 + percent / 100:.2g}" if percent > 1000 else per_cent(percent)


def per_cent(amount: float) -> str:
    """A size in per cent, with two digits and without an exponent."""
    return f"{abs(amount):.0f} %" if abs(amount) >= 10 else f"{abs(amount):.2g} %"
