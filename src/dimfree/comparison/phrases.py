"""Every phrase that a verdict is made of, as a template: saved pages, which run without Python, use the same phrases."""

HOLDS, WITHIN, IN_PART, UNTIL, OPEN, FAILS = (
    "holds",
    "holds within",
    "holds in part",
    "holds until",
    "not resolved",
    "does not hold",
)
BEST_FIRST = (HOLDS, WITHIN, IN_PART, OPEN, UNTIL, FAILS)  # an open difference may be small, one that fails is not

PHRASES = {
    "holds": "holds",
    "still": "holds: nothing moves, the risk stays at {risk:.3g}",
    "impossible": "impossible: its risk is {amount:.2g} at t = {time:.3g}, and no risk is negative",
    "open": "not resolved: {chance}; {remedy}",
    "within": "holds within the {allowed} that it leaves open{where}: {off} at t = {time:.3g}",
    "risk within": "risk {within}",
    "risk holds": "risk holds",
    # stretches that fail
    "both": "{end}, at worst {worst}",
    "until": "holds until t = {since:.3g}, then {both}",
    "from": "does not hold: from t = {begin:.3g} on, at the end {both}",
    "only after": "holds only after t = {end:.3g}, before that it is {worst}",
    "but for": "holds but for {when}, where it is {worst}",
    "fails for": "does not hold: for {when}, where it is {worst}",
    "when": "t = {begin:.3g} to {end:.3g}",
    "when once": "t = {begin:.3g}",
    "between": "between t = {begin:.3g} and {end:.3g}",
    "at": "at t = {end:.3g}",
    # chance
    "no error bar": "{off} at t = {time:.3g}, but a single run has no error bar",
    "chance": "{off} at t = {time:.3g}, but chance alone can make {chance}",
    "never": "a million {what} would not resolve it",
    "about": "about {count} {what} would resolve it",
    "rest open": "the rest is not resolved: {chance}",
    "part open": "not resolved {when}, where chance alone can make {chance}",
    # what else is wrong
    "also": "{off} {when}",
    "late": "leaves the plateau {amount} too late",
    "early": "leaves the plateau {amount} too early",
    "wide": "spread {factor:.2g} times too large at t = {time:.3g}",
    "narrow": "spread {factor:.2g} times too small at t = {time:.3g}",
    "overlaps": "{what} off by {amount} at t = {time:.3g}",
    # sizes
    "not finite": "not a finite number",
    "only finite": "finite where real SGD is not",
    "times": "{factor:.2g} times too high",
    "high": "{amount} too high",
    "low": "{amount} too low",
    "factor": "a factor of {factor:.2g}",
    "whole per cent": "{amount:.0f} %",
    "per cent": "{amount:.2g} %",
    # all accounts together
    "alone": "Only real SGD was run.",
    "closest": "Closest to {reference}: {best}.",
    "none closest": "No theory can be called closest, because {best} is not resolved.",
}


def say(phrase: str, **parts: str | float) -> str:
    """A phrase with its parts filled in."""
    return PHRASES[phrase].format(**parts)
