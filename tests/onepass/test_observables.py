"""What a description shows of its overlaps."""

import jax
import jax.numpy as jnp
import numpy as np
from naive_sgd import start_of

from dimfree.onepass.model import model
from dimfree.gaussian.moments import risk
from dimfree.onepass.sections import Teacher, TwoLayer
from dimfree.problem import Problem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD


def test_observables_are_the_overlaps_and_their_risk():
    problem = Problem(dimension=30, data=Teacher(units=1), network=TwoLayer(width=2))
    m = model(problem)
    states = [start_of(problem, seed).overlaps for seed in range(6)]
    overlaps = jax.tree.map(lambda *leaves: jnp.stack(leaves).reshape(3, 2, *leaves[0].shape), *states)
    seen = OverlapChain().observe(m, overlaps)
    assert set(seen) == {"risk", "Q", "M", "a"}
    np.testing.assert_allclose(seen["risk"].ravel(), [risk(m, state) for state in states], rtol=1e-13)
    for letter in ("Q", "M", "a"):
        np.testing.assert_array_equal(seen[letter], getattr(overlaps, letter))


def test_cost_grows_with_what_it_counts():
    problem = Problem()
    for walker in (VectorSGD(), OverlapChain()):
        cost = walker.cost(problem)
        assert cost.steps == problem.steps(problem.run.until)
        assert walker.cost(problem.replace(**{"run.until": 1000.0})).steps == 2 * cost.steps
        assert walker.cost(problem.replace(**{"run.replicas": 160})).seconds > 2 * cost.seconds
        assert walker.refuses(problem) is None
        assert walker.stochastic
    larger = problem.replace(dimension=5000)
    assert OverlapChain().cost(larger).memory == OverlapChain().cost(problem).memory
    assert VectorSGD().cost(larger).memory > 5 * VectorSGD().cost(problem).memory
