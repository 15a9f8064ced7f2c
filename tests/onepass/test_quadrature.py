"""Few nodes for many eigenvalues: exact for polynomials, positive, and with an error that is told."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass import structured_start
from dimfree.onepass.inputs.quadrature import ACCURATE, MOST_LEVELS, gauss_rule, reduced, reduction_cost, signal_rule
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.model import model
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import Start, draw_start, shared_start
from dimfree.onepass.structured_start import measured_blocks
from stages import gating

RNG = np.random.default_rng(0)
S = np.arange(1.0, 301) ** -1.0
S *= 300 / S.sum()
V = RNG.normal(size=(3, 300)) / np.sqrt(300)


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_rules_are_exact_for_polynomials(steps):
    nodes, vectors = signal_rule(S, V, steps)
    assert len(nodes) == 3 * steps
    x, w = gauss_rule(S, np.full(300, 1 / 300), steps)
    for degree in range(2 * steps):
        wanted = (V * (S / S.max()) ** degree) @ V.T
        np.testing.assert_allclose((vectors * (nodes / S.max()) ** degree) @ vectors.T, wanted, rtol=1e-10, atol=1e-13)
        assert w @ (x / S.max()) ** degree == pytest.approx(np.mean((S / S.max()) ** degree), rel=1e-11)


def test_common_scalar_nodes_are_not_exact_for_the_signal():
    """Why signal and noise have nodes of their own: weights of the density times mean overlaps miss the signal."""
    x, w = gauss_rule(S, np.full(300, 1 / 300), 5)
    shared = 300 * np.mean(V[0] * V[1]) * (w @ x)
    assert abs(shared - (V[0] * S) @ V[1]) > 1e-3


def test_few_directions_end_the_steps():
    """Three levels are three nodes for every vector, however many steps are asked for; rank zero is none."""
    levels = np.repeat([2.0, 1.0, 0.0], 100)
    nodes, vectors = signal_rule(levels, V, 10)
    assert len(nodes) == 9
    np.testing.assert_allclose(sorted({round(x, 8) + 0.0 for x in nodes}), [0, 1, 2], atol=1e-8)
    np.testing.assert_allclose(
        (vectors * np.exp(-nodes)) @ vectors.T, (V * np.exp(-levels)) @ V.T, rtol=1e-10, atol=1e-13
    )


def test_the_error_is_told():
    *_, accurate = reduced(S, np.full(300, 1 / 300), V, 2.0)
    assert accurate < ACCURATE
    steep = np.geomspace(1.0, 1e-9, 1000) * 1e5
    *_, rough = reduced(steep, np.full(1000, 1e-3), RNG.normal(size=(3, 1000)) / 31, 1e5)
    assert rough > ACCURATE


@pytest.mark.slow
def test_nodes_give_the_risk_of_all_eigenvalues():
    one = df.Problem(
        dimension=MOST_LEVELS + 100,
        data={"kind": "teacher", "units": 1, "noise": 0.01, "covariance": {"kind": "power", "exponent": 1.0}},
        network={"width": 2},
        training={"learning_rate": 0.5},
        run={"until": 2.0},
    )
    m, start = model(one), draw_start(one, jax.random.key(0), vectors=True)
    assert start.blocks.s.size < 150
    full = Start(measured_blocks(one, start.weights, start.blocks.a), None, start.bias)
    times = jnp.asarray([0.1, 0.5, 1.0, 2.0])
    ode = BlockEquations(rtol=1e-9, atol=1e-11)
    few, all_of_them = (jax.jit(lambda s: ode.run(m, s, times, jax.random.key(0)))(x) for x in (start, full))
    np.testing.assert_allclose(few["risk"], all_of_them["risk"], rtol=1e-6)
    assert float(few["quadrature_error"].max()) < ACCURATE
    assert "quadrature_error" not in VectorSGD().run(m, start, times[:1], jax.random.key(0))  # nothing to compare there


POWER_LAW = {"kind": "teacher", "covariance": {"kind": "power", "exponent": 1.0}}


def test_sgd_does_not_wait_for_nodes_that_only_equations_start_from(monkeypatch):
    one = df.Problem(dimension=MOST_LEVELS + 100, data=POWER_LAW)
    key = jax.random.key(0)
    nodes = shared_start(one, key, frozenset({"vectors", "pairs"}))

    def never(*_):
        raise AssertionError("nodes are found")

    monkeypatch.setattr(structured_start, "reduced", never)
    start = shared_start(one, key, VectorSGD.needs)
    np.testing.assert_array_equal(start.weights, nodes.weights)
    np.testing.assert_array_equal(start.blocks.a, nodes.blocks.a)
    np.testing.assert_allclose(start.norms, nodes.norms, rtol=1e-12)
    np.testing.assert_allclose(start.blocks.fields(2).Q, nodes.blocks.fields(2).Q, atol=1e-12)
    with pytest.raises(AssertionError, match="nodes are found"):
        shared_start(one, key, df.theories.HighDimensional.needs)


@pytest.mark.parametrize(("vectors", "until"), gating([(6, 0.02), (6, 1.0), (3, 30.0)], [(6, 0.02), (6, 1.0)]))
def test_what_nodes_take_is_predicted(vectors, until):
    """Bytes are counted, and products of rows with them; seconds are in proportion to the latter."""
    d = 4000
    s = np.arange(1.0, d + 1) ** -1.0
    s *= d / s.sum()
    tracemalloc.start()
    nodes, rho, _, _ = reduced(s, np.full(d, 1 / d), RNG.normal(size=(vectors, d)) / np.sqrt(d), until)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    seconds, memory = reduction_cost(float(s.max()), vectors, d, until)
    assert 0.6 * peak < memory < 1.6 * peak
    assert seconds > 1e-9 * d * (len(nodes) - np.count_nonzero(rho)) ** 2
    assert reduction_cost(float(s.max()), vectors, 10 * d, until)[0] == pytest.approx(10 * seconds)


def test_the_ode_of_a_power_law_predicts_its_nodes():
    few, many = (
        df.Problem(dimension=100_000, data=data, run={"until": 2.0})
        for data in ({**POWER_LAW, "covariance": {"kind": "levels", "values": [3, 1], "shares": [0.1, 0.9]}}, POWER_LAW)
    )
    predicted = [df.theories.HighDimensional().cost(one, model(one)) for one in (few, many)]
    seconds, memory = reduction_cost(float(many.spectrum.largest), 6, 100_000, 2.0)
    assert predicted[1].seconds - predicted[0].seconds > seconds > 5
    assert predicted[1].memory > memory > 4e8
