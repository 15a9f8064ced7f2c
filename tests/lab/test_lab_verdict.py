"""The page's verdict.js judges as Python does: the same numbers and the same words on hundreds of comparisons."""

import math
from collections import Counter

import numpy as np
import pytest
import xarray as xr
from in_node import answered
from scipy.special import stdtrit

import dimfree as df
from dimfree.comparison import beside, chance, judgement, resolution, stretches, words
from dimfree.comparison.comparison import Comparison
from dimfree.comparison.phrases import BEST_FIRST
from dimfree.comparison.words import grade, sentence
from dimfree.lab.claims import claim_of, verdict_words
from dimfree.plain_data import plain
from dimfree.readings import landmarks
from dimfree.registry import description
from dimfree.setting import model_of, speaking

_JUDGED = """
(script, given) => given.cases.map(([reference, theories]) => {
  const numbers = theories.map((theory) => script.judgement(reference, theory));
  const said = script.judge(given.words, reference, theories);
  const shown = (key, value) => (value === Infinity ? "inf" : value === -Infinity ? "-inf" : value);
  return JSON.parse(JSON.stringify({ numbers, said }, shown));
})
"""


def curve(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """A plateau that ends, a decay, a constant, or a curve that oscillates."""
    match rng.integers(5):
        case 0 | 1:
            escape, floor = time[-1] * rng.uniform(0.02, 0.8), 10.0 ** rng.uniform(-9, -2)
            return floor + (0.05 + 0.1 / (1 + time)) / (1 + (time / escape) ** rng.integers(2, 8))
        case 2:
            return 10.0 ** rng.uniform(-6, 6) * np.exp(-time / time[-1] * rng.uniform(0.1, 30))
        case 3:
            return np.full(len(time), rng.choice([0.25, 1e-15, 0.0, 3.0]))
        case _:
            return 0.1 * (1.3 + np.cos(np.log1p(time) * rng.uniform(0.5, 5)))


def theory_of(rng: np.random.Generator, time: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The truth itself, or with a bias, a shift in time, a wrong stretch, negative values, or no finite end."""
    wrong, late = truth.copy(), rng.integers(len(time))
    match rng.integers(10):
        case 0:
            wrong = truth * (1 + rng.normal() * 10.0 ** rng.uniform(-3, 1.5))
        case 1:
            wrong = np.interp(time, time * rng.uniform(0.6, 1.6), truth)
        case 2:
            wrong[late:] *= 1 + rng.normal() * 10.0 ** rng.uniform(-2, 2)
        case 3:
            wrong[late : late + rng.integers(1, 30)] *= rng.uniform(0.1, 3)
        case 4:
            wrong[late:] = np.nan
        case 5:
            wrong = truth - rng.uniform(0, 1) * truth.max()
        case 6:
            for _ in range(3):
                at = rng.integers(len(time))
                wrong[at : at + rng.integers(1, 8)] *= rng.uniform(0.2, 30)
        case 7:
            wrong = truth * (1 + 0.1 * rng.standard_normal(len(time)))
    return wrong


def runs_of(rng: np.random.Generator, truth: np.ndarray, replicas: int) -> np.ndarray:
    """Positive runs that all begin alike, with memory; some of them diverge."""
    scatter, noise = rng.choice([0.0, 0.003, 0.04, 0.2, 0.6, 2.0]), rng.standard_normal((len(truth), replicas))
    noise[0] = 0.0
    for at in range(1, len(truth)):
        noise[at] = 0.9 * noise[at - 1] + 0.43 * noise[at]
    runs = truth[:, None] * np.exp(scatter * noise)
    if rng.random() < 0.12:
        runs[rng.integers(len(truth)) :, rng.integers(replicas)] = np.nan
    if rng.random() < 0.05:
        runs[rng.integers(len(truth)) :] = np.nan
    if rng.random() < 0.06:
        runs -= rng.uniform(0, 0.5) * np.nanmax(truth)
    return runs


def times_of(rng: np.random.Generator) -> np.ndarray:
    points = int(rng.choice([2, 3, 5, 20, 40, 80]))
    until = float(rng.choice([1.0, 500.0, 1e4]))
    grid = np.linspace(0, until, points) if rng.random() < 0.3 else np.geomspace(until * 1e-4, until, points - 1)
    return grid if grid[0] == 0 else np.concatenate([[0.0], grid])


def overlaps_of(rng: np.random.Generator, time: np.ndarray, replicas: int) -> tuple[np.ndarray, np.ndarray]:
    """M of a theory (time, 2, 3), and of runs (time, replica, 2, 3)."""
    true = np.tanh(time / time[-1] * rng.uniform(1, 5))[:, None, None] * rng.standard_normal((2, 3))
    runs = true[:, None] + rng.choice([0.001, 0.1]) * np.sqrt(time / time[-1])[
        :, None, None, None
    ] * rng.standard_normal((len(time), replicas, 2, 3))
    theory = true * rng.choice([1.0, 1.3, 0.9]) if rng.random() < 0.7 else true + rng.normal() * 0.1
    theory[0] = true[0] if rng.random() < 0.8 else theory[0] + 0.1
    return theory, runs


def drawn(seed: int) -> Comparison:
    """A comparison of SGD with one to three theories."""
    rng = np.random.default_rng(seed)
    time, replicas = times_of(rng), int(rng.choice([1, 2, 3, 4, 8, 10, 16, 33, 64, 150]))
    truth = curve(rng, time)
    accounts = {"chain": {"risk": (("time", "replica"), runs_of(rng, truth, replicas))}}
    attrs = {"chain": {"scatters": 1, "accuracy": 0.0, "leaves_open": "", "real": 1}}
    for number in range(rng.integers(1, 4)):
        name = f"theory-{number}"
        accounts[name] = {"risk": (("time", "replica"), theory_of(rng, time, truth)[:, None])}
        attrs[name] = {
            "scatters": 0,
            "accuracy": float(rng.choice([0.0, 0.01, 0.25])),
            "leaves_open": str(rng.choice(["", "at width 4"])),
            "real": 0,
        }
        if rng.random() < 0.4 and replicas <= 16:
            theory, runs = overlaps_of(rng, time, replicas)
            accounts["chain"]["M"] = (("time", "replica", "unit", "teacher"), runs)
            accounts[name]["M"] = (("time", "replica", "unit", "teacher"), theory[:, None])
        if rng.random() < 0.2:
            accounts["chain"]["test_error"] = (("time", "replica"), 0.3 * accounts["chain"]["risk"][1] + 0.1)
            accounts[name]["test_error"] = (("time", "replica"), 0.33 * accounts[name]["risk"][1] + 0.1)
    data = {name: xr.Dataset(one, {"time": time}, attrs[name]) for name, one in accounts.items()}
    return Comparison(df.Problem(), xr.DataTree.from_dict(data), ())


def in_the_page(comparison: Comparison) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The same as plain data of the page: null where a number is not finite."""
    chain = comparison.accounts["chain"]
    time, sizes = chain["time"].values, dict(chain.sizes)
    flat = {
        name: values.values.reshape(len(time), sizes["replica"], -1) for name, values in chain.items() if name != "risk"
    }
    flat = {name: values[..., 0] if chain[name].ndim == 2 else values for name, values in flat.items()}
    reference = {"name": "chain", "times": time, "risk": chain["risk"].values, "observables": flat}
    theories = [
        {
            "name": name,
            "risk": one["risk"].values[:, 0],
            "accuracy": one.attrs["accuracy"],
            "leaves_open": one.attrs["leaves_open"],
            "observables": {
                what: values.values[:, 0] if values.ndim == 2 else values.values.reshape(len(time), -1)
                for what, values in one.items()
                if what != "risk"
            },
        }
        for name, one in comparison.accounts.items()
        if name != "chain"
    ]
    return plain(reference), plain(theories)


def close(seen: object, expected: object, where: str) -> None:
    """The same tree of numbers, words and flags."""
    if isinstance(expected, dict):
        assert isinstance(seen, dict), where
        for name, value in expected.items():
            close(seen[name], value, f"{where}.{name}")
    elif isinstance(expected, float) and math.isinf(expected):
        assert seen == ("inf" if expected > 0 else "-inf"), where
    elif isinstance(expected, float) and not math.isnan(expected):
        assert seen == pytest.approx(expected, rel=1e-9, abs=1e-11), where
    else:
        assert seen == (None if isinstance(expected, float) else expected), where


def as_numbers(found: judgement.Judgement) -> dict[str, object]:
    """What the page knows of a judgement."""
    numbers = {
        name: value._asdict() if hasattr(value, "_asdict") else value
        for name, value in found._asdict().items()
        if name not in ("final_error", "spread")
    }
    for name, without in [("unresolved", "of_starts"), ("within", "what"), ("impossible", "what"), ("escape", "what")]:
        if numbers[name]:
            numbers[name].pop(without)
    if not math.isfinite(found.final_risk):  # null in the page
        numbers["final_risk"], numbers["final_sigmas"] = math.nan, math.nan
    return numbers


def check(seeds: range) -> Counter[str]:
    """Compare both judgements of these comparisons, and count the grades."""
    comparisons = [drawn(seed) for seed in seeds]
    seen = answered(
        "verdict.js", _JUDGED, {"words": verdict_words(), "cases": [in_the_page(one) for one in comparisons]}
    )
    grades = Counter[str]()
    for seed, one, found in zip(seeds, comparisons, seen, strict=True):
        judged, until = one.judgements(), float(one.accounts["chain"]["time"].values[-1])
        del judged["chain"]
        assert [row["name"] for row in found["said"]["rows"]] == [*judged]
        for (name, right), row, numbers in zip(judged.items(), found["said"]["rows"], found["numbers"], strict=True):
            where = f"{name} of seed {seed}: {sentence(right, until)!r} and {row['sentence']!r}"
            close(numbers, as_numbers(right), where)
            assert row["sentence"] == sentence(right, until), where
            assert row["verdict"] == grade(right, until), where
            grades[row["verdict"]] += 1
        if seed % 10 == 0:
            assert found["said"]["text"] == one.verdict()
    return grades


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, for risks that are not finite
def test_verdicts_of_the_page_are_those_of_python():
    grades = check(range(30))
    assert {*grades} == {*BEST_FIRST}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_many_verdicts_of_the_page_are_those_of_python():
    grades = check(range(30, 230))
    assert min(grades[one] for one in BEST_FIRST) >= 10, grades


@pytest.mark.slow
def test_a_real_comparison_is_judged_alike():
    """With all observables, and what the descriptions claim for themselves."""
    names = ["chain", "ode"]
    one = df.compare(df.Problem(dimension=100), until=20.0, replicas=6, only=names, budget=None)
    (seen,) = answered("verdict.js", _JUDGED, {"words": verdict_words(), "cases": [in_the_page(one)]})
    assert {row["name"]: row["sentence"] for row in seen["said"]["rows"]} == one.verdicts()
    assert seen["said"]["text"] == one.verdict()


def test_without_theories_only_sgd_was_run():
    reference = {"name": "chain", "times": [0.0, 1.0], "risk": [[1.0, 1.0], [0.5, 0.6]]}
    seen = answered(
        "verdict.js", "(script, [words, one]) => script.judge(words, one, [])", [verdict_words(), reference]
    )
    assert seen == {"part": "verdict", "rows": [], "text": "Only real SGD was run."}


def test_claims_of_theories_follow_the_numbers_of_the_page():
    problem = df.Problem()
    live = {"dimension": 300, "training.learning_rate": 1.0, "data.noise": 1e-3, "run.seed": 0}
    moved = {"dimension": 12_345, "training.learning_rate": 0.07, "data.noise": 0.2}
    there = problem.replace(**moved)
    names = ["ode", "gradient-flow", "dimensionless", "chain"]
    laws = [claim_of(description(name), problem, live) for name in names]
    seen = answered(
        "verdict.js", "(script, [laws, numbers]) => laws.map((law) => script.claimOf(law, numbers))", [laws, moved]
    )
    for name, found in zip(names, seen, strict=True):
        one, model = speaking(description(name)), model_of(there)
        assert found["accuracy"] == pytest.approx(one.accuracy(there, model), rel=1e-9)
        assert found["leaves_open"] == one.leaves_open(there, model)


def test_a_claim_without_a_law_is_refused_in_a_sentence():
    told = claim_of(description("diffusion"), df.Problem(), {"training.learning_rate": 1.0, "dimension": 300})
    assert (
        told == "the accuracy that diffusion claims follows no law that a page knows; use the server for its verdict."
    )


def test_students_t_is_that_of_scipy():
    freedom = np.array([0.5, 1.0, 2.0, 3.3, 7.0, 15.0, 63.0, 999.0, 31415.9, 1e6])
    looks = [1, 2, 10, 80, 1000]
    seen = answered(
        "verdict.js",
        "(script, [f, looks]) => looks.map((n) => f.map((x) => script.student(x, n)))",
        [list(freedom), looks],
    )
    for row, count in zip(seen, looks, strict=True):
        np.testing.assert_allclose(row, stdtrit(freedom, 1 - chance.LEVEL / (2 * count)), rtol=1e-10)


def test_limits_of_the_page_are_those_of_python():
    seen = answered("verdict.js", "(script) => script.LIMITS", None)
    expected = {
        "ALLOWED": judgement.ALLOWED,
        "ROUNDING": judgement.ROUNDING,
        "STILL": judgement._STILL,
        "LEVEL": chance.LEVEL,
        "MOST": chance.MOST,
        "NEAR": chance._NEAR,
        "RESOLVED": beside.RESOLVED,
        "AS_BAD": stretches._AS_BAD,
        "MARGIN": resolution.MARGIN,
        "EQUAL": resolution.EQUAL,
        "FEW": resolution._FEW,
        "EARLY": words._EARLY,
        "FLAT": landmarks._FLAT,
        "LEFT": landmarks._LEFT,
        "FIRST_SHARE": landmarks._FIRST_SHARE,
    }
    assert seen == expected


def test_numbers_are_written_as_python_writes_them():
    given = [
        31.25,
        0.125,
        1.125,
        999.5,
        1e5,
        1e-5,
        0.00012345,
        123456.0,
        2.5,
        1050.0,
        9.996,
        0.0,
        -0.3775,
        6e-310,
        1e300,
    ]
    seen = answered("verdict.js", "(script, x) => [2, 3].map((n) => x.map((one) => script.general(one, n)))", given)
    assert seen == [[f"{x:.2g}" for x in given], [f"{x:.3g}" for x in given]]
