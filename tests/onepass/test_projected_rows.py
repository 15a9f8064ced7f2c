"""Own spectra and own rows behind a random projection: SGD on them has the exact mean of their second moments."""

import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError


def problem(covariance, **changes):
    given = {"kind": "projected", "covariance": covariance, **changes.pop("data", {})}
    run = {"until": 2.0, "replicas": 400, "points": 6, "seed": 3}
    return df.Problem(data=given, dimension=12, training={"learning_rate": 0.3}, run=run).replace(**changes)


@pytest.fixture(scope="module")
def table():
    """Rows of a power law, with labels that have noise."""
    rng, j = np.random.default_rng(0), np.arange(1.0, 41)
    X = rng.standard_normal((400, 40)) / j
    return X, X @ j**-0.5 + 0.1 * rng.standard_normal(400)


def z_scores(given, by):
    risk, mean = df.simulate(given, by=by)["risk"].values, df.solve(given, by="projected-mean")["risk"].values[:, 0]
    return (risk.mean(1) - mean)[1:] / (risk[1:].std(1, ddof=1) / np.sqrt(risk.shape[1]))


def test_the_risk_of_the_best_weights_on_all_rows_is_what_no_weights_reach(table):
    X, y = table
    given = problem(df.Covariance.features(X, y))
    model, (rows, labels) = df.extend.model(given), df.extend.model(given).rows
    fitted = np.linalg.lstsq(np.asarray(rows, float), np.asarray(labels), rcond=None)
    left = np.mean((np.asarray(labels) - np.asarray(rows, float) @ fitted[0]) ** 2)
    np.testing.assert_allclose(fitted[0], np.asarray(model.best), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(left, float(model.unreached + model.Delta), rtol=1e-6)


@pytest.mark.slow
def test_sgd_on_rows_has_the_mean_of_gaussian_inputs_up_to_their_fourth_moments(table):
    X, y = table
    z = z_scores(problem(df.Covariance.features(X, y)), "projected-rows")
    assert np.abs(z).max() < 5


def test_a_spectrum_and_a_target_are_the_power_law_that_they_are_of():
    j = np.arange(1.0, 101)
    scale = np.mean(
        j**-1.4
    )  # the trace is 1, so that x is divided by the root of that of the power law, and b multiplied
    own = problem(df.Covariance.spectrum(j**-1.4), data={"target": file(j**-1.2 * np.sqrt(100 * scale)), "noise": 0.02})
    law = df.Problem(
        data={"kind": "power-law", "inputs": 100, "noise": 0.02},
        dimension=12,
        training={"learning_rate": 0.3 / (100 * scale)},
        run={"until": 2.0 / (100 * scale), "replicas": 1, "points": 6, "seed": 3},
    )
    for by in ("projected-mean", "equivalent"):
        found = [df.solve(one, by=by)["risk"].values for one in (own, law)]
        np.testing.assert_allclose(*found, rtol=1e-6)


def file(array):
    return df.Covariance.spectrum(array).file


def test_rows_that_are_not_numbers_are_refused_or_dropped(table):
    X, y = table[0].copy(), table[1]
    X[[3, 78], 5] = np.nan
    X[:, 9] = 1.0
    with pytest.raises(ProblemError, match="contains NaN in rows 3, 78; remove or replace them"):
        problem(df.Covariance.features(X, y))
    pool = problem(df.Covariance.features(X, y, missing="drop")).data.pool
    assert pool.rows.shape == (398, 39)
    assert "NaN in 2 rows" in " ".join(pool.left_out())
    X[1::2, 7] = np.nan
    with pytest.raises(ProblemError, match=r"has NaN in 201 of 400 rows, too many to be dropped"):
        problem(df.Covariance.features(X, y, missing="drop"))


def test_random_features_of_a_table_are_as_many_as_asked_for():
    given = problem(df.Covariance.features("digits", "target", width=50))
    assert given.data.inputs_of(12) == 50
    assert problem(df.Covariance.features("digits", "target", width=50, seed=1)) != given


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"covariance": {"kind": "power", "exponent": 1.0}}, "does not say how many inputs there are"),
        ({"covariance": {"file": "digits"}}, r"give covariance\.labels or target, one of the two"),
        ({"covariance": {"file": "digits", "labels": "target"}, "noise": 0.1}, "leave noise out"),
        (
            {"covariance": {"kind": "levels", "values": [1.0], "shares": [1.0]}, "target": "b.npy"},
            "give multiplicities",
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence(data, sentence):
    with pytest.raises(ProblemError, match=sentence):
        df.Problem(data={"kind": "projected", **data}, dimension=12)


def test_a_target_of_another_length_is_one_sentence():
    with pytest.raises(ProblemError, match=r"has shape \(3,\) and there are 20 inputs; give one finite coefficient"):
        df.extend.model(problem(df.Covariance.spectrum(np.ones(20)), data={"target": file(np.ones(3))}))


def test_a_size_that_hides_nothing_is_refused():
    with pytest.raises(ProblemError, match="size 61 is not below inputs 61: nothing is hidden"):
        df.Problem(data={"kind": "projected"}, dimension=61)
