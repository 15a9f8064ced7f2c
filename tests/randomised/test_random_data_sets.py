"""Data sets: multi-pass SGD has the law of plain SGD in NumPy, and dmft is where plain SGD of many dimensions is."""

import dataclasses

import numpy as np
import plain_descent
import pytest
from chance import Checks
from plain_descent import TASKS, Descent

import dimfree as df

pytestmark = pytest.mark.slow
REPLICAS = 400
COUNTS = (0, 1, 3, 12)
OWN_SCALE = 0.5  # theories of infinite dimension: how much of the scatter of single runs their mean may be off


def accounts(
    one: Descent, counts: tuple[int, ...], seed: int, replicas: int, *only
) -> dict[str, dict[str, np.ndarray]]:
    """Observables (time, replica) of dimfree's accounts."""
    run = {"until": counts[-1] * one.rate, "points": counts[-1] + 1, "spacing": "linear", "replicas": replicas}
    comparison = df.compare(one.problem(seed=seed, **run), only=only, budget=float("inf"))
    assert len(comparison.names) == len(only), comparison.left_out
    found = {}
    for name in comparison.names:
        seen = comparison.tree[name].to_dataset()
        values = {
            key: np.asarray(seen[key])[list(counts)] for key in seen.data_vars if seen[key].dims == ("time", "replica")
        }
        C = seen["C"].transpose("time", "replica", ...).values
        found[name] = values | {"C": np.stack([C[n, :, n] for n in counts])}
    return found


def compare(checks: Checks, one: Descent, told: Descent, seed: int, rng: np.random.Generator) -> None:
    """Real accounts: the law of every observable."""
    found = accounts(one, COUNTS, seed, REPLICAS, "multi-pass")["multi-pass"]
    for i, expected in enumerate(plain_descent.run(told, REPLICAS, list(COUNTS), rng)):
        assert expected.keys() == found.keys()
        for name, values in expected.items():
            # fractions of samples are equal up to rounding; data are float32 there, so that constants agree to fewer digits
            few_digits = name == "train_accuracy" or np.ptp(values) < 1e-4
            x, y = (np.round(v, 5) if few_digits else v for v in (found[name][i], values))
            checks.same_law(f"{one.task}, {one.loss}, {COUNTS[i]} steps, {name}", x, y)


@pytest.mark.parametrize("task", TASKS)
def test_multi_pass_has_the_law_of_plain_sgd(task, rng, checks, cases):
    first = plain_descent.drawn(task, int(rng.integers(10, 30)), rng)
    shared = {
        name: getattr(first, name) for name in ("loss", "spherical", "mean_gradient", "samples", "outliers")
    }  # one compilation
    for _ in range(max(1, cases // 3)):
        one = plain_descent.drawn(task, first.dimension, rng, **shared)
        compare(checks, one, one, int(rng.integers(2**31)), rng)
    checks.settle()


@pytest.mark.parametrize("wrong", [{"decay": 1.0}, {"rate": 0.12}, {"fraction": 0.4}, {"start_variance": 1.3}])
def test_another_law_would_be_noticed(wrong, rng):
    one = Descent("two-clusters", 20, 2.0, "logistic", 0.2, variance=0.5, fraction=0.6, overlap=0.3)
    checks = Checks(0)
    compare(checks, one, dataclasses.replace(one, **wrong), 5, rng)
    with pytest.raises(AssertionError, match="checks fail"):
        checks.settle()


THEORIES = {
    "two clusters": ("two-clusters", {"loss": "square", "spherical": False}),
    "linear teacher": ("linear-teacher", {"loss": "square", "spherical": False}),
    "linear teacher on the sphere": ("linear-teacher", {"loss": "square", "spherical": True}),
    "outliers, huber": ("linear-teacher", {"loss": "huber", "spherical": False, "outliers": (0.3, 0.0, 5.0)}),
    "outliers, absolute": ("linear-teacher", {"loss": "absolute", "outliers": (0.2, 0.5, 3.0)}),
    "sign teacher": ("sign-teacher", {"loss": "logistic", "temperature": 0.0}),
    "phase retrieval": ("phase-retrieval", {"overlap": 0.5, "start_variance": 0.75}),
}


@pytest.mark.parametrize("kind", THEORIES)
def test_dmft_is_where_plain_sgd_of_many_dimensions_is(kind, rng, checks):
    """Within error bars of both, and the O(1/N) by which the mean of a finite data set is off: see docs/data-sets.md."""
    task, fixed = THEORIES[kind]
    one, counts = plain_descent.drawn(task, 150, rng, **fixed), (1, 4, 12)
    theory = accounts(one, counts, 0, 2, df.theories.DMFT(ensembles=8))["dmft"]
    for i, expected in enumerate(plain_descent.run(one, 200, list(counts), rng)):
        for name, values in expected.items():
            if name not in theory:
                continue
            known = theory[name][i]
            # eight ensembles know their error poorly: what is that rare at seven degrees of freedom is four times farther out
            own = 4 * known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else 0.0
            spread = values.std(ddof=1)
            error = np.hypot(own, spread / np.sqrt(values.size))
            words = f"{kind}, {counts[i]} steps, {name}"
            checks.averaged(words, known.mean(), values.mean(), error, OWN_SCALE * spread + 1e-6)
    checks.settle()
