"""Responses of networks on data sets against the exact solution of linear units, and against kicks of real training."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from network_models import TWO, model, rms
from scipy.special import erf

import dimfree as df
from dimfree.dataset.committee.linear import solve_linear
from dimfree.dataset.committee.paths import memory, solve_paths
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.errors import RefusalError
from dimfree.functions.sample_loss import AbsoluteLoss, HuberLoss

STEPS, KICK = 6, 1e-5
START = CommitteeStart(np.array([[0.4], [-0.2]]), np.array([[1.0, 0.3], [0.3, 0.8]]), np.array([1.0, 0.5]))
RULE = {"alpha": 2.0, "eta": 0.8, "b": 0.5, "beta": 0.3, "lambda_": 0.05, "eta_a": 0.3, "Delta": 0.05}
WHEN = (1, 3)  # steps of the kicks


@pytest.mark.parametrize("spherical", [False, True])
def test_responses_of_linear_units_are_exact_with_few_paths(spherical):
    one = model(P=[[1.0, 0.3], [0.3, 1.2]], beta=0.4, lambda_=0.05, Delta=0.1, spherical=spherical)
    found = solve_paths(one, TWO, 12, jax.random.key(1), 1000, responses=True)
    if spherical:  # a kick moves the weights along with what keeps their norms
        moved = np.diagonal(found.R[np.arange(1, 13), np.arange(12)], axis1=1, axis2=2)
        assert (np.abs(moved - 1) > 1e-3).any()
        return
    exact = solve_linear(one, TWO, 12)
    np.testing.assert_allclose(found.R, exact.R, atol=1e-6)  # derivatives are kept in float32
    np.testing.assert_allclose(found.K, exact.K, atol=1e-6)


@pytest.mark.slow
def test_responses_in_small_batches_scatter_around_the_exact_ones():
    one = model(b=0.5, beta=0.3, eta_a=0.3, train_a=True, rescaled=True)
    keys = jax.random.split(jax.random.key(3), 24)
    found, exact = [solve_paths(one, TWO, 12, key, 4000, responses=True) for key in keys], solve_linear(one, TWO, 12)
    for name in ("R", "K"):
        values = np.stack([getattr(run, name) for run in found])
        error = values.std(axis=0, ddof=1) / len(keys) ** 0.5
        known = error > 1e-7
        z = (values.mean(axis=0) - getattr(exact, name))[known] / error[known]
        assert rms(z) < 2, name
        assert np.abs(z).max() < 5, name


class Training:
    """SGD of two erf units on one data set, written here, with a kick of the update or a shift of the fields at one step."""

    def __init__(self, d, seed):
        rng = np.random.default_rng(seed)
        n = round(RULE["alpha"] * d)
        self.d, self.x = d, rng.standard_normal((n, d))
        self.y = erf(self.x[:, 0] / 2**0.5) + RULE["Delta"] ** 0.5 * rng.standard_normal(n)
        self.inside = rng.random((STEPS + 1, n)) < RULE["b"]
        self.W = np.zeros((2, d))
        self.W[:, 0] = START.M[:, 0] * d**0.5
        self.W[:, 1:3] = np.linalg.cholesky(START.Q - START.M @ START.M.T) * d**0.5

    def run(self, kick=None, shift=None):
        """Weights and forces at all steps; kick and shift are (step, unit, numbers)."""
        W, V, a, v_a = self.W, 0 * self.W, START.a, np.zeros(2)
        weights, forces = [], []
        for t in range(STEPS + 1):
            h = self.x @ W.T / self.d**0.5
            if shift and shift[0] == t:
                h[:, shift[1]] += shift[2]
            sigma, slope = erf(h / 2**0.5), (2 / np.pi) ** 0.5 * np.exp(-(h**2) / 2)
            missed = self.inside[t] * (sigma @ a / 2 - self.y)
            f = missed[:, None] * slope * a / 2
            weights.append(W)
            forces.append(f)
            V = RULE["beta"] * V - RULE["eta"] * (RULE["lambda_"] * W + f.T @ self.x / self.d**0.5)
            if kick and kick[0] == t:
                V[kick[1]] += kick[2]
            W = W + V
            v_a = RULE["beta"] * v_a - RULE["eta"] * RULE["eta_a"] * (missed @ sigma) / 2 / self.d
            a = a + v_a
        return np.stack(weights), np.stack(forces)


def finite_differences(d, seed):
    """R and K at the steps WHEN: arrays (step of the kick, t, i, j)."""
    one, rng = Training(d, seed), np.random.default_rng(seed + 1000)
    W, f = one.run()
    R, K = np.zeros((2, len(WHEN), STEPS + 1, 2, 2))
    for number, s in enumerate(WHEN):
        for j in range(2):
            signs = rng.choice([-1.0, 1.0], d)
            R[number, :, :, j] = ((one.run(kick=(s, j, KICK * signs))[0] - W) @ signs) / d / KICK
            signs = rng.choice([-1.0, 1.0], len(f[0]))
            moved = one.run(shift=(s, j, KICK * signs))[1] - f
            K[number, :, :, j] = np.einsum("tni,n->ti", moved, signs) / len(signs) / KICK
    return R, K


@cache
def of_real_training():
    """From twenty data sets."""
    return [finite_differences(500, seed) for seed in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{}, {"lambda_": 0.3}])
def test_responses_are_those_to_kicks_of_real_training(wrong):
    real, theory = of_real_training(), model(START, units="erf", train_a=True, **(RULE | wrong))
    keys = jax.random.split(jax.random.key(5), 12)
    paths = [solve_paths(theory, START, STEPS, key, 8000, responses=True) for key in keys]
    off = []
    for number, name in enumerate(("R", "K")):
        x = np.stack([np.moveaxis(getattr(run, name)[:, WHEN], 1, 0) for run in paths])
        y = np.stack([one[number] for one in real])
        error = np.hypot(*(values.std(axis=0, ddof=1) / len(values) ** 0.5 for values in (x, y)))
        known = error > 1e-6
        z = (x.mean(axis=0) - y.mean(axis=0))[known] / error[known]
        off.append(rms(z) > 2 or np.abs(z).max() > 4)
    assert any(off) == bool(wrong)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"units": "relu"}, "relu units bend"), ({"units": "erf", "loss": AbsoluteLoss()}, "the slope of the loss jumps")],
)
def test_forces_that_jump_have_no_response(changes, message):
    loss = changes.pop("loss", None)
    one = model(**changes) if loss is None else replace(model(**changes), loss=loss)
    with pytest.raises(RefusalError, match=message):
        solve_paths(one, TWO, 3, jax.random.key(0), 1000, responses=True)


def test_a_loss_that_bends_has_a_response():
    one = replace(model(units="erf"), loss=HuberLoss(jnp.asarray(0.3)))
    found = solve_paths(one, TWO, 3, jax.random.key(0), 1000, responses=True)
    assert np.isfinite(found.K).all()
    assert memory(one, 3, 1000, responses=True) > memory(one, 3, 1000)


def test_dmft_computes_responses_where_they_are_asked_for():
    problem = df.Problem(
        data=df.DataSetTeacher(units=1),
        network=df.TwoLayer(width=2),
        training=df.NetworkMultiPass(learning_rate=1.0, batch_fraction=0.5),
        start=df.OverlapStart(Q=START.Q.tolist(), M=START.M.tolist()),
        run={"until": 4.0, "points": 5, "spacing": "linear"},
    )
    assert "R" not in df.solve(problem)
    seen = df.solve(problem, by=df.theories.DMFT(responses=True))
    assert seen["R"].dims == ("time", "replica", "time_", "unit", "unit_")
    np.testing.assert_allclose(seen["R"].values[1, :, 0], np.eye(2)[None] * np.ones((12, 1, 1)))
    with pytest.raises(df.errors.RefusalError, match="relu units bend"):
        df.solve(problem.replace(**{"network.activation": "relu"}), by=df.theories.DMFT(responses=True))
