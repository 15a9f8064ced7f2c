"""SGD on rows: the law of a plain NumPy run, agreement with Gaussian inputs, and the reason where there is none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

import dimfree as df
from dimfree.comparison.compare import compare
from dimfree.onepass.model import model
from dimfree.onepass.pool import says_of_rows
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import draw_start

TIMES = (0.5, 2.0, 5.0)


def problem(covariance, activation="erf", units=2, **changes):
    data = {"kind": "teacher", "units": units, "activation": activation, "noise": 0.01, "covariance": covariance}
    base = df.Problem(data=data, network={"width": units, "activation": activation}, training={"learning_rate": 0.5})
    return base.replace(
        **{"start": {"kind": "gaussian", "scale": 1.0}, "run.times": TIMES, "run.until": TIMES[-1], **changes}
    )


def textbook(rows, weights, rate, noise, times, replicas, rng):
    """Risks on all rows of two erf units that learn two, row by row, with nothing of dimfree."""
    W, W_star, d = np.repeat(weights[None, :2], replicas, axis=0), weights[2:], rows.shape[1]
    labels, found, steps = erf(rows @ W_star.T / 2**0.5).mean(axis=1), [], 0
    for time in times:
        while steps < round(time * 2 * d / rate):
            chosen = rng.integers(0, len(rows), replicas)
            fields = np.einsum("rpd,rd->rp", W, rows[chosen])
            y = labels[chosen] + noise**0.5 * rng.standard_normal(replicas)
            error = y - erf(fields / 2**0.5).mean(axis=1)
            slope = (2 / np.pi) ** 0.5 * np.exp(-(fields**2) / 2)
            W = W + rate / 2 * (error[:, None] * slope)[..., None] * rows[chosen][:, None]
            steps += 1
        f = erf(np.einsum("nd,rpd->nrp", rows, W) / 2**0.5).mean(axis=2)
        found.append(np.mean((labels[:, None] - f) ** 2, axis=0) / 2)
    return np.array(found)


def test_rows_have_the_law_of_a_textbook():
    rng = np.random.default_rng(0)
    one = problem(df.Covariance.features(rng.gamma(1.0, size=(40, 5)) * np.arange(1, 6)))
    m, start, replicas = model(one), draw_start(one, jax.random.key(0), vectors=True), 1500
    run = jax.jit(lambda s, t: RowsSGD().run(m, s, t, jax.random.key(1), replicas)["risk"])
    ours = np.asarray(run(start, jnp.asarray(TIMES)))
    theirs = textbook(np.asarray(m.pool.rows), np.asarray(start.weights), 0.5, 0.01, TIMES, replicas, rng)
    error = np.sqrt((ours.var(axis=1) + theirs.var(axis=1)) / replicas)
    assert (np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) < 4.5 * error).all()
    np.testing.assert_allclose(ours.std(axis=1), theirs.std(axis=1), rtol=0.15)


def reasons(one, measured=1.0, gaussian=1.0):
    seen = {"risk": np.full((2, 3), measured), "risk_if_gaussian": np.full((2, 3), gaussian)}
    return " ".join(says_of_rows(one, model(one), seen))


@pytest.fixture(scope="module")
def tame():
    """Many rows of a Gaussian, in few dimensions."""
    return df.Covariance.features(np.random.default_rng(1).normal(size=(20_000, 4)))


def test_nothing_is_said_of_many_gaussian_rows(tame):
    assert reasons(problem(tame)) == ""
    assert reasons(problem(tame, "linear", 1)) == ""


def test_preactivations_that_are_not_gaussian_are_told(tame):
    said = reasons(problem(tame), measured=0.86)
    assert said == reasons(problem(tame), measured=1.14)
    assert "by more than 5 % at a start (risk_if_gaussian): its preactivations are not Gaussian; believe rows" in said


def test_a_pool_that_is_revisited_is_told():
    one = problem(df.Covariance.features(np.random.default_rng(2).normal(size=(16, 4))))
    assert (
        "each of the 16 rows is drawn 5 times on average: the risk is that on these rows, not on fresh ones"
        in reasons(one)
    )


@pytest.mark.slow
def test_a_linear_network_that_diverges_on_the_rows_is_told_beforehand():
    each = {"file": "digits", "scale": "each"}
    said = reasons(problem(each, "linear", 1, **{"training.learning_rate": 0.2}))
    assert (
        "norm variance 31 times that of a Gaussian; with this width and second layer a linear network is stable up to "
        "learning_rate 0.06 on these" in said
    )
    assert 'rows, 1.81 on Gaussians. Try scale = "common".' in said
    assert (
        "up to learning_rate 0.06 on these rows (1.81 on Gaussians), and learning_rate is 0.2: the mean risk on the rows "
        "diverges" in said
    )
    assert "lower learning_rate below 0.048" in said
    assert "nearly diverges" in reasons(problem(each, "linear", 1, **{"training.learning_rate": 0.05}))
    assert "diverges" not in reasons(problem(each, "linear", 1, **{"training.learning_rate": 0.03}))
    assert "diverges" not in reasons(problem(each))  # erf is bounded
    # two units with one another's second layer share a gradient: each learns at half the rate
    two = problem(each, "linear", 2, **{"training.learning_rate": 0.1})
    assert (
        "up to learning_rate 0.12 on these rows (3.62 on Gaussians), and learning_rate is 0.1: the mean risk on the rows "
        "nearly diverges; lower learning_rate below 0.096" in reasons(two)
    )


def ratios(one):
    """Mean risk on rows over that of Gaussian SGD after the start, its error over starts, and what is said."""
    more = {"run.times": (0.4, 2.0, 20.0), "run.until": 20.0, "run.replicas": 48, "run.starts": 24}
    tree = compare(one.replace(**more), only=(RowsSGD(), VectorSGD()), budget=float("inf")).tree
    rows, sgd = (tree[name].to_dataset()["risk"].groupby("start").mean().values[1:] for name in ("rows", "sgd"))
    ratio = rows.mean(axis=1) / sgd.mean(axis=1)
    error = (rows - ratio[:, None] * sgd).std(axis=1, ddof=1) / rows.shape[1] ** 0.5 / sgd.mean(axis=1)
    return ratio, error, tree["rows"].attrs["warnings"]


AGREES = {
    "linear": ("linear", 1, 0.2, 0.03),
    "erf": ("erf", 2, 0.5, 0.13),
}  # activation, units, rate, what is known to be left


@pytest.mark.slow
@pytest.mark.parametrize("name", AGREES)
def test_digits_of_one_scale_are_met_by_gaussian_inputs(name):
    activation, units, rate, left = AGREES[name]
    ratio, error, _ = ratios(problem({"file": "digits"}, activation, units, **{"training.learning_rate": rate}))
    assert (error < 0.04).all()
    assert (np.abs(ratio - 1) < left + 3 * error).all()


@pytest.mark.slow
def test_relu_and_few_rows_are_not_met_and_the_reason_is_given():
    ratio, error, said = ratios(problem({"file": "digits"}, "relu"))
    assert (np.abs(ratio - 1) > 3 * error)[[1, 2]].all()
    assert "preactivations are not Gaussian" in said
    from sklearn.datasets import load_digits

    ratio, error, said = ratios(problem(df.Covariance.features(load_digits().data[:100])))
    assert ratio[-1] + 4 * error[-1] < 1
    assert "each of the 100 rows is drawn 42 times on average" in said


@pytest.mark.slow
def test_pixels_with_a_scale_each_diverge_in_a_linear_network():
    each = problem({"file": "digits", "scale": "each"}, "linear", 1, **{"training.learning_rate": 0.2})
    ratio, _, said = ratios(each)
    assert ratio[-1] > 1e3
    assert "the mean risk on the rows diverges" in said


def test_problems_about_the_same_rows_hold_them_once(tame):
    """A plan for a large table has dozens of problems about it."""
    one, other = (model(problem(tame, **{"training.learning_rate": rate})) for rate in (0.1, 0.2))
    assert one.pool.rows is other.pool.rows
