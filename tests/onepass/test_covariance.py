"""Covariances: what may be written, what they become in numbers, and one sentence for everything that cannot be meant."""

import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError, RefusalError
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.linear_mean import critical_rate
from dimfree.onepass.model import model, teacher_model
from dimfree.onepass.pool import pool_critical_rate, said_of_inputs
from dimfree.onepass.structured_model import StructuredModel
from dimfree.questions.question import questions
from dimfree.setting import why_not

LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "shares": [0.125, 0.375, 0.5]}


def problem(covariance=LEVELS, **changes):
    base = df.Problem(data={"kind": "teacher", "covariance": covariance})
    return base.replace(**changes) if changes else base


def saved(tmp_path, values, name="X.npy"):
    np.save(tmp_path / name, values)
    return str(tmp_path / name)


# Digests of problems without a covariance, from before there were any.
DIGESTS = {
    "default": (df.Problem(), "cb9d2b8bd9ac92b2"),
    "link": (df.Problem(data=df.MultiIndex()), "ce03eb031f007579"),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_isotropic_problems_keep_their_digests_text_and_model(name):
    found, digest = DIGESTS[name]
    assert found.digest == digest
    assert "covariance" not in df.dumps(found)
    assert type(model(found)) is TeacherModel
    assert found.replace(**{"data.covariance.kind": "isotropic"}) == found


def test_a_covariance_survives_text_and_counts():
    one = problem(dimension=80)
    assert df.loads(df.dumps(one)) == one
    assert one.digest != df.Problem(dimension=80).digest
    assert isinstance(model(one), StructuredModel)


@pytest.mark.parametrize("kind", ["levels", "power"])
def test_the_trace_is_the_dimension_unless_told(kind):
    given = LEVELS if kind == "levels" else {"kind": "power", "exponent": 1.0}
    assert problem(given, dimension=80).spectrum.mean == pytest.approx(1, rel=1e-14)
    plain = problem(given | {"normalise": False}, dimension=80).spectrum
    assert plain.largest == pytest.approx(given.get("values", [1.0])[0])


def test_a_matrix_is_rotated_to_its_eigenbasis(tmp_path):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    Sigma = basis @ np.diag([3, 1, 1, 1, 0.5, 0.0]) @ basis.T
    found = problem({"kind": "matrix", "file": saved(tmp_path, Sigma), "normalise": False}).spectrum
    assert found.multiplicities.tolist() == [1, 3, 1, 1]
    np.testing.assert_allclose(found.values, [3, 1, 0.5, 0], atol=1e-12)
    vectors = rng.normal(size=(2, 6))
    turned = found.into_eigenbasis(vectors)
    np.testing.assert_allclose((turned * found.coordinates) @ turned.T, vectors @ Sigma @ vectors.T, rtol=1e-12)


def test_a_spectrum_keeps_the_coordinates_of_its_file(tmp_path):
    found = problem({"kind": "spectrum", "file": saved(tmp_path, [0.5, 2.0, 0.5])}).spectrum
    assert found.values.tolist() == [2.0, 0.5]
    assert found.into_eigenbasis(np.array([[1.0, 2.0, 3.0]])).tolist() == [[2.0, 1.0, 3.0]]


def test_rows_say_dimension_covariance_and_stability(tmp_path):
    X = np.random.default_rng(1).normal(size=(50, 4)) * [1, 2, 0, 5] + 3
    one = df.Problem(data={"kind": "teacher", "covariance": {"file": saved(tmp_path, X)}}, network={"width": 1})
    found = one.spectrum
    assert one.dimension == 3
    assert found.pool.dropped == 1
    rows = found.pool.rows
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-14)
    assert np.mean(np.sum(rows**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(3 * rows.T @ rows / 50, np.diag(found.values), atol=1e-12)
    said = " ".join(said_of_inputs(one))
    assert "X.npy has 1 constant column; it is dropped (dimension 3)." in said
    assert f"stable up to learning_rate {pool_critical_rate(rows):.4g} on them" in said


def test_the_limit_of_stability_of_rows_is_where_the_mean_step_stops_contracting():
    """The mean of (1 - rate x xᵀ) D (1 - rate x xᵀ) over rows, as a matrix, has the spectral radius 1 there."""
    x = np.random.default_rng(2).normal(size=(40, 3)) * [2, 1, 0.5]
    x = (x - x.mean(axis=0)) @ np.linalg.eigh(np.cov(x.T))[1]
    x /= np.sqrt(np.mean(np.sum(x**2, axis=1)))
    one, rate = np.eye(3), pool_critical_rate(x)

    def radius(gamma):
        steps = [np.kron(one - gamma * np.outer(row, row), one - gamma * np.outer(row, row)) for row in x]
        return np.abs(np.linalg.eigvals(np.mean(steps, axis=0))).max()

    assert radius(0.99 * rate) < 1 < radius(1.01 * rate)


def test_the_gaussian_limit_in_high_dimension_is_twice_the_batch():
    assert critical_rate(np.ones(1), np.array([10**6]), 3) == pytest.approx(6, rel=1e-5)


def test_files_count_by_content_and_are_read_again_when_they_change(tmp_path):
    X = np.random.default_rng(3).normal(size=(20, 3))
    one = df.Problem(data={"kind": "teacher", "covariance": {"file": saved(tmp_path, X)}})
    digest, before = one.digest, model(one)
    assert one.replace(**{"data.covariance.file": saved(tmp_path, X, "another.npy")}).digest == digest
    saved(tmp_path, 2 * X + X**3)
    assert one.digest != digest
    assert not np.allclose(np.asarray(model(one).s), np.asarray(before.s))


def test_arrays_csv_and_names_are_files_too(tmp_path):
    X = np.random.default_rng(4).normal(size=(20, 3))
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", header="a,b,c", comments="")
    by_file = df.Problem(data={"kind": "teacher", "covariance": {"file": str(tmp_path / "X.csv")}})
    by_array = df.Problem(data=df.Teacher(covariance=df.Covariance.features(X)))
    np.testing.assert_allclose(by_file.spectrum.values, by_array.spectrum.values, rtol=1e-12)
    assert df.Problem(data=df.Teacher(covariance=df.Covariance.features("digits"))).dimension == 61
    assert df.Problem(dimension=4).replace(**{"data.covariance.file": "iris"}).spectrum.pool.rows.shape == (150, 4)


def test_true_labels_become_a_linear_teacher_and_noise(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)) * [1, 2, 3]
    y = X @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=200)
    labels = {"labels": saved(tmp_path, y, "y.npy")}
    data = {"kind": "teacher", "units": 1, "activation": "linear", "covariance": {"file": saved(tmp_path, X)} | labels}
    one = df.Problem(data=data, network={"activation": "linear"})
    found, m = one.spectrum, model(one)
    w, left = found.linear_teacher
    fitted = found.pool.rows @ w
    assert np.mean((found.pool.labels - fitted) ** 2) == pytest.approx(left)
    assert float(m.Delta) == pytest.approx(left)
    assert float(m.target.P[0, 0]) + left == pytest.approx(1)  # labels have variance 1
    best = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
    np.testing.assert_allclose(fitted * y.std(), (X - X.mean(axis=0)) @ best, atol=1e-10)


NAN = np.array([[1.0, 2.0]] * 20)
NAN[[4, 17]] = np.nan
FILES = {
    "nan": ("features", NAN, r"X.npy contains NaN in rows 4, 17; remove or replace them"),
    "infinite": (
        "spectrum",
        np.array([1.0, np.inf]),
        "X.npy contains numbers that are not finite in rows 1; remove or",
    ),
    "one row": (
        "features",
        np.ones((1, 3)),
        r"X.npy has shape \(1, 3\); features are a table with at least two rows, give",
    ),
    "no rows": ("features", np.ones((0, 3)), r"is empty; give at least two samples"),
    "constant": ("features", np.ones((5, 3)), r"all rows of X.npy are the same; give features that vary"),
    "vector": ("features", np.ones(5), r"X.npy has shape \(5,\); features are a table"),
    "pickled": (
        "features",
        np.array([{}, 1], dtype=object),
        r"is no table of numbers in .npy .*; write plain numbers, as np.save",
    ),
    "complex": (
        "matrix",
        1j * np.eye(2),
        r"is no table .*its numbers are of type complex128, not real\); write plain",
    ),
    "words": ("features", np.array([["a", "b"]] * 3), r"is no table of numbers in .npy or .csv format"),
    "indefinite": (
        "matrix",
        np.diag([2.1, -3e-3]),
        r"negative eigenvalue -0.003 \(largest 2.1\); give a positive semi-def",
    ),
    "not square": (
        "matrix",
        np.ones((2, 3)),
        r"X.npy has shape \(2, 3\); a covariance is a square matrix, give dimension x",
    ),
    "not symmetric": (
        "matrix",
        np.array([[1.0, 0.5], [0.0, 1.0]]),
        r"X.npy is not symmetric: entries differ by up to 0.5",
    ),
    "table": (
        "spectrum",
        np.ones((2, 3)),
        r"X.npy has shape \(2, 3\); a spectrum is a list, give one eigenvalue per dim",
    ),
    "zero": ("spectrum", np.zeros(3), r"all eigenvalues of the covariance are 0"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_get_one_sentence(tmp_path, name):
    kind, values, sentence = FILES[name]
    with pytest.raises(ProblemError, match=sentence):
        df.Problem(data={"kind": "teacher", "covariance": {"kind": kind, "file": saved(tmp_path, values)}})


def test_a_missing_file_is_named():
    with pytest.raises(ProblemError, match=r"the file 'nowhere.npy' is no table of numbers"):
        df.Problem(data={"kind": "teacher", "covariance": {"file": "nowhere.npy"}})


SECTIONS = {
    "shares": ({"values": [1, 2], "shares": [0.5, 0.48]}, "shares add up to 0.98; they must add up to 1"),
    "lengths": ({"values": [1, 2], "shares": [1.0]}, "there are 2 values and 1 shares; give one per value"),
    "neither": ({"values": [1, 2]}, "levels need either shares or multiplicities"),
    "nothing": ({"values": [0, 0], "shares": [0.5, 0.5]}, "all values are 0, so that inputs vanish"),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_bad_levels_get_one_sentence(name):
    given, sentence = SECTIONS[name]
    with pytest.raises(ProblemError, match=sentence):
        problem({"kind": "levels", **given})


def test_directions_are_whole_numbers():
    said = "share 0.125 of dimension 500 is 62.5 directions; choose a multiple of 8, or give multiplicities"
    with pytest.raises(ProblemError, match=said):
        model(problem(dimension=500))


def test_a_dimension_that_is_not_the_files_is_told(tmp_path):
    given = {"kind": "spectrum", "file": saved(tmp_path, np.arange(1.0, 62), "spectrum.npy")}
    assert problem(given).dimension == 61
    with pytest.raises(
        ProblemError, match=r"spectrum.npy has 61 entries and dimension is 64; leave dimension out or give"
    ):
        model(df.Problem(dimension=64, data={"kind": "teacher", "covariance": given}))


def test_labels_of_one_class_and_of_another_length_are_told(tmp_path):
    X = saved(tmp_path, np.random.default_rng(6).normal(size=(9, 2)))
    bad = {
        "labels of one class, give two or more": np.ones(9),
        r"9 rows and labels of shape \(8,\); give one label per row": np.arange(8.0),
        "contains NaN in rows 8; remove or replace them": np.array([1.0] * 8 + [np.nan]),
        "X.npy has no labels of its own; name a file of labels": "target",
    }
    for sentence, y in bad.items():
        features = df.Covariance.features(X, labels=y)
        with pytest.raises(ProblemError, match=sentence):
            df.Problem(
                data=df.Teacher(units=1, activation="linear", covariance=features), network={"activation": "linear"}
            )


def test_what_is_known_of_digits_is_said():
    one = df.Problem(data={"kind": "teacher", "covariance": {"file": "digits"}}, training={"learning_rate": 0.5})
    said = " ".join(said_of_inputs(one))
    assert "Inputs have 61 distinct eigenvalues, trace 61, the largest 9.08, effective rank 13.2;" in said
    assert (
        "largest eigenvalue times step is 0.019; with this width and second layer a linear network is stable up to "
        "learning_rate 6.877 on Gaussians." in said
    )
    assert (
        "There are 1797 rows: their norm variance is 0.29 times that of a Gaussian, the largest squared norm 1.9"
        in said
    )
    assert "a linear network is stable up to learning_rate 7.571 on them" in said
    assert "digits has 3 constant columns; they are dropped (dimension 61)." in said


def test_true_labels_need_a_linear_network():
    with pytest.raises(
        ProblemError, match="true labels with a non-linear network need a teacher that was fitted to them"
    ):
        problem({"file": "digits", "labels": "target"})


def test_explicit_overlaps_do_not_say_enough():
    start = {"kind": "overlaps", "Q": np.eye(4).tolist(), "M": np.zeros((4, 2)).tolist()}
    with pytest.raises(ProblemError, match="does not say how overlaps are shared out to the eigenvalues"):
        df.Problem(data={"kind": "teacher", "covariance": LEVELS}, start=start)


@pytest.mark.parametrize("name", ["mean-field", "diffusion", "pde", "pde-own-start"])
def test_what_is_not_derived_refuses_with_the_reason(name):
    from dimfree.registry import description

    said = why_not(description(name), problem(dimension=80))
    assert said is not None
    assert "not derived" in said or "describes training" in said
    assert "use ode" in said or "hypercube" in said


def test_questions_that_are_not_derived_refuse():
    asked = [one for one in questions() if one.problem == "dimfree.onepass.problem:OnePassProblem"]
    asked = [one for one in asked if "teacher" in (one.kinds or ("teacher",))]
    assert len(asked) >= 5
    assert [one.name for one in asked if one.structured] == ["optimise"]
    for one in asked:
        if one.structured:
            assert one.settled(problem(dimension=80)).correlated
        else:
            with pytest.raises(RefusalError, match="are not derived for a structured covariance"):
                one.settled(problem(dimension=80))
    with pytest.raises(RefusalError, match="not derived for a structured covariance"):
        teacher_model(problem(dimension=80))
