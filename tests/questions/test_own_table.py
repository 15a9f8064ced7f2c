"""What the owner of a table reads from its learning curve: the best ridge first, as scikit-learn takes it, and all rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR

import dimfree as df
from dimfree.dataset.ends.diagnosis import misfits
from dimfree.errors import RefusalError
from dimfree.questions.curves import answer
from dimfree.questions.curves.own_table import LEARNERS
from dimfree.setting import model_of

ROWS, COLUMNS = 400, 5
SQUARE = df.extend.DataSetProblem(
    dimension=COLUMNS, data=df.LinearTeacher(), training=df.MultiPass(loss="square", weight_decay=0.3)
)


def table(folder, scale=None):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = X @ np.arange(1.0, COLUMNS + 1) + 2 * rng.standard_normal(ROWS)
    np.save(folder / "X.npy", X * (np.ones(COLUMNS) if scale is None else scale))
    np.save(folder / "y.npy", y)
    return {"features": str(folder / "X.npy"), "labels": str(folder / "y.npy")}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return df.curve(SQUARE, points=3, seeds=2, **table(tmp_path_factory.mktemp("table")))


def test_all_rows_are_used(found):
    assert found.samples[-1] == pytest.approx(ROWS / COLUMNS)
    assert [line.split()[0] for line in found.summary().splitlines() if line.endswith(tuple("0123456789"))][-1] == str(
        ROWS
    )


def test_the_best_ridge_is_said_first_and_is_what_scikit_learn_takes(found):
    first = found.summary().splitlines()[0]
    ridge = float(found.best.lambda_[-1])
    assert first.startswith(f"Best ridge for {ROWS} rows, in theory: {ridge:.3g}, with error {found.best.risk[-1]:.4f}")
    assert f"on the centred columns of the table: Ridge(alpha={ridge * COLUMNS:.3g}, fit_intercept=False)." in first
    (heading,) = (line for line in found.summary().splitlines() if "error*" in line and "rows" in line)
    assert heading.split()[:4] == ["rows", "samples", "alpha*", "error*"]
    assert all(len(line) <= 80 for line in found.summary().splitlines() if line.startswith(" "))


def test_the_search_says_where_it_ends(tmp_path):
    """Columns a thousand times as small want a ridge that is a million times as small."""
    small = df.curve(SQUARE, points=2, seeds=0, **table(tmp_path, np.full(COLUMNS, 1e-3)))
    assert "The search ends there (it goes from 1e-05 to 100)" in small.summary().splitlines()[0]


@pytest.mark.parametrize("loss", LEARNERS)
def test_the_learner_on_columns_of_the_table_is_the_one_of_the_curve(loss):
    """Rows v and rows v/sqrt(d), each with its own number for one and the same ridge, give the same classifier."""
    rng = np.random.default_rng(1)
    v, d, ridge = rng.standard_normal((200, 7)), 7, 0.4
    y = np.sign(v @ rng.standard_normal(d) + rng.standard_normal(200))
    learner = LEARNERS[loss]
    make = {
        "square": lambda ridge: Ridge(alpha=ridge, fit_intercept=False),
        "logistic": lambda ridge: LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-10, max_iter=5000),
        "hinge": lambda ridge: LinearSVC(loss="hinge", C=1 / ridge, fit_intercept=False, tol=1e-9, max_iter=1_000_000),
        "absolute": lambda ridge: LinearSVR(C=1 / ridge, fit_intercept=False, tol=1e-9, max_iter=1_000_000),
    }[loss]
    number = learner.number(SQUARE.replace(dimension=d), ridge)
    own = make(1 / number if learner.inverse else number).fit(v, y)
    ours = make(ridge).fit(v / np.sqrt(d), y)
    assert type(own).__name__ == learner.name
    np.testing.assert_allclose(v @ np.ravel(own.coef_), v @ np.ravel(ours.coef_) / np.sqrt(d), atol=2e-4)


def test_a_budget_that_is_too_small_for_all_rows_has_a_shorter_curve(tmp_path, monkeypatch):
    files, size = table(tmp_path), {"points": 2, "seeds": 1}
    assert df.curve(SQUARE, largest=20.0, **files, **size).samples[-1] == pytest.approx(20.0)
    assert df.curve(SQUARE, **size).samples[-1] == pytest.approx(8.0)
    monkeypatch.setattr(answer, "_price", lambda problem, model, samples, seeds: samples[-1])
    assert df.curve(SQUARE, budget=30.0, **files, **size).samples[-1] == pytest.approx(ROWS / COLUMNS / 4)
    with pytest.raises(RefusalError, match="raise the budget, or lower dimension, largest, points or seeds"):
        df.curve(SQUARE, budget=5.0, **files, **size)


def test_one_column_that_has_all_the_variance_is_named_and_what_to_do_is_said(tmp_path):
    files = table(tmp_path, np.array([1.0, 1.0, 1.0, 50.0, 1.0]))
    problem = df.extend.DataSetProblem(dimension=COLUMNS, data=df.Table(**files), training=SQUARE.training)
    (sentence,) = misfits(model_of(problem))
    assert sentence.startswith("one direction has 100 % of the variance of the 5 features (column 4 varies most)")
    assert "divide each column by its standard deviation first" in sentence
    assert misfits(model_of(problem.replace(**{"data.features": table(tmp_path)["features"]}))) == ()


@pytest.mark.slow
def test_the_best_ridge_for_labels_that_no_gaussian_teacher_gives_is_a_rough_guide():
    digits = df.curve(SQUARE.replace(**{"training.loss": "logistic"}), samples=[2.0], seeds=0, features="digits")
    assert "on the centred pixels / 16: LogisticRegression(C=" in digits.advice
    assert digits.advice.endswith(
        "Cross-validate around it: no Gaussian teacher produces these labels, so the theory is a rough guide."
    )
