"""The exact square-loss solution: direct simulation, limits, conservation, refusals (docs/theory/dmft.md, sections 4 and 7)."""

import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.dataset.dmft.floats import Floats
from dimfree.dataset.dmft.kernels import kernels
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.ends.static import static_limit
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.dataset.outliers import OutlierLaw
from dimfree.errors import RefusalError
from dimfree.functions.loss import loss

STEPS = 80
OUTLIERS = (0.3, -0.5, 4.0)  # fraction, slope, variance
SPOILED = OutlierLaw(*(jnp.asarray(number) for number in OUTLIERS))


def make(task="two-clusters", **numbers):
    defaults = {"alpha": 2.0, "eta": 0.2, "lambda_": 0.1} | ({} if "teacher" in task else {"Delta": 0.5})
    return multi_pass_model(task, loss("square"), **(defaults | numbers))


def simulate(model, steps, N, rng):
    """Equation (1) as written, twice on the same data and start; m, C, training loss and overlap of the two runs."""
    n = {
        name: float(getattr(model, name))
        for name in ("alpha", "Delta", "lambda_", "eta", "b", "temperature", "c0", "m0")
    }
    a, enter, leave = (float(x) for x in (model.gradient_scale, model.enter, model.leave))
    M, v = round(n["alpha"] * N), np.ones(N)
    z = rng.standard_normal((M, N))
    if model.has_teacher:
        X, y = z, z @ v / np.sqrt(N) + np.sqrt(float(model.label_noise)) * rng.standard_normal(M)
        if model.outliers is not None:
            fraction, slope, variance = OUTLIERS
            other = slope * z @ v / np.sqrt(N) + np.sqrt(variance) * rng.standard_normal(M)
            y = np.where(rng.random(M) < fraction, other, y)
    else:
        X, y = v / np.sqrt(N) + np.sqrt(n["Delta"]) * z, np.ones(M)
    w = rng.standard_normal(N)
    w -= w.mean()
    w = n["m0"] + w * np.sqrt(n["c0"] * N / (w @ w))
    norm, w, s = np.linalg.norm(w), np.stack([w, w]), rng.random((2, M)) < n["b"]
    seen = []
    for _ in range(steps + 1):
        error = w @ X.T / np.sqrt(N) - y
        seen.append((w[0].mean(), w[0] @ w[0] / N, 0.5 * np.mean(error[0] ** 2), w[0] @ w[1] / N))
        w = w - n["eta"] * (n["lambda_"] * w + a * (s * error) @ X / np.sqrt(N))
        w = w + np.sqrt(2 * n["temperature"] * n["eta"]) * rng.standard_normal(w.shape)
        if model.spherical:
            w *= norm / np.linalg.norm(w, axis=1, keepdims=True)
        s = np.where(s, rng.random(s.shape) >= leave, rng.random(s.shape) < enter)
    return np.array(seen)


@pytest.mark.parametrize(
    "model",
    [
        make(b=0.3, tau=2.0, c0=0.7, m0=0.3),
        make(b=0.5, rescaled=True, temperature=0.2, alpha=0.7),
        make("linear-teacher", b=0.5, tau=0.5, label_noise=0.3, m0=-0.2),
        make("linear-teacher", b=0.4, spherical=True, m0=0.6, c0=0.64, temperature=0.1),
        make("linear-teacher", b=0.5, tau=0.5, label_noise=0.3, m0=0.2, outliers=SPOILED),
        make(b=0.3, tau=2.0, spherical=True),
        make(b=0.3, tau=2.0, spherical=True, c0=2.0, m0=0.5, temperature=0.1),
    ],
    ids=[
        "persistent",
        "rescaled-hot",
        "noisy-labels",
        "sphere-teacher",
        "outliers",
        "sphere-clusters",
        "sphere-of-the-start",
    ],
)
def test_direct_simulation(model):
    """Largest z-score over times and observables; the sizes keep the 1/N bias below the standard error."""
    rng, steps = np.random.default_rng(1), 20
    runs = np.stack([simulate(model, steps, 250, rng) for _ in range(40)])
    found = solve(model, STEPS)
    expected = np.stack([found.m, jnp.diagonal(found.C), found.train_loss, jnp.diagonal(found.C12)], axis=1)[
        : steps + 1
    ]
    z = (runs.mean(axis=0) - expected) / (runs.std(axis=0, ddof=1) / np.sqrt(len(runs)) + 1e-9)
    assert np.abs(z).max() < 4.5, np.abs(z).max(axis=0)


def test_first_steps_by_hand():
    """Two steps of two clusters from m0 = 0, worked out from (S1)-(S4) and (W1)-(W4)."""
    a, b, eta, lam, alpha, D = 1.0, 0.3, 0.2, 0.1, 2.0, 0.5
    model = make(b=b, tau=2.0)
    found, stays = solve(model, STEPS), b + (1 - b) * (1 - eta / (b * 2.0))
    M00 = a**2 * b * (1 + D)
    m1 = eta * alpha * a * b
    C1 = (1 - eta * lam - eta * alpha * D * a * b) ** 2 + eta**2 * alpha * D * M00 + m1**2
    assert float(found.m[1]) == pytest.approx(m1, rel=1e-14)
    assert float(found.M[0, 0]) == pytest.approx(M00, rel=1e-14)
    assert float(found.C[1, 1]) == pytest.approx(C1, rel=1e-14)
    assert float(found.K[1, 0]) == pytest.approx(-(a**2) * D * eta * stays * b, rel=1e-14)
    assert float(found.R[2, 0]) == pytest.approx(1 - eta * lam - eta * alpha * D * a * b, rel=1e-14)
    letters = kernels(Floats.of(model), found.K, found.M)
    assert float(letters.lambda_hat[2]) == pytest.approx(lam + alpha * D * a * b, rel=1e-14)
    assert float(letters.memory[1, 0]) == pytest.approx(-alpha * D * float(found.K[1, 0]) / eta, rel=1e-14)
    assert float(letters.noise[0, 0]) == pytest.approx(alpha * D * M00, rel=1e-14)
    assert float(letters.memory[1, 1]) == 0.0


def test_persistent_at_eta_over_b_is_vanilla():
    one, other = solve(make(b=0.3), STEPS), solve(make(b=0.3, tau=0.2 / 0.3), STEPS)
    for x, y in zip(one, other, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_persistence_matters():
    one, other = solve(make(b=0.3), STEPS), solve(make(b=0.3, tau=2.0), STEPS)
    assert float(jnp.abs(one.m - other.m).max()) > 0.003


def test_full_batch_knows_no_tau_and_no_replicas():
    one, other = solve(make(tau=3.0), STEPS), solve(make(), STEPS)
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(one.C12, one.C, rtol=1e-12)


def test_rescaled_vanilla_tends_to_one_flow():
    """a = 1/b: the dependence on b is of the order of eta (section 1.2)."""

    def gaps(eta, step):
        small, full = (solve(make(b=b, eta=eta, rescaled=True), STEPS) for b in (0.3, 1.0))
        return float(small.m[step] - full.m[step]), float(small.C[step, step] - full.C[step, step])

    in_m, in_C = zip(gaps(0.2, 20), gaps(0.1, 40), gaps(0.05, 80), strict=True)
    assert np.abs(in_m).max() < 1e-12  # the mean does not see the noise of vanilla batches at all
    assert in_C[0] > 0.01
    assert in_C[2] / in_C[1] == pytest.approx(0.5, abs=0.1)


def test_long_gradient_descent_ends_at_the_static_limit():
    model = make(alpha=3.0, lambda_=1.0, eta=0.25)
    found, end = solve(model, STEPS), static_limit(model)
    for name in ("m", "train_loss", "generalisation_error"):
        np.testing.assert_allclose(getattr(found, name)[-1], getattr(end, name), rtol=1e-11)
    np.testing.assert_allclose(found.C[-1, -1], end.C, rtol=1e-11)
    np.testing.assert_allclose(float(model.eta) * found.R[-1].sum(), end.V, rtol=1e-11)


def test_structure():
    found = solve(make(b=0.3, tau=2.0, m0=0.4), STEPS)
    np.testing.assert_array_equal(np.triu(found.R), 0)
    np.testing.assert_array_equal(np.triu(found.K, 1), 0)
    np.testing.assert_array_equal(np.diagonal(found.R, -1), 1)
    for covariance in (found.C, found.M, found.C - jnp.outer(found.m, found.m)):
        np.testing.assert_array_equal(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance).min() > -1e-12
    assert (np.diagonal(found.C12) <= np.diagonal(found.C) + 1e-12).all()


@pytest.mark.parametrize(("c0", "m0", "norm"), [(0.84, 0.4, 1.0), (2.0, 0.5, 2.25)])
def test_sphere(c0, m0, norm):
    found = solve(make(b=0.3, tau=2.0, spherical=True, c0=c0, m0=m0), STEPS)
    np.testing.assert_allclose(np.diagonal(found.C), norm, rtol=1e-13)
    assert float(found.m[-1]) > 0.6


@pytest.mark.parametrize(("task", "name"), [("two-clusters", "logistic"), ("three-clusters", "square")])
def test_other_losses_are_refused(task, name):
    with pytest.raises(RefusalError, match=f"not the {name} loss with {task}; use the path solver"):
        solve(multi_pass_model(task, loss(name), alpha=2.0, eta=0.1), STEPS)
