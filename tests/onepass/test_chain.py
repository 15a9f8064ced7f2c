"""SGD in overlap space has the law of SGD on vectors, at every dimension."""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from naive_sgd import start_of

from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem
from dimfree.states.overlaps import Overlaps
from stages import gating

REPLICAS = 4096
STEPS = (0, 5, 140)


class Case(NamedTuple):
    problem: Problem
    twins: bool = False


def case(dimension: int, width: int, units: int, twins: bool = False, **changes: Any) -> Case:
    """Large steps, so that a few dozen of them spread the replicas."""
    data = Teacher(units=units, noise=0.1, second_layer=1.5)
    problem = Problem(dimension=dimension, data=data, network=TwoLayer(width=width, second_layer_start="signs"))
    return Case(problem.replace(**{"training.learning_rate": 4.0, **changes}), twins)


def softsign(x):
    return x / (1 + jnp.abs(x))


SLOWING = {"training.schedule": {"kind": "exponential", "scale": 4.0}}
TRAINED = {"network.second_layer": "trained", "training.second_layer_rate": 3.0}
CASES = {
    "own function at d = 20": case(20, 2, 1, **{"network.activation": softsign, "data.activation": "relu"}),
    "more neurons than dimensions": case(5, 4, 2, **{"training.batch": 3, **TRAINED}),
    "twins": case(12, 3, 1, twins=True, **{"network.second_layer_start": 1.0, "training.batch": 4, **SLOWING}),
    "spherical and trained": case(12, 2, 2, **{"training.spherical": True, "training.weight_decay": 1.0, **TRAINED}),
}


NAMES = gating(CASES, ["twins"])


@lru_cache(maxsize=8)
def run_of(name: str, walker: str) -> Overlaps:
    """One case by one of the descriptions, (time, replica, ...)."""
    problem, twins = CASES[name]
    m, start, times = model(problem), start_of(problem, seed=2, twins=twins), jnp.asarray(STEPS) * problem.time_step
    seed, one = {"sgd": (0, VectorSGD()), "chain": (1, OverlapChain())}[walker]
    state = one.begin(m, start, REPLICAS, jax.random.key(10 + seed))

    def overlaps(state, times):  # alone: the risk of an own function is a quadrature for every replica
        seen = one.advance(m, state, times)[1]
        return Overlaps(seen["Q"], seen["M"], seen["a"])

    return jax.jit(overlaps)(state, times)


def named(overlaps: Overlaps, i: int) -> dict[str, np.ndarray]:
    Q, M, a = np.asarray(overlaps.Q[i]), np.asarray(overlaps.M[i]), np.asarray(overlaps.a[i])
    return {
        "Q_11": Q[:, 0, 0],
        "Q_22": Q[:, 1, 1],
        "Q_12": Q[:, 0, 1],
        "M_11": M[:, 0, 0],
        "M_2k": M[:, 1, -1],
        "M_11 M_21": M[:, 0, 0] * M[:, 1, 0],
        "Q_12 M_11 M_21": Q[:, 0, 1] * M[:, 0, 0] * M[:, 1, 0],
        "a_1": a[:, 0],
        "a_2 M_21": a[:, 1] * M[:, 1, 0],
    }


@pytest.mark.parametrize("name", NAMES)
def test_chain_has_the_law_of_vectors(assert_same_law, name):
    for i in range(len(STEPS)):
        assert_same_law(named(run_of(name, "sgd"), i), named(run_of(name, "chain"), i))
    last = named(run_of(name, "chain"), -1)
    assert last["M_11"].std() > 0.02, "the test must spread the replicas"


@pytest.mark.parametrize("name", NAMES)
def test_every_replica_begins_at_the_start(name):
    start = start_of(CASES[name].problem, seed=2, twins=CASES[name].twins).overlaps
    for walker in ("sgd", "chain"):
        for letter in ("Q", "M", "a"):
            first, given = getattr(run_of(name, walker), letter)[0], getattr(start, letter)
            np.testing.assert_allclose(first, np.broadcast_to(given, first.shape), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_overlaps_of_a_chain_are_those_of_some_weights(name):
    problem = CASES[name].problem
    P = jnp.eye(problem.data.units)
    state = jax.tree.map(lambda x: x[-1, :500], run_of(name, "chain"))
    Omega = np.asarray(state.covariance(P))
    np.testing.assert_allclose(Omega, np.swapaxes(Omega, 1, 2), rtol=0, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(Omega)
    assert eigenvalues.min() > -1e-10
    beyond = max(0, Omega.shape[-1] - problem.dimension)
    assert np.abs(eigenvalues[:, :beyond]).max(initial=0.0) < 1e-10


def test_twins_stay_twins():
    chain, sgd = run_of("twins", "chain"), run_of("twins", "sgd")
    for state, equal in ((chain, np.testing.assert_array_equal), (sgd, np.testing.assert_allclose)):
        equal(state.Q[:, :, 0, :], state.Q[:, :, 1, :])
        equal(state.Q[:, :, 0, 0], state.Q[:, :, 0, 1])
        equal(state.M[:, :, 0], state.M[:, :, 1])
    assert np.abs(chain.Q[-1, :, 0, 0] - chain.Q[-1, :, 0, 2]).min() > 0


@pytest.mark.slow
@pytest.mark.parametrize("walker", ["sgd", "chain"])
def test_the_spherical_rule_keeps_the_norms(walker):
    Q = run_of("spherical and trained", walker).Q
    norms = np.diagonal(Q, axis1=2, axis2=3)
    np.testing.assert_allclose(norms, np.broadcast_to(norms[0], norms.shape), rtol=1e-12, atol=0)


def test_a_second_layer_that_is_fixed_does_not_move():
    a = run_of("twins", "chain").a
    np.testing.assert_array_equal(a, np.ones_like(a))


@pytest.mark.slow
def test_a_second_layer_that_is_trained_moves():
    assert np.ptp(run_of("more neurons than dimensions", "chain").a[-1]) > 0.1
