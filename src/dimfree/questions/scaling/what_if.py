"""What else a budget could buy: other sizes, less data, other rates, batches, schedules (docs/theory/scaling.md, section 4)."""

from typing import NamedTuple

import numpy as np

from dimfree.onepass.projected.best_schedule import BestSchedule, best_schedule
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.mean_risk import steps_to
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.questions.scaling.theory import Law

_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])  # of the critical rate, to try
_FEW_SHARES = _SHARES[2::2]
_AROUND = 2.0 ** np.linspace(-1, 1, 5)  # sizes over the best one
_BATCHES = 4.0 ** np.arange(6)
_MOST_STEPS = 20_000
_FEWEST, _MOST_SEARCHED = 24, 300  # steps for which the best schedule is searched without being asked for
SCHEDULES = ("cosine", "linear", "wsd")


class Change(NamedTuple):
    """One change, and the risk after it."""

    name: str
    risk: float


def changes(law: Law, size: float, compute: float, best: BestSchedule | None) -> list[Change]:
    """The risk of the best size, and the risk with one thing changed; a schedule has the best of nine base rates."""
    steps, found = compute / (size * law.batch), law.measures(size)

    def spent(times: float) -> float:
        return float(law.risks(size * times, np.array([max(steps / times, 1.0)]))[0])

    def halved(other: Law) -> float:
        return float(other.risks(size, np.array([max(steps / 2, 1.0)]), found)[0])

    listed = [
        Change("as it is", spent(1.0)),
        *([Change("twice the size, half the steps", spent(2.0))] if 2 * size < law.data.inputs_of(2 * size) else []),
        Change("half the size, twice the steps", spent(0.5)),
        Change("half the data", halved(law)),
        Change("twice the batch, half the steps", halved(law._replace(batch=2 * law.batch))),
    ]
    rate, constant = best_of_schedule(law, size, steps, "constant")
    listed.append(Change(f"constant, best rate ({rate:.3g})", constant))
    listed.append(best_of_all(law, size, compute))
    listed += [Change(f"{name}, best base rate", best_of_schedule(law, size, steps, name)[1]) for name in SCHEDULES]
    if steps <= _MOST_STEPS:
        listed.append(Change("batch times 1, 2, 4, 8, best rate", growing_batches(law, size, steps)))
    if best is not None:
        listed.append(Change("best schedule of all", best.risk))
    return listed


def best_of_schedule(law: Law, size: float, steps: float, name: str) -> tuple[float, float]:
    """The best base rate of a schedule, and the final risk."""
    found, tried = law.measures(size), [law, *(law.at_share(size, share) for share in _SHARES)]
    last = np.array([max(steps, 1.0)])
    ends = [(float(one._replace(schedule=name).risks(size, last, found)[0]), one.gamma(size)) for one in tried]
    risk, rate = min(ends)
    return rate, risk


def best_of_all(law: Law, size: float, compute: float) -> Change:
    """The best size and constant rate together, among sizes up to twice and down to half the best one."""
    plain, ends = law._replace(schedule="constant"), list[tuple[float, float, float]]()
    for d in size * _AROUND[_AROUND * size < law.data.inputs_of(2 * size)]:
        found, steps = law.measures(d), np.array([max(compute / (d * law.batch), 1.0)])
        tried = (plain, *(plain.at_share(d, share) for share in _SHARES))
        ends += [(float(one.risks(d, steps, found)[0]), float(d), one.gamma(d)) for one in tried]
    risk, d, rate = min(ends)
    return Change(f"size {d:.3g}, rate {rate:.3g}: best together", risk)


def growing_batches(law: Law, size: float, steps: float) -> float:
    """The lowest final risk at a constant rate over base rates, with a batch that doubles after every quarter of the samples."""
    found, limit = law.measures(size), law.limit(size)
    batches = np.concatenate([np.full(max(round(steps / 4 / times), 1), law.batch * times) for times in (1, 2, 4, 8)])
    last, Delta = np.array([len(batches)]), law.data.label_noise
    return min(
        float(stepwise_risks(found, np.full(len(batches), share * limit), batches, Delta, last, law.momentum)[0])
        for share in _SHARES
    )


def searched_soon(law: Law, size: float, compute: float) -> BestSchedule | None:
    """The best schedule of all where the search takes a moment."""
    steps = compute / (size * law.batch)
    return searched(law, size, round(steps)) if steps <= _MOST_SEARCHED and not law.momentum else None


def searched(law: Law, size: float, steps: int) -> BestSchedule:
    """The best schedule of all, with its certificate."""
    return best_schedule(law.measures(size), law.limit(size), law.batch, law.data.label_noise, max(steps, _FEWEST))


def critical_batch(law: Law, size: float, target: float) -> float:
    """The batch that needs twice the samples of batch 1 to reach a target at constant rates, the best of four for each."""
    if law.momentum:
        return np.nan
    found, population, samples = law.measures(size), law.population(size), []
    for batch in _BATCHES:
        limit = critical_rate(population, size, batch)
        needed = [steps_to(found, share * limit, batch, law.data.label_noise, target) for share in _FEW_SHARES]
        samples.append(batch * min(needed))
        if not samples[0] < np.inf or samples[-1] > 2 * samples[0]:
            break
    if not 0 < samples[0] < np.inf:  # no constant rate gets there, or nothing is to be done
        return np.nan
    logs = np.log(np.array(samples) / samples[0])
    if not np.isfinite(logs).all() or logs[-1] < np.log(2):
        return np.nan
    return float(np.exp(np.interp(np.log(2), logs, np.log(_BATCHES[: len(logs)]))))
