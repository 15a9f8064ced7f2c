"""Learning curves as a question: theory beside fits, tables of one's own, and what may be wrong with them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.dataset.ends.diagnosis import misfits, signal
from dimfree.errors import ProblemError, RefusalError
from dimfree.setting import model_of

RIDGE = df.extend.DataSetProblem(
    dimension=100, data=df.SignTeacher(), training=df.MultiPass(loss="square", weight_decay=0.5), run=df.Run(seed=3)
)


@pytest.fixture(scope="module")
def found():
    return df.curve(RIDGE, samples=[1, 3, 12], seeds=12)


@pytest.mark.slow
def test_fits_lie_on_the_curve_of_the_theory(found):
    assert set(found.lines) == {"ridge", "optimal-ridge", "train-loss", "max-margin", "bayes"}
    for name in ("risk", "train_loss"):
        assert np.abs(found.z_scores(name)).max() < 4
    np.testing.assert_allclose(found.best.lambda_, np.pi / 2 - 1, rtol=1e-6)
    assert (found.best.risk < found.theory["risk"]).all()
    assert (np.interp(found.samples, found.lines["bayes"].samples, found.lines["bayes"].values) < found.best.risk).all()


@pytest.mark.slow
def test_the_same_seed_draws_the_same_data_wherever_it_is_asked(found):
    again = df.curve(RIDGE, samples=[1, 3], seeds=2)
    np.testing.assert_array_equal(again.measured["risk"], found.measured["risk"][:2, :2])
    assert not df.curve(RIDGE, samples=[1, 3], seeds=0).measured


@pytest.mark.slow
def test_bounds_are_drawn_where_they_say_more_than_guessing():
    few, many = (df.curve(RIDGE, samples=[a, 2 * a], seeds=0).lines for a in (3.0, 60.0))
    assert "rademacher-bound" not in few
    assert np.nanmax(many["rademacher-bound"].values) < 0.5
    assert "smaller of RS and counting" in many["rademacher-bound"].label
    assert "large-α asymptote" in many["rademacher-asymptote"].label


def write(folder, X, y):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return {"features": str(folder / "X.npy"), "labels": str(folder / "y.npy")}


def drawn(n=120, d=4):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, 0.0)


@pytest.mark.slow
def test_a_table_of_zeros_and_ones_is_read_and_said_so(tmp_path):
    X, y = drawn()
    files = write(tmp_path, X, y)
    found = df.curve(RIDGE.replace(**{"training.loss": "hinge"}), samples=[3, 6], seeds=2, **files)
    assert found.problem.dimension == 4
    assert found.remarks[0] == "labels 0 and 1 were read as -1 and 1."
    assert "reported, not promised" in found.remarks[1]
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", header="a,b,c,d", comments="")
    np.savetxt(tmp_path / "y.csv", y)
    again = df.curve(
        found.problem, samples=[3, 6], seeds=2, features=str(tmp_path / "X.csv"), labels=str(tmp_path / "y.csv")
    )
    np.testing.assert_allclose(again.theory["risk"], found.theory["risk"], rtol=1e-10)


def test_labels_that_no_gaussian_teacher_gives_are_noticed(tmp_path):
    """A feature that is the label: R² = 1, and R² pi/2 = 1.57."""
    X, y = drawn()
    files = write(tmp_path, np.column_stack([X, y + 0.01 * X[:, 1] ** 2]), y)
    table = df.Problem(data=df.Table(**files), training=df.MultiPass(weight_decay=0.1), dimension=5)
    model = model_of(table)
    assert signal(model.source) == pytest.approx(np.pi / 2, rel=0.01)
    assert misfits(model)[0].startswith("Gaussian teacher, not valid for these labels: R² pi/2 = 1.5")
    assert not misfits(model_of(table.replace(**{"training.loss": "square"})))


BAD = {
    "labels": (
        lambda X, y: (X, y + 3),
        "the labels have 2 values (3, 4), and a classifier needs -1 and 1 (or 0 and 1)",
    ),
    "classes": (lambda X, y: (X, 0 * y), "all labels are 0; a classifier needs samples of two classes."),
    "nan": (lambda X, y: (np.where(X > 2, np.nan, X), y), "of the features are not finite numbers"),
    "few": (lambda X, y: (X[:4], np.arange(4) % 2), "4 samples cannot determine the covariance of 4 features"),
    "empty": (lambda X, y: (X[:0], y[:0]), "X.npy' is empty"),
    "shape": (lambda X, y: (X, y[:-1]), "the features have shape (120, 4) and the labels (119,)"),
    "pickle": (lambda X, y: (np.array([{}], dtype=object), y), "is no table of numbers in .npy or .csv format"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_one_sentence(case, tmp_path):
    change, message = BAD[case]
    files = write(tmp_path, *change(*drawn()))
    result = CliRunner().invoke(app, ["curve", "--features", files["features"], "--labels", files["labels"]])
    assert result.exit_code == 2, result.output
    (sentence,) = result.stderr.splitlines()
    assert message in sentence


def test_other_bad_questions(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ProblemError, match=r"empty.csv' is empty"):
        df.curve(RIDGE, features=str(tmp_path / "empty.csv"), labels=str(tmp_path / "empty.csv"))
    with pytest.raises(ProblemError, match="without labels; name a file of labels"):
        df.curve(RIDGE, features=str(tmp_path / "empty.csv"))
    with pytest.raises(ProblemError, match="not positive numbers of samples"):
        df.curve(RIDGE, samples=[1, -1])
    with pytest.raises(ProblemError, match="name its features, too"):
        df.curve(RIDGE, width=3)
    with pytest.raises(RefusalError, match="more than the budget of"):
        df.curve(RIDGE.replace(dimension=3000), budget=1.0)
    np.savez(tmp_path / "c.npz", Psi=np.eye(2), Phi=0.5 * np.eye(2), Omega=np.eye(2), theta=np.ones(2))
    with pytest.raises(ProblemError, match=r"is about 2 features; set dimension = 2"):
        df.curve(df.Problem(data=df.Covariates(file=tmp_path / "c.npz"), dimension=3))


@pytest.mark.slow
def test_digits_in_one_command(tmp_path):
    small = ["--set", "training.loss=square", "--points", "2", "--seeds", "2", "--smallest", "1", "--largest", "2"]
    result = CliRunner().invoke(app, ["curve", "--features", "digits", *small, "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["problem"]["data"]["kind"] == "table"
    assert told["problem"]["dimension"] == 61
    assert (tmp_path / "curve.png").stat().st_size > 10_000
    assert "real samples: a pool of 1797, 61 features" in told["remarks"][0]
