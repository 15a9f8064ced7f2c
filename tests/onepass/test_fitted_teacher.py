"""True labels beside a teacher that was fitted to them, rows that are held out, and batches of rows."""

import numpy as np
import pytest
from scipy.special import erf

import dimfree as df
from dimfree.comparison.run import starts_of
from dimfree.experiments import RowsSGD
from dimfree.onepass.linear_mean import critical_rate
from dimfree.onepass.pool import pool_critical_rate

D, N, HELD = 5, 60, 20
TEACHER = np.array([[1.0, 0.5, 0.0, -1.0, 2.0]])


@pytest.fixture(scope="module")
def rows():
    half = np.random.default_rng(3).normal(size=(N // 2, D)) * np.arange(1, D + 1)
    X = np.concatenate([half, -half])
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1)))


def problem(X, labels, *, noise=0.0, second_layer=1.0, held_out=0):
    given = df.Covariance.features(X, labels).model_dump() | {"held_out": held_out}
    learnt = X[: len(X) - held_out]
    overlap = TEACHER @ learnt.T @ learnt @ TEACHER.T / len(learnt)
    directions = df.Covariance.spectrum(TEACHER).file  # an array as a file
    return df.Problem(
        data={
            "kind": "teacher",
            "units": 1,
            "covariance": given,
            "directions": {"file": directions},
            "overlap": tuple(map(tuple, overlap.tolist())),
            "second_layer": second_layer,
            "noise": noise,
        },
        network=df.TwoLayer(width=2, scaling="sum"),
        run=df.Run(until=4.0, points=5, replicas=3),
    )


@pytest.mark.slow
def test_rows_that_learn_labels_of_the_teacher_do_as_without_labels(rows):
    labels = erf(rows @ TEACHER[0] / np.sqrt(2))  # their mean is 0, because every row is there with both signs
    scale = 1 / labels.std()
    own = df.simulate(problem(rows, labels, second_layer=scale), by="rows")
    taught = df.simulate(problem(rows, None, second_layer=scale), by="rows")
    np.testing.assert_allclose(own["risk"], taught["risk"], rtol=1e-6)


def test_the_risk_is_that_on_rows_held_out_and_moments_are_those_of_the_others(rows):
    X = np.concatenate([rows, 3 + np.random.default_rng(4).normal(size=(HELD, D))])
    y = np.random.default_rng(5).normal(size=N + HELD)
    asked = problem(X, y, noise=0.3, held_out=HELD)
    (start,) = starts_of(asked, (RowsSGD(),))
    W = np.asarray(start.weights)[:2]
    learnt, held = X[:N] - X[:N].mean(0), X[N:] - X[:N].mean(0)
    norm = np.sqrt(np.mean(np.sum(learnt**2, axis=1)))
    fields = asked.spectrum.into_eigenbasis(held / norm) @ W.T
    labels = (y[N:] - y[:N].mean()) / y[:N].std()
    expected = (np.mean((labels - erf(fields / np.sqrt(2)).sum(1)) ** 2) - 0.3) / 2
    seen = df.simulate(asked, by="rows")
    np.testing.assert_allclose(seen["risk"][0], expected, rtol=1e-6)
    assert not any("drawn" in warning for warning in seen.attrs.get("warnings", ()))


@pytest.mark.slow
def test_theory_is_that_of_the_given_teacher_and_noise(rows):
    with_labels = problem(rows, np.sign(rows[:, 0]), noise=0.2)
    without = problem(rows, None, noise=0.2)
    np.testing.assert_allclose(df.solve(with_labels)["risk"], df.solve(without)["risk"], rtol=1e-9)


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_batches_of_gaussian_rows_are_stable_as_long_as_gaussians(batch):
    s = np.array([1.8, 0.9, 0.3])
    X = np.random.default_rng(0).normal(size=(40_000, 3)) * np.sqrt(s / 3)
    X = X @ np.linalg.eigh(X.T @ X)[1]
    found = np.mean(X**2, axis=0) * 3
    assert pool_critical_rate(X, batch) == pytest.approx(critical_rate(found, np.ones(3), batch), rel=0.03)


def test_very_large_batches_see_the_largest_eigenvalue_alone():
    X = np.random.default_rng(1).normal(size=(200, 3)) * [1.0, 0.5, 0.2]
    X = X @ np.linalg.eigh(X.T @ X)[1]
    assert pool_critical_rate(X, 10**9) == pytest.approx(2 / np.mean(X**2, axis=0).max(), rel=1e-6)


def test_nothing_is_left_to_learn_from(rows):
    with pytest.raises(df.ProblemError, match="held_out = 59 leaves 1 of them to learn from; hold out fewer"):
        df.Problem(data={"kind": "teacher", "covariance": df.Covariance.features(rows).model_dump() | {"held_out": 59}})
