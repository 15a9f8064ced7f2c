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


RUNS = np.arange(128.0)
NOISE = np.exp(0.05 * np.random.default_rng(0).normal(size=128))


def escapes(early, late, constant=2.5, scatter=None, told=None):
    """What runs that escape early, and the last quarter, lose by the schedule for the average start, also by the ODE."""
    scatter = NOISE * np.exp(0.01 * (RUNS - 100)) if scatter is None else scatter
    paid = np.where(RUNS < 96, early, late)
    ode = paid if told is None else np.where(RUNS < 96, *told)
    schedules = lambda lost: np.stack([constant * NOISE, lost, np.ones(128)])  # noqa: E731
    found = {
        "overlap": ("start", 0.1 - 1e-4 * RUNS),
        "ode": (("schedule", "start"), schedules(ode)),
        "chain": (("schedule", "run"), np.geomspace(1e-5, 1e-3, 128) * schedules(paid * scatter)),
        "escape": ("run", np.where(RUNS < 127, RUNS, np.nan)),
        "rate": (("schedule", "samples"), np.ones((3, 5))),
    }
    return xr.Dataset(found, {"schedule": ["constant", "average start", "mean of 32"], "samples": np.arange(5.0)})


def test_schedule_quenched_claims():
    entry = ScheduleQuenched()
    assert failing(entry, escapes(0.8, 1.6)) == set()
    assert failing(entry, escapes(1.8, 2.6)) == {2, 4}
    assert failing(entry, escapes(0.5, 0.7)) == {3, 5}
    assert failing(entry, escapes(0.8, 0.8, scatter=NOISE)) == {3, 5, 6}
    assert failing(entry, escapes(0.8, 1.6, constant=0.9)) == {0, 1}
    assert failing(entry, escapes(0.8, 1.6, told=(1.1, 0.9))) == {2, 3}
    two_outliers = np.where(RUNS < 126, NOISE, 30.0)  # of the late ones: a mean of risks is theirs alone
    assert failing(entry, escapes(0.8, 0.8, scatter=two_outliers)) == {3, 5, 6}
    entry.draw(escapes(0.8, 1.6), Figure())


def test_what_is_within_three_errors_of_nothing_is_not_claimed():
    """Runs whose ratios have a median of one, and a gain of a tenth that scatters by more."""
    scatter = np.random.default_rng(1).permuted(np.linspace(-1.0, 1.0, 128))
    slightly = np.exp(scatter + np.where(RUNS < 96, -0.05, 0.05))
    lost = escapes(1.0, 1.0, constant=1.1 * np.exp(scatter), scatter=slightly)
    assert failing(ScheduleQuenched(), lost) == {0, 1, 4, 5, 6}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (ScheduleQuenched(seed=1), set()),
        (ScheduleQuenched(overlap=0.05), {2, 3, 4, 5, 6}),  # the one start escapes late: then it is early runs that pay
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
    assert not isinstance(df.extend.model(cases["batch 1"].problem).schedule, Constant)
