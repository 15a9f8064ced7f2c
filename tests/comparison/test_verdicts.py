"""Twelve sentences, written down before the code, on curves whose deviations are known exactly."""

import re

import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.comparison.comparison import Comparison
from dimfree.comparison.judgement import judge
from dimfree.comparison.words import grade, sentence

TIME = np.concatenate([[0.0], np.geomspace(0.1, 500.0, 80)])
REPLICAS = 16


def fall(escape=60.0, floor=3e-5):
    """A plateau at 0.02 that is left around `escape`, and a noise floor."""
    start = 0.05 + 0.1 / (1 + TIME)
    return floor + start * 0.2 / (1 + (TIME / escape) ** 6)


def account(mean, relative=0.0, replicas=1, seed=0, scatters=False, accuracy=0.0, **others):
    """Runs that scatter around a mean by a relative amount, exactly unbiased."""
    noise = np.random.default_rng(seed).standard_normal((len(TIME), replicas))
    if replicas > 1:
        noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, ddof=1, keepdims=True)
    risk = np.asarray(mean)[:, None] * (1 + relative * noise)
    attrs = {"scatters": int(scatters), "accuracy": accuracy}
    data = {"risk": (("time", "replica"), risk)} | {
        name: (("time", "replica", "unit"), values) for name, values in others.items()
    }
    return xr.Dataset(data, {"time": TIME}, attrs)


def sgd(mean=None, relative=0.04, replicas=REPLICAS, **others):
    return account(fall() if mean is None else mean, relative, replicas, seed=1, scatters=True, **others)


def ramp(since, by):
    """A factor that leaves one at `since` and reaches 1 + by within a quarter of that time."""
    return 1 + by * np.clip((TIME - since) / (0.25 * since), 0, 1)


M = np.tanh(TIME / 60)[:, None, None] * np.ones((1, REPLICAS, 3))
SHORT = np.exp(-TIME / 100)

VERDICTS = {
    "the right theory": (account(fall() * 1.01), sgd(), "holds", "holds"),
    "without the variance of the steps": (
        account(fall() * ramp(150, -0.78)),
        sgd(),
        "holds until",
        r"holds until t = 1[345]\d, then 78 % too low",
    ),
    "infinitely wide": (
        account(fall() * ramp(4, 1.3) * ramp(120, -0.98), accuracy=0.25 + 0.016),
        sgd(),
        "does not hold",
        r"does not hold: from t = 4\.\d+ on, at the end 95 % too low, at worst 130 % too high",
    ),
    "infinitely wide, as far off as it says": (
        account(fall() * 1.2, accuracy=0.25).assign_attrs(leaves_open="at width 4"),
        sgd(),
        "holds within",
        r"holds within the 30 % that it leaves open at width 4: 20 % too high at t = .*",
    ),
    "leaves the plateau early": (
        account(fall(escape=50.0)),
        sgd(),
        "holds in part",
        r"holds but for t = [2-4]\d\.\d to [12]\d\d, where it is 6\d % too low; leaves the plateau 1[5-7] % too early",
    ),
    "right in the mean, wrong in the spread": (
        account(fall(), 0.1, 400, scatters=True),
        sgd(relative=0.04, replicas=400),
        "holds in part",
        r"risk holds; spread 2\.5 times too large at t = .*",
    ),
    "right risk, wrong overlaps": (
        account(fall(), M=1.3 * M[:, :1]),
        sgd(M=M * (1 + 0.001 * np.random.default_rng(2).standard_normal(M.shape))),
        "holds in part",
        r"risk holds; M off by 3\d % at t = .*",
    ),
    "two risks of exactly zero": (
        account(0 * TIME),
        sgd(0 * TIME),
        "holds",
        "holds: nothing moves, the risk stays at 0",
    ),
    "nothing moves": (
        account(np.full(len(TIME), 0.25)),
        sgd(np.full(len(TIME), 0.25), relative=0.0),
        "holds",
        r"holds: nothing moves, the risk stays at 0\.25",
    ),
    "error bars that leave everything open": (
        account(fall() * 1.3),
        sgd(relative=0.6, replicas=4),
        "not resolved",
        r"not resolved: 30 % too high at t = \S+, but chance alone can make 59\d %; about 86 replicas would resolve it",
    ),
    "beyond the stability edge": (
        account(SHORT),
        sgd(SHORT * np.exp(TIME / 30), relative=0.1),
        "does not hold",
        r"does not hold: from t = \d\S* on, at the end 100 % too low.*",
    ),
    "a risk that rounding has eaten": (
        account(SHORT**20 + 1e-13),
        sgd(SHORT**20),
        "holds",
        "holds",
    ),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_verdict(case):
    one, reference, word, told = VERDICTS[case]
    found = judge(one, reference)
    assert grade(found, TIME[-1]) == word, sentence(found, TIME[-1])
    assert re.fullmatch(told, sentence(found, TIME[-1])), sentence(found, TIME[-1])


def test_there_are_twelve():
    assert len(VERDICTS) == 12


def test_the_end_in_sigmas_and_per_cent():
    reference = sgd()
    found = judge(account(fall() * 1.1), reference)
    assert found.final_percent == pytest.approx(10.0)
    assert found.final_sigmas == pytest.approx(0.1 / (0.04 / np.sqrt(REPLICAS)))
    assert found.allowed_percent == 5.0
    zero = judge(account(0 * TIME + 1e-3), sgd(0 * TIME, replicas=1))
    assert zero.final_percent == pytest.approx(1e12)
    assert np.isnan(zero.final_sigmas), "a single run has no error bar"


def test_by_chance_alone_hardly_anything_fails():
    """Sixteen runs against sixteen of the same law, fifty times: at 80 times each, one failure in fifty is by chance."""
    failures = 0
    for seed in range(50):
        draw = np.random.default_rng(seed).standard_normal((2, len(TIME), REPLICAS)).cumsum(axis=1)
        one, other = (account(fall()) for _ in range(2))
        one, other = (
            data.drop_vars("risk").assign(risk=(("time", "replica"), fall()[:, None] * np.exp(0.05 * noise)))
            for data, noise in zip((one, other), draw, strict=True)
        )
        failures += judge(one, other).fails is not None
    assert failures <= 4


def test_a_mean_that_one_run_carries_away_at_the_end_is_not_resolved():
    """Rows that diverge: all agree for most of the time, then one of 16 runs is a thousand times higher."""
    runs = sgd()
    carried = runs["risk"].values.copy()
    carried[-4:, 0] *= 1000
    away = account(fall(), 0.04, REPLICAS, seed=2).assign(risk=(("time", "replica"), carried))
    found = judge(away, runs)
    assert found.fails is None
    assert re.fullmatch(
        r"not resolved: 6\d times too high at t = \d+, but chance alone can make a factor of 2.*",
        sentence(found, 500.0),
    )
    assert grade(judge(account(fall() * 1.01), runs), 500.0) == "holds"


def test_starts_are_compared_pair_by_pair():
    """Starts differ by a factor that both accounts share: unpaired, nothing is resolved; paired, 10 % is seen."""
    starts = np.repeat(np.arange(4), 4)
    factors = np.exp(np.random.default_rng(0).standard_normal(4))
    reference = sgd().assign_coords(start=("replica", starts))
    reference["risk"] = reference["risk"] * factors[starts]
    theory = account(fall(), replicas=4, seed=3).assign_coords(start=("replica", np.arange(4)))
    theory["risk"] = theory["risk"] * factors * 1.5
    found = judge(theory, reference)
    assert found.fails is None, "four starts leave much open"
    assert re.fullmatch(r"not resolved: .*; about \d+ starts would resolve it", sentence(found, 500.0))
    assert found.final_percent == pytest.approx(50.0, rel=0.05)
    few = theory.drop_vars("start"), reference.drop_vars("start").isel(replica=slice(0, None, 4))
    assert found.chance_percent < 0.8 * judge(*few).chance_percent


def test_a_theory_that_fails_is_not_closest_while_another_is_open():
    """Few estimates of the right theory leave it open, while another one is clearly wrong from t = 150 on."""
    accounts = {
        "sgd": sgd().assign_attrs(real=1),
        "right": account(fall(), 0.3, 3, seed=4).assign_attrs(real=0),
        "wrong": account(fall() * ramp(150, -0.78)).assign_attrs(real=0),
    }
    found = Comparison(df.Problem(), xr.DataTree.from_dict(accounts), ())
    assert [found.grades()[name] for name in ("right", "wrong")] == ["not resolved", "holds until"]
    assert found.verdict().endswith("No theory can be called closest, because right is not resolved.")


def test_a_loss_with_negative_values_is_not_impossible():
    mean = 0.1 - np.tanh(TIME / 60)
    assert judge(account(mean), sgd(mean)).impossible is None
    assert judge(account(mean), sgd(np.abs(mean))).impossible is not None
