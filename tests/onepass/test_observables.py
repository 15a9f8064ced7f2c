"""What a description shows of its overlaps."""

import jax
import jax.numpy as jnp
import numpy as np
from naive_sgd import start_of

from dimfree.gaussian.moments import risk
from dimfree.gaussian.offset_risk import offset_risk
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem
from dimfree.setting import why_not


def test_observables_are_the_overlaps_and_their_risk():
    problem = Problem(dimension=30, data=Teacher(units=1), network=TwoLayer(width=2))
    m = model(problem)
    states = [start_of(problem, seed).overlaps for seed in range(6)]
    overlaps = jax.tree.map(lambda *leaves: jnp.stack(leaves).reshape(3, 2, *leaves[0].shape), *states)
    seen = OverlapChain().observe(m, (overlaps, jnp.zeros((3, 2, 2))))
    assert set(seen) == {"risk", "Q", "M", "a"}
    np.testing.assert_allclose(seen["risk"].ravel(), [risk(m, state) for state in states], rtol=1e-13)
    for letter in ("Q", "M", "a"):
        np.testing.assert_array_equal(seen[letter], getattr(overlaps, letter))
    shifted = model(problem.replace(**{"network.bias_start": 0.3}))
    bias = jnp.linspace(-1.0, 1.0, 12).reshape(3, 2, 2)
    seen = OverlapChain().observe(shifted, (overlaps, bias))
    assert set(seen) == {"risk", "Q", "M", "a", "bias"}
    np.testing.assert_array_equal(seen["bias"], bias)
    shifted_risk = jax.jit(offset_risk)
    expected = [shifted_risk(shifted, state, b) for state, b in zip(states, bias.reshape(6, 2), strict=True)]
    np.testing.assert_allclose(seen["risk"].ravel(), expected, rtol=1e-13)


def test_cost_grows_with_what_it_counts():
    problem = Problem()

    def cost(one, **changes):
        changed = problem.replace(**{key.replace("__", "."): value for key, value in changes.items()})
        return one.cost(changed, model(changed))

    for one in (VectorSGD(), OverlapChain()):
        base = cost(one)
        assert base.steps == problem.steps(problem.run.until)
        assert cost(one, run__until=1000.0).steps == 2 * base.steps
        assert cost(one, run__replicas=160).seconds > 2 * base.seconds
        assert cost(one, network__bias_start=0.1).seconds > base.seconds
        assert why_not(one, problem) is None
        assert one.stochastic
    assert cost(OverlapChain(), dimension=5000).memory == cost(OverlapChain()).memory
    assert cost(VectorSGD(), dimension=5000).memory > 5 * cost(VectorSGD()).memory
    assert cost(VectorSGD(), training__inverse_temperature=1.0).seconds > cost(VectorSGD()).seconds


def test_overlap_space_says_what_it_is_not_for():
    noisy = Problem().replace(**{"training.inverse_temperature": 1.0})
    assert "leave out training.inverse_temperature, or use sgd" in str(why_not(OverlapChain(), noisy))
    assert why_not(VectorSGD(), noisy) is None
    gaussians = Problem(data=TwoGaussians())
    assert "training on fresh samples of two Gaussians" in str(why_not(OverlapChain(), gaussians))
    assert why_not(VectorSGD(), gaussians) is None
