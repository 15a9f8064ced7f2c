"""The claims of the figures of schedules, on numbers that are made up: they hold, and each fails when one is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import dimfree as df
from dimfree.functions.schedule import Constant
from dimfree.gallery import shelf
from dimfree.gallery.batch_is_rate import BatchIsRate
from dimfree.gallery.optimal_schedule import OptimalSchedule
from dimfree.gallery.schedule_quenched import ScheduleQuenched

ENTRIES = {one.name: one for one in (OptimalSchedule, ScheduleQuenched, BatchIsRate)}
NAMES = ("constant", "cosine", "greedy", "optimal")


def silent(text, fraction):
    """Nobody watches."""


def failing(entry, data):
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


def test_the_shelf_knows_them_and_what_they_take():
    for name, cls in ENTRIES.items():
        entry = shelf.entry(name)
        assert type(entry) is cls
        assert 0 < entry.seconds(False) < entry.seconds(True)


def case(risks, gains, violation=0.005, spread=0.001):
    """Final risks by name, and what SGD gains over constant and cosine."""
    samples, falling = np.linspace(0, 100, 11), np.geomspace(1, 1e-6, 11)
    told = np.stack([np.append(falling[:-1], risk) for risk in risks])
    scattered = np.exp(0.01 * np.random.default_rng(0).normal(size=(1, 16)))
    ends = risks[3] * np.array([gains[0], gains[1], 1.0])[:, None, None] * scattered
    real = np.broadcast_to(falling[:, None, None], (3, 11, 1, 16)).copy()
    real[:, -1] = ends
    shared = {"samples": samples}
    schedules = {"risk": (("schedule", "samples", "start"), told[..., None]), "rate": (("schedule", "samples"), told)}
    confirmed = {"risk": (("schedule", "samples", "start", "replica"), real)}
    certificate = {"pontryagin_error": violation, "hamiltonian_spread": spread, "starts_spread": 1e-6}
    seen = {name: ("samples", np.ones(11)) for name in ("pontryagin_ratio", "hamiltonian", "inside")}
    return xr.DataTree.from_dict(
        {
            "schedules": xr.Dataset(schedules, shared | {"schedule": list(NAMES)}),
            "confirmed": xr.Dataset(confirmed, shared | {"schedule": ["constant", "cosine", "optimal"]}),
            "certificate": xr.Dataset(seen, shared, certificate),
        }
    )


QUIET, NOISY = (7.44e-6, 5.76e-6, 1.27e-2, 2.711e-6), (1.4055e-3, 1.635e-4, 1.26e-2, 1.431e-4)


def test_optimal_schedule_claims():
    entry = OptimalSchedule()
    data = lambda quiet, noisy: xr.DataTree(children={"noiseless": quiet, "noisy": noisy})  # noqa: E731
    good = data(case(QUIET, (3.0, 2.0)), case(NOISY, (9.8, 1.14)))
    assert failing(entry, good) == set()
    worse = (*QUIET[:3], 2.75e-6)
    assert 0 in failing(entry, data(case(worse, (3.0, 2.0)), case(NOISY, (9.8, 1.14))))
    assert failing(entry, data(case(QUIET, (1.9, 2.0)), case(NOISY, (8.9, 1.05)))) == {8, 9, 10}
    assert failing(entry, data(case(QUIET, (3.0, 2.0), 0.02, 0.01), case(NOISY, (9.8, 1.14)))) == {5, 6}
    escaped = (*QUIET[:2], 1e-5, QUIET[3])
    assert failing(entry, data(case(escaped, (3.0, 2.0)), case(NOISY, (9.8, 1.14)))) == {4}
    entry.draw(good, Figure())


def test_schedule_quenched_claims():
    entry, starts, runs = ScheduleQuenched(), np.geomspace(1e-5, 1e-3, 8), np.arange(32.0)
    noise = np.exp(0.05 * np.random.default_rng(0).normal(size=32))
    scatter = noise * np.exp(0.01 * (runs - 28))

    def data(early, late, constant=2.5, scatter=scatter):
        """What runs that escape early, and the last quarter, lose by the schedule for the average start."""
        paid = np.where(runs < 24, early, late) * scatter
        real = np.repeat(starts, 4) * np.stack([np.full(32, constant), paid, np.ones(32)])
        told = {
            "ode": (("schedule", "start"), np.array([constant, late, 1.0])[:, None] * starts),
            "chain": (("schedule", "start", "replica"), real.reshape(3, 8, 4)),
            "escape": (("start", "replica"), np.where(runs < 31, runs, np.nan).reshape(8, 4)),
            "rate": (("schedule", "samples"), np.ones((3, 5))),
        }
        return xr.Dataset(told, {"schedule": ["constant", "average start", "mean of 8"], "samples": np.arange(5.0)})

    assert failing(entry, data(0.8, 1.6)) == set()
    assert failing(entry, data(1.3, 1.6)) == {3}
    assert failing(entry, data(0.8, 1.1)) == {2, 4}
    assert failing(entry, data(0.8, 0.8, scatter=noise)) == {2, 4, 5}
    assert failing(entry, data(0.8, 1.6, constant=1.2)) == {0, 1}
    two_outliers = np.where(runs < 30, noise, 30.0)  # of the late ones: a mean of risks is theirs alone
    assert failing(entry, data(0.8, 0.8, scatter=two_outliers)) == {2, 4, 5}
    entry.draw(data(0.8, 1.6), Figure())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (ScheduleQuenched(seed=1), set()),
        (ScheduleQuenched(overlap=0.2), {2, 3, 4, 5}),  # the one start escapes late: then it is early runs that pay
    ],
    ids=["another-seed", "late-start"],
)
def test_who_pays_depends_on_the_start_and_not_on_the_seed(entry, expected):
    assert failing(entry, entry.measure(False, silent)) == expected


def batches(late=0.0, term=1.0, order=1.0):
    """Runs whose final log risk rises by `late` per batch, and whose early one is above by term (batch - 1)^order/d."""
    tree, spread = {}, 0.1 * np.random.default_rng(0).normal(size=64)
    for batch in (1, 4, 16):
        risks = 1e-4 * np.exp(np.array([[1.0], [late * np.log(batch)]]) + spread - spread.mean())
        tree[f"batch {batch}/chain"] = xr.Dataset({"risk": (("time", "replica"), risks)}, {"time": [0.0, 100.0]})
        tree[f"batch {batch}/ode"] = xr.Dataset({"risk": (("time", "one"), np.array([[1e-3], [1e-4]]))})
        for d in (100, 400):
            early = np.exp(spread + term * (batch - 1) ** order / d)[None]
            tree[f"d {d}, batch {batch}/chain"] = xr.Dataset({"risk": (("time", "replica"), early)})
    return xr.DataTree.from_dict(tree)


def test_batch_is_rate_claims():
    entry = BatchIsRate()
    assert failing(entry, batches()) == set()
    assert failing(entry, batches(late=0.1)) == {0, 2}
    assert failing(entry, batches(late=-0.1)) == {0, 1}
    assert failing(entry, batches(term=-1.0)) == {3}  # larger batches are ahead
    assert failing(entry, batches(order=0.5)) == {4}
    slowly = batches()
    slowly["d 400, batch 16/chain"] = slowly["d 100, batch 16/chain"]
    assert failing(entry, slowly) == {3}
    entry.draw(batches(), Figure())


@pytest.mark.slow
@pytest.mark.parametrize(("power", "wrong"), [(1.0, set()), (0.5, {0, 3, 4})], ids=["in-proportion", "square-root"])
def test_batch_and_rate_grown_together(power, wrong):
    """The square-root rule is another one: in samples its curves differ."""
    entry = BatchIsRate(until=20.0, power=power, seed=1)
    assert failing(entry, entry.measure(False, silent)) == wrong


def test_all_batches_have_the_same_clock():
    cases = BatchIsRate().cases(False)
    cases = {name: one for name, one in cases.items() if name.startswith("batch")}
    times = [one.problem.times for one in cases.values()]
    for other in times[1:]:
        np.testing.assert_array_equal(times[0], other)
    assert {one.problem.steps(100.0) for one in cases.values()} == {200_000, 50_000, 12_500}
    assert not isinstance(df.model(cases["batch 1"].problem).schedule, Constant)
