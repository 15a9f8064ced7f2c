"""Real SGD, on vectors and in overlap space, has the law of textbook SGD on samples of its own."""

from functools import lru_cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from naive_sgd import on_its_own_samples, start_of

from dimfree.onepass import directions
from dimfree.onepass.kinds.gaussians import model as gaussians
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Problem
from stages import gating

REPLICAS = 4096
STEPS = (5, 40)
ALL = ("first-layer", "bias", "second-layer")
GAUSSIANS = Problem(  # large steps, so that a few dozen of them spread the replicas
    dimension=10,
    data=TwoGaussians(contrast=0.6),
    network=TwoLayer(width=3, activation="cos", second_layer_start=(1.5, -1.0, 2.0)),
    training=OnePass(learning_rate=4.0),
)
TEACHER = Problem(
    dimension=10,
    data=Teacher(units=1, noise=0.1, second_layer=1.5),
    network=TwoLayer(width=2, second_layer_start="signs"),
    training=OnePass(learning_rate=4.0),
)
NOISE = {"training.inverse_temperature": 2.0, "training.weight_decay": 0.5}
SGD, BOTH = (VectorSGD(),), (VectorSGD(), OverlapChain())
CASES: dict[str, tuple[OnePassProblem, dict[str, Any], tuple[VectorSGD | OverlapChain, ...]]] = {
    "Gaussians: first layer": (GAUSSIANS, {}, SGD),
    "Gaussians: all parts": (
        GAUSSIANS,
        {
            "data.signal": 4,
            "network.trained": ALL,
            "network.bias_start": 0.3,
            "training.weight_decay": 0.2,
            "training.schedule": {"kind": "power", "scale": 2.0, "exponent": 0.5},
            "training.batch": 3,
        },
        SGD,
    ),
    "Gaussians: noise": (GAUSSIANS, {"data.signal": 4, "network.trained": ALL, **NOISE}, SGD),
    "offsets": (
        TEACHER,
        {"network.trained": ("first-layer", "bias"), "network.bias_start": 0.3, "training.weight_decay": 1.0},
        BOTH,
    ),
    "frozen first layer": (
        TEACHER,
        {"network.trained": ("second-layer",), "network.bias_start": -0.2, "training.second_layer_decay": 0.5},
        BOTH,
    ),
    "noise": (TEACHER, {"network.second_layer": "trained", **NOISE}, SGD),
    "noise on the sphere": (TEACHER, {"network.trained": ALL, "training.spherical": True, **NOISE}, SGD),
}


def problem_of(name: str) -> OnePassProblem:
    return CASES[name][0].replace(**CASES[name][1])


@lru_cache(maxsize=8)
def naive(problem: OnePassProblem, seed: int = 1) -> dict[str, np.ndarray]:
    found = on_its_own_samples(problem, start_of(problem, seed=2), STEPS, jax.random.key(seed), REPLICAS)
    return {name: np.asarray(values) for name, values in found.items()}


def named(seen: dict[str, np.ndarray], i: int) -> dict[str, np.ndarray]:
    """Single numbers and products of them at time number i: laws of one unit, and how units go together."""
    numbers = {
        f"{name}{list(at)}": values[(i, slice(None), *at)]
        for name, values in seen.items()
        for at in np.ndindex(*values.shape[2:])
    }
    first = [x for x in numbers.values() if np.ptp(x) > 1e-9]
    return numbers | {f"product {n}": x * y for n, (x, y) in enumerate(pairwise(first))}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_real_sgd_has_the_law_of_textbook_sgd(name, assert_same_law, monkeypatch):
    for home, risk in (
        (directions, "risk"),
        (directions, "offset_risk"),
        (gaussians, "neuron_risk"),
    ):  # tested elsewhere; half of the compilation
        monkeypatch.setattr(home, risk, lambda *_: jnp.zeros(()))
    problem = problem_of(name)
    m, start, times = model(problem), start_of(problem, seed=2), jnp.asarray(STEPS) * problem.time_step
    expected = naive(problem)
    for seed, one in enumerate(CASES[name][2]):
        run = jax.jit(lambda s, t, one=one: one.advance(m, s, t)[1])
        found = run(one.begin(m, start, REPLICAS, jax.random.key(10 + seed)), times)
        seen = {letter: np.asarray(found[letter]) for letter in found.keys() & expected.keys()}
        assert seen.keys() >= ({"a", "r1", "r2"} if "r1" in expected else {"a", "Q", "M"})
        assert ("bias" in seen) == (m.offsets or "r1" in expected)
        known = {letter: expected[letter] for letter in seen}
        for i in range(len(STEPS)):
            assert_same_law(named(known, i), named(seen, i))
    moving = {"first-layer": "r1" if "r1" in expected else "M", "bias": "bias", "second-layer": "a"}
    for part in problem.network.trained:
        assert expected[moving[part]][-1].std(axis=0).max() > 0.02, f"the test must spread {part} over the replicas"


WRONG = [
    ("Gaussians: noise", {"training.weight_decay": 0.9}),
    ("Gaussians: noise", {"training.inverse_temperature": 2.4}),
    ("Gaussians: first layer", {"data.contrast": 0.7}),
    ("Gaussians: all parts", {"data.signal": 5}),
]


@pytest.mark.parametrize(
    ("name", "change"),
    gating(WRONG, WRONG[:1]),
)
def test_another_law_would_be_noticed(name, change, assert_same_law):
    one = problem_of(name)
    with pytest.raises(AssertionError, match="differ"):
        assert_same_law(named(naive(one), -1), named(naive(one.replace(**change), seed=3), -1))
