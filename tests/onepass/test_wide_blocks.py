"""The dimensionless limit on structured inputs: one eigenvalue is the isotropic case, gradient flow is what it closes."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.limits.wide import Dimensionless
from dimfree.onepass.limits.wide_blocks import WideBlocks
from dimfree.onepass.model import model
from dimfree.onepass.start import draw_start
from dimfree.setting import why_not
from dimfree.states.block_particles import BlockParticles, block_particles
from dimfree.states.particles import particles

WIDTH, KEY = 5, jax.random.key(0)
LEVEL = {"kind": "levels", "values": [1.0], "multiplicities": [100], "normalise": False}
EVERYTHING = {
    "network.second_layer": "trained",
    "training.weight_decay": 0.3,
    "training.second_layer_decay": 0.2,
    "training.second_layer_rate": 0.7,
    "training.schedule": {"kind": "exponential", "scale": 2.0},
}


def structured(values, multiplicities, **changes):
    levels = {"kind": "levels", "values": values, "multiplicities": multiplicities, "normalise": False}
    base = df.Problem(dimension=sum(multiplicities), data={"kind": "teacher", "covariance": levels})
    return base.replace(**{"network.width": WIDTH, **changes})


@eqx.filter_jit
def velocity(one, m, state):
    return one.velocity(m, jnp.asarray(1.3), state)


def not_meeting(blocks, units):
    """The same with units that have nothing in common outside the span of the teachers, where the closure is exact."""
    found = block_particles(blocks, units)
    Q = found.N @ jnp.swapaxes(found.N, 1, 2) + jax.vmap(jnp.diag)(found.q)
    Omega = blocks.Omega.at[:, : found.a.size, : found.a.size].set(Q)
    return found, eqx.tree_at(lambda x: x.Omega, blocks, Omega)


def moved(state, velocity):
    """dM^b/dt."""
    return velocity.N @ jnp.swapaxes(state.A, 1, 2)


@pytest.mark.parametrize("spherical", [pytest.param(False, marks=pytest.mark.slow), True])
def test_units_that_do_not_meet_move_as_in_the_block_equations(spherical):
    """Three eigenvalues, one of them with fewer directions than there are teachers."""
    problem = structured([3.0, 1.0, 0.2], [1, 40, 60], **EVERYTHING, **{"training.spherical": spherical})
    m = model(problem)
    state, blocks = not_meeting(draw_start(problem, KEY, vectors=True).blocks, m.units)
    assert float(state.q[0].max()) < 1e-15  # one direction, in which all teachers lie
    assert float(state.q[1:].min()) > 0.05
    found = velocity(WideBlocks(), m, state)
    flow = velocity(BlockEquations(), eqx.tree_at(lambda x: x.gamma, m, jnp.zeros(())), blocks)
    np.testing.assert_allclose(moved(state, found), flow.Omega[:, :WIDTH, WIDTH:], atol=1e-13)
    np.testing.assert_allclose(found.a, flow.a, atol=1e-13)
    norms = 2 * jnp.sum(state.N * found.N, axis=-1) + found.q
    np.testing.assert_allclose(norms, jnp.diagonal(flow.Omega, axis1=1, axis2=2)[:, :WIDTH], atol=1e-13)
    if spherical:
        np.testing.assert_allclose(jnp.sum(norms, axis=0), 0, atol=1e-13)


@pytest.mark.parametrize("self_term", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_one_eigenvalue_of_one_is_the_isotropic_case(self_term):
    link = {"kind": "multi-index", "terms": [[2], [3]], "coefficients": [1.0, 0.5]}
    one = structured([1.0], [100], **EVERYTHING, data=link | {"covariance": LEVEL})
    isotropic = df.Problem(dimension=100, data=link).replace(**EVERYTHING, **{"network.width": WIDTH})
    blocks = draw_start(one, KEY, vectors=True).blocks
    state, same = block_particles(blocks, 1), particles(blocks.fields(1), jnp.eye(1))
    here, there = WideBlocks(self_term=self_term), Dimensionless(self_term=self_term)
    found, wanted = velocity(here, model(one), state), velocity(there, model(isotropic), same)
    np.testing.assert_allclose(moved(state, found)[0], wanted.M, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.q[0], wanted.q, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.a, wanted.a, rtol=1e-12, atol=1e-14)
    seen, told = looked_at(here, model(one), state), looked_at(there, model(isotropic), same)
    assert {*told, "M_block"} == {*seen}
    for name, values in told.items():
        np.testing.assert_allclose(seen[name], values, rtol=1e-11, atol=1e-14, err_msg=name)


@eqx.filter_jit
def looked_at(one, m, state):
    return one.observe(m, jax.tree.map(lambda x: x[None, None], state))


def test_splitting_an_eigenvalue_changes_nothing():
    m = model(structured([2.0, 0.5], [30, 70]))
    one = block_particles(draw_start(structured([2.0, 0.5], [30, 70]), KEY, vectors=True).blocks, 2)
    share = jnp.sqrt(jnp.array([0.4, 0.6, 1.0]))[:, None, None]
    twice = jnp.array([0, 0, 1])
    split = BlockParticles(
        share * one.N[twice], share[..., 0] ** 2 * one.q[twice], one.a, one.s[twice], share * one.A[twice]
    )
    whole, parts = velocity(WideBlocks(), m, one), velocity(WideBlocks(), m, split)
    M, M_split = moved(one, whole), moved(split, parts)
    np.testing.assert_allclose(M_split[0] + M_split[1], M[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(M_split[2], M[1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(parts.q[0] + parts.q[1], whole.q[0], rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("self_term", [True, False])
def test_the_gap_to_gradient_flow_decays_like_one_over_the_width(self_term):
    """docs/theory/structured.md, section 1.7: 5.4e-3, 1.4e-3 and 3.6e-4 at 16, 64 and 256, within the spread of starts."""
    gaps = {}
    for width in (16, 64):
        problem = structured([3.0, 1.0, 0.3], [200, 300, 500], **{"network.width": width})
        problem = problem.replace(**{"data.covariance.normalise": True})
        m, start = model(problem), draw_start(problem, jax.random.key(width), vectors=False)
        times = jnp.linspace(0.0, 10.0, 21)
        still = eqx.tree_at(lambda x: x.gamma, m, jnp.zeros(()))
        flow, limit = (
            solved(one, numbers, start, times)
            for one, numbers in ((BlockEquations(1e-6, 1e-8), still), (WideBlocks(1e-6, 1e-8, self_term), m))
        )
        gaps[width] = float(jnp.abs(flow - limit)[1:].max())  # without self term the start is off by as much again
    np.testing.assert_allclose([gaps[16], gaps[64]], [5.4e-3, 1.4e-3], rtol=0.2)


@eqx.filter_jit
def solved(one, m, start, times):
    return one.run(m, start, times, KEY)["risk"][:, 0]


def test_an_account_has_the_overlaps_of_preactivations():
    problem = structured([3.0, 0.5], [20, 80], **{"run.until": 0.5, "run.points": 4})
    data, blocks = df.solve(problem, "dimensionless"), draw_start(problem, jax.random.key(0), vectors=True).blocks
    assert {"risk", "M", "Q_diagonal", "M_block", "a"} == {*data.data_vars}
    seen = np.einsum("b,tbik->tik", blocks.s, data["M_block"].values[:, 0])
    np.testing.assert_allclose(data["M"].values[:, 0], seen, rtol=1e-12)
    assert (np.diff(data["risk"].values[:, 0]) < 0).all()


def test_refusals_say_what_to_change():
    levels = structured([2.0, 0.5], [30, 70])
    assert why_not(Dimensionless(), levels) is None
    said = {
        "not derived for momentum; set training.momentum = 0": levels.replace(**{"training.momentum": 0.5}),
        "all pairs of 5000 units are used, which do not fit into memory; lower network.width to 3000": levels.replace(
            **{"network.width": 5000}
        ),
        "61 distinct eigenvalues in 61 dimensions .* use gradient-flow": df.Problem(
            data={"kind": "teacher", "covariance": {"file": "digits"}}
        ),
    }
    for sentence, problem in said.items():
        assert re.search(sentence, str(why_not(Dimensionless(), problem)))
