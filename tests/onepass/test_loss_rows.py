"""SGD on rows with other losses than the square one: classes of the user's own, and those of a teacher."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, expit

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.onepass.model import model
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.start import draw_start
from dimfree.registry import candidates
from dimfree.setting import why_not

TIMES, RATE, REPLICAS = (0.5, 2.0, 5.0), 0.8, 1500
RNG = np.random.default_rng(0)
ROWS = RNG.gamma(1.0, size=(40, 5)) * np.arange(1, 6)
CLASSES = np.where(ROWS @ [1.0, -1.0, 0.5, 1.0, -0.6] + 2 * RNG.standard_normal(40) > 0, 1.0, -1.0)


OWN = {"units": 1, "activation": "linear", "covariance": df.Covariance.features(ROWS, labels=CLASSES)}
TAUGHT = {"units": 1, "activation": "erf", "labels": "sign", "flip": 0.1, "covariance": df.Covariance.features(ROWS)}


def problem(data, **training):
    return df.Problem(
        data={"kind": "teacher", **data},
        network={"width": 1, "activation": data["activation"]},
        training={"learning_rate": RATE, "loss": "logistic", **training},
        start={"kind": "gaussian", "scale": 1.0},
        run={"times": TIMES, "until": TIMES[-1]},
    )


def textbook(rows, weights, chance, sigma, slope):
    """Logistic losses and errors on all rows of one unit, with nothing of dimfree; `chance` is that of +1 on every row."""
    w, d, found, steps = np.repeat(weights[:1], REPLICAS, axis=0), rows.shape[1], [], 0
    for time in TIMES:
        while steps < round(time * d / RATE):
            chosen = RNG.integers(0, len(rows), REPLICAS)
            field = np.sum(w * rows[chosen], axis=1)
            y = np.where(RNG.random(REPLICAS) < chance[chosen], 1.0, -1.0)
            w = w + RATE * (slope(field) * y * expit(-y * sigma(field)))[:, None] * rows[chosen]
            steps += 1
        f = sigma(w @ rows.T)
        risk = np.mean(chance * np.log1p(np.exp(-f)) + (1 - chance) * np.log1p(np.exp(f)), axis=1)
        found.append([risk, np.mean(np.where(f > 0, 1 - chance, chance), axis=1)])
    return dict(zip(("risk", "test_error"), np.swapaxes(found, 0, 1), strict=True))


@pytest.mark.parametrize("data", [OWN, pytest.param(TAUGHT, marks=pytest.mark.slow)], ids=["own", "taught"])
def test_rows_have_the_law_of_a_textbook(data):
    one = problem(data)
    m, start = model(one), draw_start(one, jax.random.key(0), vectors=True)
    run = jax.jit(lambda s, t: RowsSGD().run(m, s, t, jax.random.key(1), REPLICAS))
    seen = {name: np.asarray(values) for name, values in run(start, jnp.asarray(TIMES)).items()}
    rows, weights = np.asarray(m.pool.rows), np.asarray(start.weights)
    if data is OWN:
        np.testing.assert_array_equal(m.pool.labels, CLASSES)
        theirs = textbook(rows, weights, 1.0 * (CLASSES > 0), lambda x: x, np.ones_like)
        assert not {"clean_error", "bayes_error"} & seen.keys()  # nobody knows them
    else:
        chance = np.where(rows @ weights[1] > 0, 0.9, 0.1)
        slope = lambda x: (2 / np.pi) ** 0.5 * np.exp(-(x**2) / 2)  # noqa: E731
        theirs = textbook(rows, weights, chance, lambda x: erf(x / 2**0.5), slope)
        np.testing.assert_allclose(seen["bayes_error"], 0.1, atol=1e-12)
        np.testing.assert_allclose(seen["test_error"], 0.1 + 0.8 * seen["clean_error"], atol=1e-12)
    for name, expected in theirs.items():
        ours = seen[name]
        error = np.sqrt((ours.var(axis=1) + expected.var(axis=1)) / REPLICAS)
        assert (np.abs(ours.mean(axis=1) - expected.mean(axis=1)) < 4.5 * error).all(), name
        np.testing.assert_allclose(ours.std(axis=1), expected.std(axis=1), rtol=0.15)


def test_classes_of_rows_are_learned_on_rows_alone():
    one = problem(OWN)
    reasons = {each.name: why_not(each, one) for each in candidates(one)}
    assert reasons["rows"] is None
    for name in ("sgd", "chain", "ode"):
        assert reasons[name] == "labels of ±1 that were given with rows have no Gaussian theory; use rows."


def test_labels_of_rows_that_are_no_classes_are_named():
    labels = df.Covariance.features(ROWS, labels=(CLASSES + 1) / 2)
    with pytest.raises(
        ProblemError, match=r"loss .logistic. needs labels of ±1, and data\.covariance\.labels has other"
    ):
        model(problem({**OWN, "covariance": labels}))
    assert model(problem({**OWN, "covariance": labels}, loss="huber")).pool.labels.std() == pytest.approx(1.0)
    with pytest.raises(
        ProblemError, match=r"and data\.covariance\.labels are labels themselves; leave out one of them"
    ):
        problem({**OWN, "labels": "sign"})
