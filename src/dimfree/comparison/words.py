"""A judgement in words: whether an account holds, until when, by how much it fails, or what would resolve it."""

from math import inf, isnan

from dimfree.comparison.beside import Off
from dimfree.comparison.chance import MOST
from dimfree.comparison.judgement import Judgement
from dimfree.comparison.phrases import FAILS, HOLDS, IN_PART, OPEN, UNTIL, WITHIN, say
from dimfree.comparison.resolution import Unresolved
from dimfree.comparison.stretches import Stretch

_EARLY = 0.1  # an account that fails before this share of the run does not hold at all


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
    return "; ".join([_main_clause(found, until), *_open_parts(found), *_parts(found)])


def _main_clause(found: Judgement, until: float) -> str:
    word = grade(found, until)
    if found.impossible:
        return say("impossible", amount=found.impossible.amount, time=found.impossible.time)
    if found.fails:
        return _failing(word, found.fails)
    if word == OPEN:
        assert found.unresolved is not None
        return say("open", chance=_chance(found.unresolved), remedy=_remedy(found.unresolved))
    if word == WITHIN:
        return _within(found)
    if word == IN_PART:
        return say("risk within", within=_within(found)) if found.within else say("risk holds")
    return say("holds") if found.moves else say("still", risk=found.final_risk)


def _within(found: Judgement) -> str:
    assert found.within is not None
    where = f" {found.leaves_open}" if found.leaves_open else ""
    allowed = per_cent(found.allowed_percent)
    return say("within", allowed=allowed, where=where, off=off(found.within.amount), time=found.within.time)


def _failing(word: str, fails: Stretch) -> str:
    at_end, at_worst = off(fails.last), off(fails.worst)
    alike = fails.worst * fails.last > 0 and (fails.last in (inf, -inf) or abs(fails.worst) < 1.5 * abs(fails.last))
    both = at_end if alike else say("both", end=at_end, worst=at_worst)
    if word == UNTIL:
        return say("until", since=fails.since, both=both)
    if fails.to_the_end:
        return say("from", begin=fails.begin, both=both)
    if word == IN_PART and fails.since == 0 < fails.end:  # there is no earlier time at which it agrees
        return say("only after", end=fails.end, worst=at_worst)
    when = say("when" if fails.end > fails.begin else "when once", begin=fails.begin, end=fails.end)
    return say("fails for" if word == FAILS else "but for", when=when, worst=at_worst)


def _chance(found: Unresolved) -> str:
    """The deviation, and how large chance alone can make it."""
    if isnan(found.chance):
        return say("no error bar", off=off(found.percent), time=found.time)
    return say("chance", off=off(found.percent), time=found.time, chance=off_by(found.chance))


def _remedy(found: Unresolved) -> str:
    what = "starts" if found.of_starts else "replicas"
    return say("never", what=what) if found.runs >= MOST else say("about", count=_rounded(found.runs), what=what)


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
        return [say("rest open", chance=_chance(opened))]
    return [say("part open", when=_when(opened.begin, opened.end), chance=off_by(opened.chance))]


def _parts(found: Judgement) -> list[str]:
    """What else is wrong, as further parts of the sentence."""
    parts = []
    if found.also:
        parts.append(say("also", off=off(found.also.worst), when=_when(found.also.begin, found.also.end)))
    if found.escape:
        parts.append(say("late" if found.escape.amount > 0 else "early", amount=per_cent(found.escape.amount)))
    if found.spread:
        parts.append(_spread(found.spread))
    if found.overlaps:
        what, amount, time = found.overlaps
        parts.append(say("overlaps", what=what, amount=per_cent(amount), time=time))
    return parts


def _when(begin: float, end: float) -> str:
    return say("between" if end > begin else "at", begin=begin, end=end)


def _spread(spread: Off) -> str:
    if spread.amount > 1:
        return say("wide", factor=spread.amount, time=spread.time)
    return say("narrow", factor=1 / spread.amount, time=spread.time)


def off(percent: float) -> str:
    """A deviation in words."""
    if percent in (inf, -inf):
        return say("not finite" if percent > 0 else "only finite")
    if percent > 1000:
        return say("times", factor=1 + percent / 100)
    return say("high" if percent > 0 else "low", amount=per_cent(percent))


def off_by(percent: float) -> str:
    """How large chance can make a deviation, in words."""
    return say("factor", factor=1 + percent / 100) if percent > 1000 else per_cent(percent)


def per_cent(amount: float) -> str:
    """A size in per cent, with two digits and without an exponent."""
    return say("whole per cent" if abs(amount) >= 10 else "per cent", amount=abs(amount))
