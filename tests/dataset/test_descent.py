"""Multi-pass SGD on a data set: exact where it must be, and equal to the exact theory within error bars."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.dataset.dmft import square
from dimfree.dataset.multi_pass_model import TASKS, multi_pass_model
from dimfree.dataset.real.descent import (
    dataset,
    dataset_memory,
    dataset_normals,
    replica_overlap,
    response,
    seed_keys,
    simulate_dataset,
)
from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.functions.loss import loss

KEY = jax.random.key(7)
CLUSTERS = {"task": "two-clusters", "alpha": 2.0, "Delta": 0.5, "eta": 0.2, "lambda_": 0.1}
TEACHER = {"task": "linear-teacher", "alpha": 2.0, "eta": 0.1, "lambda_": 0.1, "m0": 0.2}
PERSISTENT = {"b": 0.3, "tau": 2.0}
STEPS = [0, 1, 2, 5, 10, 20]
LARGEST_Z = 4.5


def model(kind="square", **numbers):
    return multi_pass_model(numbers.pop("task"), loss(kind), **numbers)


def z_score(samples, expected):
    """The largest distance of a mean over seeds, in standard errors; 1e-6 is float32."""
    error = samples.std(axis=0, ddof=1) / len(samples) ** 0.5
    return np.max(np.abs(samples.mean(axis=0) - expected) / np.hypot(error, 1e-6))


def at_steps(values):
    values, chosen = np.asarray(values), np.asarray(STEPS)
    return values[chosen] if values.ndim == 1 else values[np.ix_(chosen, chosen)]


@pytest.mark.parametrize(
    "numbers",
    [
        {**CLUSTERS, "b": 0.3},
        {**CLUSTERS, **PERSISTENT, "temperature": 0.1},
        {**TEACHER, **PERSISTENT, "rescaled": True, "label_noise": 0.3},
        pytest.param({**TEACHER, "b": 0.5, "m0": 0.4, "c0": 0.84, "spherical": True}, marks=pytest.mark.slow),
    ],
    ids=["vanilla", "persistent-langevin", "rescaled-noisy-teacher", "sphere"],
)
def test_the_square_loss_follows_its_exact_theory(numbers):
    m = model(**numbers)
    exact, seen = square.solve(m, STEPS[-1]), simulate_dataset(m, 300, STEPS, KEY, 60)
    for name in ("m", "C", "train_loss", "generalisation_error"):
        assert z_score(getattr(seen, name), at_steps(getattr(exact, name))) < LARGEST_Z, name


@pytest.mark.parametrize(
    "wrong", [{"b": 0.27}, {"tau": 1.0}, {"lambda_": 0.15}, {"Delta": 0.54}, {"temperature": 0.01}]
)
def test_another_model_would_be_noticed(wrong):
    m = model(**CLUSTERS, **PERSISTENT)
    exact = square.solve(model(**{**CLUSTERS, **PERSISTENT, **wrong}), STEPS[-1])
    seen = simulate_dataset(m, 300, STEPS, KEY, 60)
    names = ("m", "C", "train_loss")
    assert max(z_score(getattr(seen, name), at_steps(getattr(exact, name))) for name in names) > LARGEST_Z


@pytest.mark.parametrize("start", [{}, {"m0": 0.5, "c0": 2.0, "spherical": True}], ids=["free", "sphere"])
def test_replicas_and_responses_follow_their_exact_theory(start):
    m, since = model(**CLUSTERS, **PERSISTENT, **start), (0, 5)
    exact = square.solve(m, STEPS[-1])
    overlap = replica_overlap(m, 300, STEPS, KEY, 40)
    assert z_score(overlap, at_steps(exact.C12)) < LARGEST_Z
    assert z_score(overlap, at_steps(exact.C)) > LARGEST_Z
    chi = np.array([[0.2 * np.asarray(exact.R)[t, s:t].sum() for t in STEPS] for s in since])
    pushed = response(m, 300, STEPS, KEY, 40, since)
    assert z_score(pushed, chi) < LARGEST_Z
    assert z_score(pushed, 1.03 * chi) > LARGEST_Z


def test_the_start_is_exact_and_seeds_are_addressed():
    m = model(**{**CLUSTERS, "m0": 0.3, "c0": 0.7}, **PERSISTENT)
    few, more, other = (
        simulate_dataset(m, 300, STEPS, key, seeds) for key, seeds in ((KEY, 2), (KEY, 3), (jax.random.key(8), 2))
    )
    np.testing.assert_allclose(more.m[:, 0], 0.3, rtol=1e-14)
    np.testing.assert_allclose(more.C[:, 0, 0], 0.7 + 0.3**2, rtol=1e-14)
    for name in few._fields:
        np.testing.assert_array_equal(getattr(few, name), getattr(more, name)[:2], err_msg=name)
    assert np.abs(few.m[0, 1] - few.m[1, 1]) > 1e-4
    assert np.abs(few.m[0, 1] - other.m[0, 1]) > 1e-4
    elsewhere = simulate_dataset(m, 300, [3, 4, 6, 7, 12, 20], KEY, 2)  # looking does not change the run
    np.testing.assert_array_equal(elsewhere.m[:, -1], few.m[:, -1])


@pytest.mark.parametrize(
    "task",
    ["phase-retrieval", *(pytest.param(t, marks=pytest.mark.slow) for t in TASKS if t != "phase-retrieval")],
)
def test_every_task_equals_gradient_descent_written_out_in_float64(task):
    N, eta = 300, 0.02
    m = model("square", task=task, alpha=2.0, eta=eta, m0=0.3, lambda_=0.2)
    data = dataset(m, N, dataset_normals(seed_keys(KEY, 0)[0], 2 * N, N))
    x, w = np.asarray(data.x, dtype=float), np.asarray(data.w)
    for _ in range(STEPS[-1]):
        h = jnp.asarray(x @ w / np.sqrt(N))
        w = w - eta * (0.2 * w + np.asarray(m.force(data.y, h)) @ x / np.sqrt(N))
    seen, h = simulate_dataset(m, N, STEPS, KEY, 1), jnp.asarray(x @ w / np.sqrt(N))
    np.testing.assert_allclose(seen.m[0, -1], w.mean(), atol=2e-6)
    np.testing.assert_allclose(seen.C[0, -1, -1], w @ w / N, atol=2e-6)
    np.testing.assert_allclose(seen.train_loss[0, -1], m.value(data.y, h).mean(), atol=2e-6)
    np.testing.assert_allclose(seen.train_accuracy[0, -1], m.accuracy(data.y, h).mean(), atol=2 / N)


@pytest.mark.parametrize("kind", ["logistic", "square"])
def test_the_sphere_is_that_of_the_start(kind):
    """Plain descent in NumPy that keeps |w(0)|, on its own draws, from overlap 0.5 and variance 2: C = 2.25 for ever."""
    N, seeds, rng = 400, 16, np.random.default_rng(3)
    m, seen = model(kind, **{**CLUSTERS, "lambda_": 0.0}, m0=0.5, c0=2.0, spherical=True), []
    for _ in range(seeds):
        y = rng.choice([-1.0, 1.0], 2 * N)
        X = y[:, None] / np.sqrt(N) + np.sqrt(0.5) * rng.standard_normal((2 * N, N))
        g = rng.standard_normal(N)
        g -= g.mean()
        w = start = 0.5 + g * np.sqrt(2.0 * N) / np.linalg.norm(g)
        for _ in range(40):
            h = X @ w / np.sqrt(N)
            w = w - 0.2 * (h - y if kind == "square" else -y / (1 + np.exp(y * h))) @ X / np.sqrt(N)
            w *= np.linalg.norm(start) / np.linalg.norm(w)
        seen.append((w.mean(), w @ start / N))
    seen = np.array(seen)
    ours = simulate_dataset(m, N, [0, 40], KEY, seeds)
    np.testing.assert_allclose(np.einsum("stt->st", ours.C), 2.25, rtol=1e-12)
    ours = np.stack([ours.m[:, -1], ours.C[:, -1, 0]], axis=1)
    error = np.hypot(*(x.std(axis=0, ddof=1) / seeds**0.5 for x in (ours, seen)))
    assert np.max(np.abs(ours.mean(axis=0) - seen.mean(axis=0)) / error) < LARGEST_Z
    if kind == "square":
        exact = square.solve(m, 40)
        assert z_score(seen, [exact.m[-1], exact.C[-1, 0]]) < LARGEST_Z


def test_clusters_and_labels_have_their_law():
    m = model("logistic", task="three-clusters", alpha=1.0, eta=0.1, rho0=0.3, Delta=0.05)
    data = dataset(m, 50, dataset_normals(KEY, 20_000, 50))
    c = np.round(np.asarray(data.x).sum(axis=1) / 50**0.5)  # x.v/sqrt(N) = c + sqrt(Delta) zeta
    np.testing.assert_allclose(np.mean(np.asarray(data.y) < 0), 0.3, atol=0.015)
    np.testing.assert_allclose([np.mean(c == -1), np.mean(c == 1)], 0.35, atol=0.03)
    across = np.asarray(data.x, dtype=float) - np.asarray(data.x, dtype=float).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(np.mean(across**2), 0.05 * (1 - 1 / 50), rtol=0.01)


def test_bad_requests_are_answered_in_one_sentence():
    m = model(**CLUSTERS)
    with pytest.raises(ProblemError, match=r"asked steps are \[3, 2\]"):
        simulate_dataset(m, 50, [3, 2], KEY, 1)
    with pytest.raises(ProblemError, match="leaves no data; raise dimension"):
        simulate_dataset(m, 1, [1], KEY, 1)
    with pytest.raises(ProblemError, match="0 seeds were asked for"):
        simulate_dataset(m, 50, [1], KEY, 0)
    with pytest.raises(ProblemError, match="the field is 0"):
        response(m, 50, [1], KEY, 1, [0], field=0.0)
    with pytest.raises(DivergenceError, match="diverges before step 20 with eta = 1e"):
        simulate_dataset(model(**{**CLUSTERS, "eta": 1e30}), 300, [0, 1, 20, 21, 22, 23], KEY, 1)
    assert dataset_memory(m, 1000, 81, 40) < 1e8
    with pytest.raises(RefusalError, match=r"GB of memory where the machine has .* lower dimension"):
        simulate_dataset(m, 10**6, [1], KEY, 1)
