from math import inf

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.gaussian.closure import dimensionless_terms, mean_field_terms
from dimfree.gaussian.overlaps import factor
from dimfree.gaussian.particles import Particles
from dimfree.theory.fixed_step import solve
from dimfree.theory.subspace import SubspaceNeurons, subspace


def committee(name, overlap, d=20):
    network = df.TwoLayer(width=6, activation=name, second_layer="trained")
    return df.model(
        df.Problem(dimension=d, network=network, data=df.Teacher(units=2, activation=name, overlap=overlap))
    )


def some_neurons(n=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    a, s, r = rng.normal(size=n), 0.3 * rng.normal(size=(n, k)), rng.uniform(0.5, 1, n)
    return SubspaceNeurons(jnp.asarray(a), jnp.zeros(n), jnp.asarray(s), jnp.asarray(r))


@pytest.mark.parametrize(
    ("name", "d", "overlap", "rule"),
    [
        ("erf", inf, [[1, 0.3], [0.3, 1.2]], {"count": 40}),
        ("relu", inf, [[1, 0], [0, 1.2]], {"count": 24, "breaks": (0.0,)}),
        pytest.param("erf", 20.0, [[1, 0.3], [0.3, 1.2]], {"count": 32}, marks=pytest.mark.slow),
        pytest.param("relu", 20.0, [[1, 0], [0, 1.2]], {"count": 20, "breaks": (0.0,)}, marks=pytest.mark.slow),
        pytest.param("tanh", inf, [[1, 0.3], [0.3, 1.2]], {"count": 24, "breaks": (0.0,)}, marks=pytest.mark.slow),
    ],
)
def test_a_committee_is_the_closure_of_wide_networks(name, d, overlap, rule):
    """Nodes here, pairs of units there (docs/theory/committee.md, section 5): two roads to the same velocities."""
    model, neurons = committee(name, overlap), some_neurons()
    A = factor(model.target.P, 2)
    field = subspace(model.activation, lambda z: model.target(z @ A.T), 2, d=d, **rule)
    velocity, risk = eqx.filter_jit(field.terms)(neurons)
    state = Particles(neurons.s @ A.T, neurons.r**2, neurons.a)
    pairs = dimensionless_terms(model, state, False) if d == inf else mean_field_terms(model, state, False, 24)
    np.testing.assert_allclose(risk, 2 * pairs.risk, atol=1e-8)
    np.testing.assert_allclose(velocity.a, pairs.Psia, atol=1e-8)
    np.testing.assert_allclose(velocity.s @ A.T, pairs.PsiM, atol=1e-8)
    np.testing.assert_allclose(2 * neurons.r * velocity.r, pairs.Psiq, atol=1e-8)


@pytest.mark.parametrize("d", [inf, 12.0])
def test_velocity_is_the_gradient_of_the_risk(d):
    labels = lambda z: z[:, 0] + jnp.tanh(z[:, 0] * z[:, 1])  # noqa: E731
    field = subspace(df.activation("hard-tanh"), labels, 2, d=d, train_b=True, count=16, norms=4)
    neurons = some_neurons(4)
    terms = eqx.filter_jit(field.terms)
    velocity, h = terms(neurons)[0], 1e-5
    for letter, place in (("a", 1), ("b", 2), ("s", (0, 1)), ("r", 3)):
        up, down = (
            terms(SubspaceNeurons(**{**vars(neurons), letter: getattr(neurons, letter).at[place].add(s * h)}))[1]
            for s in (1, -1)
        )
        np.testing.assert_allclose(-(up - down) / h, getattr(velocity, letter)[place], rtol=1e-6, atol=1e-9)


def test_a_single_index_is_learned_and_the_risk_falls():
    field = subspace(df.activation("erf"), lambda z: jax.scipy.special.erf(2 * z[:, 0] / jnp.sqrt(2.0)), 1)
    start = SubspaceNeurons(jnp.linspace(-1, 1, 20), jnp.zeros(20), jnp.zeros((20, 1)), jnp.ones(20))
    run = solve(field, start, jnp.asarray([1.0, 5.0, 20.0]), 0.05)
    assert run.falls.all()
    assert run.risk[-1] < 0.05 * run.risk[0]
    np.testing.assert_array_equal(run.particles.b, 0.0)


def test_frozen_weights_are_not_moved():
    field = subspace(df.activation("erf"), lambda z: z[:, 0], 1, train_w=False)
    velocity, _ = field.terms(some_neurons(5, 1))
    np.testing.assert_array_equal(velocity.s, 0.0)
    np.testing.assert_array_equal(velocity.r, 0.0)
    assert (velocity.a != 0).all()


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match=r"k = 3 in d = 3 .* give 1 <= k < d"):
        subspace(df.activation("erf"), lambda z: z[:, 0], 3, d=3.0)
