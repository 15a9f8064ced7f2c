"""The mean risk along schedules and with momentum after very many steps (docs/theory/scaling.md, section 1).

Steps are put together in blocks that grow with the number of steps taken. Within a block the rate is one number, and the risk
that drives the noise goes along a straight line to its end, which is found with the rest. The first steps are taken one by one.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num

from dimfree.onepass.projected.mean_risk import Shares, mean_shares
from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected.schedules import mean_rate

Vector = Float[np.ndarray, " _"]
_ALONE = 64  # steps that are taken one by one
_OF_ALL, _TO_THE_END = 256, 32  # blocks at least in all, and at any time up to the end, along a schedule
_EXACT = 2000  # steps beyond which half a step more or less is not seen


class Rule(NamedTuple):
    """How weights move: the rate, samples a step, momentum, and the shape of the rate from the first to the last step."""

    gamma: float
    batch: float
    momentum: float = 0.0
    shape: str = "constant"

    @property
    def at_once(self) -> bool:
        """Whether a formula has all times."""
        return self.momentum == 0 and self.shape == "constant"


class Walked(NamedTuple):
    """Mean squares along every node of the signal, of the noise, and of what is watched besides, after so many steps."""

    signal: Float[np.ndarray, "t x"]
    noise: Float[np.ndarray, "t y"]
    watched: Float[np.ndarray, "t w"]


class _Moves(NamedTuple):
    """What a block does to the state of every node: a matrix, the drive of a risk of 1, and of a risk that grows by 1 a step."""

    power: Float[np.ndarray, "s s n"]
    driven: Float[np.ndarray, "s n"]
    growing: Float[np.ndarray, "s n"]
    steps: int

    @property
    def twice(self) -> "_Moves":
        """Two such blocks."""
        power, m = self.power, self.steps
        driven = np.einsum("ijn,jn->in", power, self.driven) + self.driven
        growing = np.einsum("ijn,jn->in", power, self.growing) + self.growing + m * self.driven
        return _Moves(np.einsum("ijn,jkn->ikn", power, power), driven, growing, 2 * m)


def shares(measures: Measures, rule: Rule, Delta: float, steps: Num[np.ndarray, " t"]) -> Shares:
    """The parts of the mean risk after so many steps of any rule."""
    if rule.at_once:
        return mean_shares(measures, rule.gamma, rule.batch, Delta, steps)
    found = walked(measures, rule, Delta, steps)
    return Shares(np.full(len(steps), measures.Delta_W), found.signal.sum(axis=1), found.noise @ measures.k)


def walked(
    measures: Measures,
    rule: Rule,
    Delta: float,
    steps: Num[np.ndarray, " t"],
    watched: tuple[Vector, Vector] = (np.zeros(0), np.zeros(0)),
) -> Walked:
    """After every one of these numbers of steps, each with a run of its own along a schedule; they may be any real numbers.

    `watched` are nodes and weights of a signal that the noise of the steps neither drives nor is driven by.
    """
    if rule.shape == "constant":
        found = _between(_walk(measures, rule, Delta, steps, watched), steps)
    else:
        found = np.stack([_end(measures, rule, Delta, float(one), watched) for one in steps])
    signal, noise = len(measures.x), len(measures.x) + len(measures.y)
    return Walked(found[:, :signal], found[:, signal:noise], found[:, noise:])


def _end(measures: Measures, rule: Rule, Delta: float, steps: float, watched: tuple[Vector, Vector]) -> Vector:
    """Between the runs of a whole number of steps on both sides."""
    below = int(np.floor(steps)) if steps < _EXACT else round(steps)
    counts = [below, below + 1] if below < steps < _EXACT else [below]
    ends = {n: _walk(measures, rule, Delta, np.array([n]), watched)[n] for n in counts}
    return np.asarray(_between(ends, np.array([steps if len(counts) > 1 else below]))[0])


def _between(found: dict[int, Vector], steps: Num[np.ndarray, " t"]) -> Float[np.ndarray, "t n"]:
    """Along straight lines of logarithms between recorded numbers of steps."""
    at = np.array(sorted(found))
    logs = np.log(np.maximum([found[n] for n in at], 1e-300))
    above = np.clip(np.searchsorted(at, steps), 1, max(len(at) - 1, 1))
    if len(at) == 1:
        return np.exp(np.repeat(logs, len(steps), axis=0))
    low, high = np.log1p(at[above - 1]), np.log1p(at[above])
    share = ((np.log1p(steps) - low) / (high - low))[:, None]
    return np.exp((1 - share) * logs[above - 1] + share * logs[above])


def _walk(
    measures: Measures, rule: Rule, Delta: float, steps: Num[np.ndarray, " t"], watched: tuple[Vector, Vector]
) -> dict[int, Vector]:
    """Mean squares of all nodes at the ends of blocks: the whole numbers next to all `steps` are among them."""
    nodes = np.concatenate([measures.x, measures.y, watched[0]])
    rest = np.zeros(len(watched[0]))
    weights = np.concatenate([np.ones(len(measures.x)), measures.k, rest])
    is_noise = np.concatenate([np.zeros(len(measures.x)), np.ones(len(measures.y)), rest])
    state = np.zeros((3 if rule.momentum else 1, len(nodes)))
    state[0] = np.concatenate([measures.f, np.zeros(len(measures.y)), watched[1]])
    always = measures.Delta_W + Delta
    risk, found, taken = always + weights @ state[0], {0: state[0]}, 0
    varies = rule.shape != "constant"
    last = int(np.ceil(np.max(steps)))
    stops = np.unique(np.concatenate([np.floor(steps), np.ceil(steps)])).astype(int)
    doubled: list[_Moves] = []
    for stop in stops[stops > 0]:
        while taken < stop:
            exponent = _exponent(taken, int(stop), last if varies else 0)
            if varies or not doubled:
                gamma = rule.gamma * mean_rate(rule.shape, taken, 2**exponent, last)
                doubled = [_one_step(nodes, is_noise, gamma, rule)]
            while len(doubled) <= exponent:
                doubled.append(doubled[-1].twice)
            move = doubled[exponent]
            state, risk = _moved(state, risk, move, weights, always)
            taken += move.steps
            found[taken] = state[0]
    return found


def _exponent(taken: int, stop: int, last: int) -> int:
    """Of 2, the length of the next block."""
    longest = max(taken // _ALONE, 1)
    if last:
        longest = min(longest, max(last // _OF_ALL, 1), max((last - taken) // _TO_THE_END, 1))
    return min(longest, stop - taken).bit_length() - 1


def _one_step(nodes: Vector, is_noise: Vector, gamma: float, rule: Rule) -> _Moves:
    """D alone, or D, S and T as in `stepwise_risks`."""
    pull, wider, beta = gamma * nodes, 1 + 1 / rule.batch, rule.momentum
    drive = gamma**2 / rule.batch * is_noise
    if not beta:
        return _Moves((1 - 2 * pull + wider * pull**2)[None, None], drive[None], np.zeros((1, len(nodes))), 1)
    ones = np.ones_like(pull)
    T = np.stack([wider * pull**2, 2 * beta * pull, beta**2 * ones])
    S = np.stack([pull, beta * ones, 0 * ones])
    D = np.stack([ones, 0 * ones, 0 * ones]) - 2 * S + T
    return _Moves(np.stack([D, S - T, T]), np.stack([drive, -drive, drive]), np.zeros((3, len(nodes))), 1)


def _moved(
    state: Float[np.ndarray, "s n"], risk: float, move: _Moves, weights: Vector, always: float
) -> tuple[Float[np.ndarray, "s n"], float]:
    """The state and the risk (twice, with label noise) after a block."""
    still = np.einsum("ijn,jn->in", move.power, state) + risk * (move.driven - move.growing / move.steps)
    rising = move.growing / move.steps
    after = (always + weights @ still[0]) / (1 - weights @ rising[0])
    return still + after * rising, float(after)
