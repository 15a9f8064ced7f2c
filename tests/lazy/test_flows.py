"""Gradient flow of real networks and its linearisation, against plain code that knows no Gram matrix and no spectrum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import dimfree as df
from dimfree.comparison.run import starts_of
from dimfree.lazy.flow import starts
from dimfree.lazy.network import difference, jacobian, output, product, pulled_back
from dimfree.setting import model_of

SMALL = df.Problem(
    data=df.DrawnPoints(samples=5, held_out=3, link="he2"),
    network=df.ScaledTwoLayer(width=8, activation="tanh", output_scale=0.3),
    dimension=3,
    run=df.Run(times=(0.5, 2.0, 8.0), replicas=2, seed=4),
)


def network_of(problem, replica=0):
    """The start that real and linearised flow share."""
    key = starts_of(problem, (df.experiments.NetworkFlow(),))[0]
    return jax.tree.map(lambda x: x[replica], starts(model_of(problem), key, replica + 1))


@pytest.mark.parametrize(
    "trained",
    [pytest.param(("first-layer", "second-layer"), marks=pytest.mark.slow), ("first-layer",), ("second-layer",)],
)
def test_gram_matrices_are_those_of_the_jacobian(trained):
    problem = SMALL.replace(**{"network.trained": trained})
    model, theta, other = model_of(problem), network_of(problem), network_of(problem, 1)

    def matrix(weights):
        full = jax.jacobian(lambda w: output(model.shape, w, model.X))(weights)
        a, W = full.a, full.W.reshape(len(model.y), -1)
        return np.hstack([a * ("second-layer" in trained), W * ("first-layer" in trained)])

    J, J_other = matrix(theta), matrix(other)
    rows, rows_other = (jacobian(model.shape, one, model.X) for one in (theta, other))
    np.testing.assert_allclose(product(rows, rows), J @ J.T, atol=1e-12)
    np.testing.assert_allclose(product(rows, rows_other), J @ J_other.T, atol=1e-12)
    change = difference(rows, rows_other)
    np.testing.assert_allclose(product(change, change), (J - J_other) @ (J - J_other).T, atol=1e-12)
    back = pulled_back(model.shape, theta, model.X, model.y)
    np.testing.assert_allclose(np.hstack([back.a, back.W.ravel()]), J.T @ model.y, atol=1e-12)


def test_the_network_starts_at_zero_and_its_flow_is_that_of_a_plain_solver():
    """scipy on the automatic gradient of the loss, in the time t = s/(gamma² N) of the flow."""
    model, theta = model_of(SMALL), network_of(SMALL)
    gamma, N = 0.3, 8
    flat, unravel = ravel_pytree(theta)
    np.testing.assert_allclose(output(model.shape, theta, model.X), 0.0, atol=1e-14)

    @jax.jit
    def gradient(x):
        return jax.grad(lambda p: jnp.sum((gamma * output(model.shape, unravel(p), model.X) - model.y) ** 2) / 2)(x)

    at = SMALL.times / (gamma**2 * N)
    plain = solve_ivp(lambda t, x: -np.asarray(gradient(x)), (0, at[-1]), flat, t_eval=at, rtol=1e-11, atol=1e-12)
    seen = df.simulate(SMALL)
    for k, weights in enumerate(plain.y.T):
        now = unravel(jnp.asarray(weights))
        e = gamma * output(model.shape, now, model.X) - model.y
        held = gamma * output(model.shape, now, model.X_held) - model.y_held
        J, J_0 = (
            np.hstack([full.a, full.W.reshape(5, -1)])
            for full in (jax.jacobian(lambda w: output(model.shape, w, model.X))(one) for one in (now, theta))
        )
        eigenvalues, size = np.linalg.eigvalsh(J @ J.T), np.linalg.norm
        expected = {
            "risk": np.mean(held**2) / 2,
            "train_loss": np.sum(e**2) / 2,
            "residual": e,
            "residual_norm": size(e),
            "movement": size(weights - flat),
            "relative_movement": size(weights - flat) / size(flat),
            "jacobian_change": size(J - J_0, 2),
            "kernel_change": size(J @ J.T - J_0 @ J_0.T) / size(J_0 @ J_0.T),
            "smallest_eigenvalue": eigenvalues[0],
            "largest_eigenvalue": eigenvalues[-1],
        }
        for name, value in expected.items():
            np.testing.assert_allclose(seen[name].values[k, 0], value, rtol=1e-6, atol=1e-7, err_msg=name)


def test_the_linearised_flow_is_a_matrix_exponential():
    model, theta = model_of(SMALL), network_of(SMALL, 1)
    gamma, N = 0.3, 8

    def matrix(X):
        full = jax.jacobian(lambda w: output(model.shape, w, X))(theta)
        return np.hstack([full.a, full.W.reshape(len(X), -1)])

    J, J_held = matrix(model.X), matrix(model.X_held)
    seen, K, y = df.solve(SMALL), J @ J.T, np.asarray(model.y)
    for k, s in enumerate(SMALL.times):
        t = s / (gamma**2 * N)
        e = -expm(-(gamma**2) * K * t) @ y
        moved = -J.T @ np.linalg.solve(gamma * K, -y - e)
        held = gamma * J_held @ moved
        np.testing.assert_allclose(seen["residual"].values[k, 1], e, atol=1e-10)
        np.testing.assert_allclose(seen["movement"].values[k, 1], np.linalg.norm(moved), atol=1e-10)
        np.testing.assert_allclose(seen["risk"].values[k, 1], np.mean((held - model.y_held) ** 2) / 2, atol=1e-10)


def test_wide_networks_of_a_large_output_scale_are_those_of_infinite_width():
    problem = SMALL.replace(**{"network.width": 20_000, "network.output_scale": 1.0, "network.activation": "erf"})
    limit, wide = df.solve(problem, "infinite-width"), df.solve(problem)
    narrow = df.solve(problem.replace(**{"network.width": 200}))
    off = [float(np.abs(one["residual"] - limit["residual"].values).max()) for one in (narrow, wide)]
    assert off[1] < 0.03
    assert off[0] > 3 * off[1]
    assert float(limit["movement"][-1, 0]) == pytest.approx(float(wide["movement"][-1].mean()), rel=0.03)


SHEET = df.Problem(  # docs/theory/mean-field.md, section h, measured
    data=df.DrawnPoints(samples=8, held_out=50),
    network=df.ScaledTwoLayer(width=60, activation="tanh"),
    dimension=6,
    run=df.Run(until=40.0, replicas=4, points=21),
)


@pytest.mark.slow
def test_movement_falls_like_the_inverse_of_the_scale_and_the_gap_like_its_square():
    scales, movement, gap = np.array([10.0, 30.0, 100.0, 300.0]), [], []
    for scale in scales:
        problem = SHEET.replace(**{"network.output_scale": scale / 60})
        real, linear = df.simulate(problem), df.solve(problem)
        movement.append(float(real["relative_movement"][-1].mean()))
        off = np.linalg.norm(real["residual"] - linear["residual"], axis=-1) / real["residual_norm"][0].values
        gap.append(float(off.max(axis=0).mean()))
    slopes = np.diff(np.log([movement, gap])) / np.diff(np.log(scales))
    assert np.polyfit(np.log(scales), np.log(movement), 1)[0] == pytest.approx(-0.97, abs=0.05)
    assert slopes[0, -1] == pytest.approx(-1.0, abs=0.01)
    assert slopes[1, -1] == pytest.approx(-2.0, abs=0.05)
