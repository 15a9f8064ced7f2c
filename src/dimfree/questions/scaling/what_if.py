"""What else a budget could buy: other sizes, less data, other rates, batches, schedules (docs/theory/scaling.md, section 4)."""

from typing import NamedTuple

import numpy as np

from dimfree.onepass.projected.best_schedule import BestSchedule, best_schedule
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.mean_risk import mean_risks, steps_to
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.questions.scaling.theory import Law

_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])  # of the critical rate, to try
_FEW_SHARES = _SHARES[2::2]
_BATCHES = 4.0 ** np.arange(6)
_MOST_STEPS = 20_000
_FEWEST, _MOST_SEARCHED = 24, 300  # steps for which the best schedule is searched without being asked for
SCHEDULES = ("cosine", "linear", "wsd")


class Change(NamedTuple):
    """One change, and the risk after it."""

    name: str
    risk: float


def changes(law: Law, size: float, compute: float) -> list[Change]:
    """The risk of the best size, and the risk with one thing changed; a schedule has the best of nine base rates."""
    steps = compute / (size * law.batch)
    found, Delta = law.measures(size), law.data.label_noise
    limit = critical_rate(law.population(size), size, law.batch)

    def spent(times: float) -> float:
        return float(law.risks(size * times, np.array([max(steps / times, 1.0)]))[0])

    listed = [
        Change("as it is", spent(1.0)),
        *([Change("twice the size, half the steps", spent(2.0))] if 2 * size < law.data.inputs_of(2 * size) else []),
        Change("half the size, twice the steps", spent(0.5)),
        Change("half the data", float(law.risks(size, np.array([max(steps / 2, 1.0)]))[0])),
    ]
    wider = 2 * law.batch
    twice = mean_risks(found, law.gamma(size), wider, Delta, np.array([max(steps / 2, 1.0)]))
    listed.append(Change("twice the batch, half the steps", float(twice[0])))
    gammas = np.append(_SHARES * limit, law.gamma(size))
    constant = [float(mean_risks(found, gamma, law.batch, Delta, np.array([steps]))[0]) for gamma in gammas]
    best = int(np.argmin(constant))
    listed.append(Change(f"best constant rate ({gammas[best]:.3g})", constant[best]))
    if steps <= _MOST_STEPS:
        ends = [best_of_schedule(law, size, round(steps), name) for name in SCHEDULES]
        listed += [Change(f"{name}, best base rate", end) for name, end in zip(SCHEDULES, ends, strict=True)]
        listed.append(
            Change("batch times 1, 2, 4, 8 in quarters of the data, best rate", growing_batches(law, size, steps))
        )
    if steps <= _MOST_SEARCHED:
        listed.append(Change("best schedule of all", searched(law, size, round(steps)).risk))
    return listed


def best_of_schedule(law: Law, size: float, steps: int, name: str) -> float:
    """The lowest final risk of a schedule over base rates."""
    found, limit = law.measures(size), critical_rate(law.population(size), size, law.batch)
    shape, batches, last = rates(name, max(steps, 1)), np.full(max(steps, 1), law.batch), np.array([max(steps, 1)])
    return min(
        float(stepwise_risks(found, share * limit * shape, batches, law.data.label_noise, last)[0]) for share in _SHARES
    )


def growing_batches(law: Law, size: float, steps: float) -> float:
    """The lowest final risk at a constant rate over base rates, with a batch that doubles after every quarter of the samples."""
    found, limit = law.measures(size), critical_rate(law.population(size), size, law.batch)
    batches = np.concatenate([np.full(max(round(steps / 4 / times), 1), law.batch * times) for times in (1, 2, 4, 8)])
    last = np.array([len(batches)])
    return min(
        float(stepwise_risks(found, np.full(len(batches), share * limit), batches, law.data.label_noise, last)[0])
        for share in _SHARES
    )


def searched(law: Law, size: float, steps: int) -> BestSchedule:
    """The best schedule of all, with its certificate."""
    limit = critical_rate(law.population(size), size, law.batch)
    return best_schedule(law.measures(size), limit, law.batch, law.data.label_noise, max(steps, _FEWEST))


def critical_batch(law: Law, size: float, target: float) -> float:
    """The batch that needs twice the samples of batch 1 to reach a target; each batch uses the best of four rates."""
    found, population, samples = law.measures(size), law.population(size), []
    for batch in _BATCHES:
        limit = critical_rate(population, size, batch)
        needed = [steps_to(found, share * limit, batch, law.data.label_noise, target) for share in _FEW_SHARES]
        samples.append(batch * min(needed))
        if samples[-1] > 2 * samples[0]:
            break
    logs = np.log(np.array(samples) / samples[0])
    if not np.isfinite(logs).all() or logs[-1] < np.log(2):
        return np.nan
    return float(np.exp(np.interp(np.log(2), logs, np.log(_BATCHES[: len(logs)]))))
