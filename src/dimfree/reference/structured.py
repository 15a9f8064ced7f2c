"""Adapters for items of inputs with a covariance (docs/theory/structured.md)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.description import Dynamics
from dimfree.gaussian.moments import gradient_terms, risk
from dimfree.onepass.inputs.covariance import Covariance, Levels
from dimfree.onepass.inputs.quadrature import gauss_rule, signal_rule
from dimfree.onepass.inputs.spectrum import spectrum
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.limits.mean_step import block_growth
from dimfree.onepass.limits.momentum import MomentumEquations, Moving, moving_velocity
from dimfree.onepass.limits.wide import Dimensionless
from dimfree.onepass.linear_mean import (
    LinearRule,
    critical_rate,
    exact_risks,
    momentum_risks,
    ode_risks,
    stationary_risk,
)
from dimfree.onepass.model import model
from dimfree.onepass.pool import norm_variance_ratio, pool_critical_rate
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel
from dimfree.reference.committee import moments, run, trained
from dimfree.states.block_particles import BlockParticles
from dimfree.states.blocks import Blocks

Values = dict[str, Any]
_REPLICAS = 40_000


def rhs(inputs: Values) -> Values:
    """The right-hand side for every eigenvalue, and the risk."""
    m, state = _model(inputs), _state(inputs)
    velocity, value = _velocity(m, state)
    p = m.width
    return {"dQ": velocity.Omega[:, :p, :p], "dM": velocity.Omega[:, :p, p:], "da": velocity.a, "risk": value}


@eqx.filter_jit
def _velocity(m: StructuredModel, state: Blocks) -> tuple[Blocks, jax.Array]:
    return BlockEquations().velocity(m, jnp.zeros(()), state), risk(m, state.fields(m.units))


def trajectory(inputs: Values) -> Values:
    """Risk along the equations, and the final state."""
    m = _model(inputs)
    seen = _solved(m, _state(inputs), inputs["t"])
    last = {"Q_final": seen["Q_block"], "M_final": seen["M_block"], "a_final": seen["a"]}
    return {"risk": seen["risk"][:, 0]} | {name: value[-1, 0] for name, value in last.items()}


def power_trajectory(inputs: Values) -> Values:
    """One eigenvalue per dimension, weights by a formula."""
    d, p, k = inputs["d"], inputs["p"], inputs["k"]
    W = waves(d, p, k)
    s = _power(d, inputs["exponent"])
    Omega = np.einsum("ik,jk->kij", W, W) / d
    given = inputs | {"eigenvalues": s, "weights": np.full(d, 1 / d), "Omega": Omega}
    m, state = _model(given), _state(given)
    seen = _solved(m, state, inputs["t"])
    Q, M = seen["Q"][-1, 0], seen["M"][-1, 0]
    final = jnp.block([[Q, M], [M.T, m.target.P]])
    return {"risk": seen["risk"][:, 0], "Omega_final": final, "risk_start": risk(m, state.fields(k))}


def waves(d: int, p: int, k: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Students and teachers by the formula of the reference file."""
    i, r, n = np.arange(p)[:, None], np.arange(k)[:, None], np.arange(d)
    W = np.cos(0.7 * (i + 1) * (n + 1) + i)
    return np.sqrt(2) * np.concatenate([W, np.sin(1.1 * (r + 1) * (n + 1) + r / 2)])


def one_step_mean(inputs: Values) -> Values:
    """The exact mean of one step for every eigenvalue, and with momentum that of (W, v, W*)."""
    m, state = _model(inputs), _state(inputs)
    p, k, n = m.width, m.units, state.Omega.shape[-1]
    J = gradient_terms(m, state.fields(k)).J
    dt = m.gamma / (p * m.dimension)
    seen = jnp.concatenate([state.Omega[:, :p], state.Omega[:, -k:]], axis=1)
    push, growth = dt * state.s[:, None, None] * (J @ seen), dt * block_growth(m, state, J)
    B, moved = jnp.eye(n), jnp.eye(n, p)  # what a step does to all vectors, and where a gradient goes
    if m.momentum:
        T = jnp.array([[1.0, m.beta], [0.0, m.beta]])
        B = jax.scipy.linalg.block_diag(jnp.kron(T, jnp.eye(p)), jnp.eye(k))
        moved = jnp.concatenate([jnp.eye(p), jnp.eye(p), jnp.zeros((k, p))])
    linear = moved @ push @ B.T
    after = B @ state.Omega @ B.T + linear + jnp.swapaxes(linear, 1, 2) + moved @ growth @ moved.T
    return {"EdOmega": after - state.Omega}


def momentum_rhs(inputs: Values) -> Values:
    """The right-hand side for (W, U, W*), and the risk."""
    m, state = _model(inputs), _state(inputs)
    found, value = _moving(m, state, jnp.asarray(inputs["theta"]), jnp.asarray(inputs.get("alpha", 0.0)))
    return {"dOmega": found, "risk": value}


@eqx.filter_jit
def _moving(m: StructuredModel, state: Blocks, theta: jax.Array, alpha: jax.Array) -> tuple[jax.Array, jax.Array]:
    moving = Moving(state, jnp.zeros_like(state.a))
    return moving_velocity(m, moving, theta, alpha, True).blocks.Omega, risk(m, state.fields(m.units))


def momentum_trajectory(inputs: Values) -> Values:
    """The risk along the equations with momentum."""
    m = _model(inputs)
    start = Start(_state(inputs), None, jnp.zeros(m.width))
    seen = run(MomentumEquations(rtol=1e-10, atol=1e-12), m, start, jnp.asarray(inputs["t"]))
    return {"risk": seen["risk"][:, 0]}


def chain_moments(inputs: Values) -> Values:
    """Moments of field overlaps after a number of steps: half of the replicas on vectors, half in overlap space."""
    weights = np.concatenate([inputs["W0"], inputs["Wstar"]])
    counts, d = np.array(inputs["multiplicities"]), inputs["d"]
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    Omega = np.moveaxis(np.add.reduceat(weights[:, None] * weights, firsts, axis=2), 2, 0) / d
    given = inputs | {"Omega": Omega, "weights": counts / d, "p": len(inputs["W0"]), "k": len(inputs["Wstar"])}
    m = _model(given)
    start = Start(_state(given), jnp.asarray(weights), jnp.zeros(m.width))
    times = jnp.asarray([inputs["steps"] * float(m.time_step)])
    vectors, chain = VectorSGD().twin(m)[0], OverlapChain().twin(m)[0]
    halves = [run(vectors, m, start, times, _REPLICAS // 2), run(chain, m, start, times, _REPLICAS // 2)]
    upper = np.triu_indices(m.width)
    columns = [
        np.concatenate([np.asarray(half["M"])[0, :, :, 0], np.asarray(half["Q"])[0][:, *upper]], axis=1)
        for half in halves
    ]
    return moments(np.concatenate(columns))


def dimensionless(inputs: Values) -> Values:
    """The risk along the dimensionless limit, and the final particles."""
    M, P, q = (jnp.asarray(inputs[name], dtype=float) for name in ("M0", "P", "q0"))
    along = M @ jnp.linalg.pinv(P, hermitian=True) @ jnp.swapaxes(M, 1, 2)
    Q = along + jax.vmap(jnp.diag)(q)  # outside the span of the teachers units do not meet
    given = inputs | {"Q": Q, "M": M}
    m = _model(given)
    start, limit = (
        Start(_state(given), None, jnp.zeros(m.width)),
        Dimensionless(1e-10, 1e-12, inputs.get("self_term", True)),
    )
    risks, last = _particles(limit.twin(m)[0], m, start, jnp.asarray(inputs["t"]))
    return {"risk": risks, "M_final": last.M, "q_final": last.q, "a_final": last.a}


@eqx.filter_jit
def _particles(
    limit: Dynamics[StructuredModel, Start, Any], m: StructuredModel, start: Start, times: jax.Array
) -> tuple[jax.Array, BlockParticles]:
    last, seen = limit.advance(m, limit.begin(m, start, 1, jax.random.key(0)), times)
    return seen["risk"][:, 0], last.state


def spectrum_gauss(inputs: Values) -> Values:
    """The Gauss rule of a density of eigenvalues."""
    s = _power(inputs["d"], inputs["exponent"])
    nodes, weights = gauss_rule(s, np.full(s.size, 1 / s.size), inputs["n"])
    return {"nodes": nodes, "weights": weights}


def spectrum_block_gauss(inputs: Values) -> Values:
    """Nodes of the signal, and its overlaps there."""
    d = inputs["d"]
    nodes, V = signal_rule(_power(d, inputs["exponent"]), waves(d, inputs["p"], inputs["k"]) / np.sqrt(d), inputs["n"])
    return {"nodes": nodes, "Omega": np.einsum("ij,kj->jik", V, V)}


def _power(d: int, exponent: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return spectrum(Covariance.power(exponent), d).coordinates


def linear_exact_risk(inputs: Values) -> Values:
    """The exact mean risk of a linear network, with momentum if there is any."""
    rule, D, steps = _linear(inputs), np.array(inputs["D0"]), np.array(inputs["steps"])
    if "beta" in inputs:
        return {"risk": momentum_risks(rule, inputs["beta"], D, steps)}
    return {"risk": exact_risks(rule, D, steps)}


def linear_ode_risk(inputs: Values) -> Values:
    """The same in the limit of large dimension."""
    return {"risk": ode_risks(_linear(inputs), np.array(inputs["D0"]), np.array(inputs["t"]))}


def linear_stationary(inputs: Values) -> Values:
    """Where it ends, and up to which rate it does."""
    rules = [_linear(inputs | {"nb": batch}) for batch in inputs["nb"]]
    limits = [critical_rate(rule.s, rule.counts, rule.batch) for rule in rules]
    return {"risk": [stationary_risk(rule) for rule in rules], "gamma_max": limits}


def power_law_linear(inputs: Values) -> Values:
    """A power law of eigenvalues and of the signal, exactly and in the limit."""
    d, steps = inputs["d"], np.array(inputs["steps"])
    s, energy = _power(d, inputs["a"]), np.arange(1.0, d + 1) ** -inputs["b"]
    rule = LinearRule(s, np.ones(d), inputs["gamma"], inputs["Delta"], 1)
    D = energy / energy.sum() / s
    return {"risk_exact": exact_risks(rule, D, steps), "risk_ode": ode_risks(rule, D, steps * inputs["gamma"] / d)}


def _linear(inputs: Values) -> LinearRule:
    counts = np.array(inputs.get("multiplicities") or inputs["weights"], dtype=float)
    return LinearRule(np.array(inputs["eigenvalues"]), counts, inputs["gamma"], inputs["Delta"], inputs.get("nb", 1))


def features_covariance(inputs: Values) -> Values:
    """What is known of rows before anything runs."""
    X = np.array(inputs["X"])
    found = spectrum(Covariance.features(X), X.shape[1])
    assert found.pool is not None
    return {
        "eigenvalues": found.coordinates,
        "effective_rank": found.effective_rank,
        "critical_rate_pool": pool_critical_rate(found.pool.rows),
        "critical_rate_gaussian": critical_rate(found.values, found.multiplicities),
        "norm_variance_ratio": norm_variance_ratio(found),
    }


def _solved(m: StructuredModel, state: Blocks, times: list[float]) -> dict[str, jax.Array]:
    start = Start(state, None, jnp.zeros(m.width))
    return run(BlockEquations(rtol=1e-10, atol=1e-12), m, start, jnp.asarray(times))


def _model(inputs: Values) -> StructuredModel:
    """The model of the item; its blocks are levels of a dimension that has them all."""
    name, state = inputs["activation"], _state(inputs)
    p = state.width
    k = inputs.get("k") or len(inputs["P"][0])
    s = np.asarray(inputs["eigenvalues"], dtype=float)
    shares = np.asarray(inputs.get("weights", np.ones_like(s)))
    counts = inputs.get("multiplicities") or np.rint(1000 * shares).astype(int).clip(1).tolist()
    P = np.einsum("b,bij->ij", s, np.asarray(state.Omega)[:, -k:, -k:]) + np.asarray(inputs.get("residual", 0.0))
    gamma, beta = inputs.get("gamma", 1.0), inputs.get("beta") or 0.0
    if "theta" in inputs:  # beta = 1 - theta Gamma/(p d)
        beta = 1 - inputs["theta"] * inputs["Gamma"] / (p * sum(counts))
        gamma = (1 - beta) * inputs["Gamma"]
    taught = model(
        OnePassProblem(
            dimension=sum(counts),
            data=Teacher(
                units=k,
                activation=name,
                second_layer=inputs.get("astar", 1.0),
                overlap=P.tolist(),
                noise=inputs.get("Delta", 0.0),
                covariance=Levels(values=tuple(s.tolist()), multiplicities=tuple(counts), normalise=False),
            ),
            network=TwoLayer(width=p, activation=name, trained=trained(inputs)),
            training=OnePass(
                learning_rate=gamma,
                momentum=beta,
                batch=inputs.get("nb", 1),
                second_layer_rate=inputs.get("eta_a", 0.0),
                weight_decay=inputs.get("decay", 0.0),
                second_layer_decay=inputs.get("decay_a", 0.0),
                spherical=inputs.get("spherical", False),
            ),
        )
    ).taught
    assert taught is not None
    found = taught.levels
    assert found is not None
    return found


def _state(inputs: Values) -> Blocks:
    if "Omega" in inputs:
        Omega = jnp.asarray(inputs["Omega"])
    else:
        Q, M, P = (jnp.asarray(inputs[name]) for name in ("Q", "M", "P"))
        Omega = jnp.block([[Q, M], [jnp.swapaxes(M, 1, 2), P]])
    p = inputs.get("p") or len(inputs["Q"][0])
    a = jnp.asarray(inputs.get("a", inputs.get("a0", jnp.ones(p))))
    s = jnp.asarray(inputs["eigenvalues"])
    counts = jnp.asarray(inputs.get("multiplicities", [1.0]))
    rho = jnp.asarray(inputs["weights"]) if "weights" in inputs else counts / jnp.sum(counts)
    return Blocks(Omega, a, s, rho, jnp.zeros(()))
