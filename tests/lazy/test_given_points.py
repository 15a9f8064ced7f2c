"""Data sets that are drawn, written down or read from files, and one sentence for what makes no sense."""

import numpy as np
import pytest

import dimfree as df
from dimfree.setting import model_of

ROWS = ((1.0, 0.0), (0.0, 1.0), (0.6, 0.8), (0.5, -0.5))


def given(**changes):
    return df.Problem(
        data=df.GivenPoints(**({"inputs": ROWS, "labels": (1.0, -1.0, 0.5, 0.0), "held_out": 1} | changes))
    )


@pytest.mark.slow
def test_points_are_drawn_once_whatever_the_seed_of_the_run():
    problem = df.extend.LazyProblem(data=df.DrawnPoints(samples=4000, link="he2", noise=0.09), dimension=5)
    model = model_of(problem)
    np.testing.assert_array_equal(model.X, model_of(problem.replace(**{"run.seed": 5})).X)
    assert np.abs(model.X - model_of(problem.replace(**{"data.seed": 5})).X).max() > 0.1
    np.testing.assert_allclose(np.var(model.X), 1 / 5, rtol=0.05)
    z, held = np.sqrt(5) * np.asarray(model.X)[:, 0], np.sqrt(5) * np.asarray(model.X_held)[:, 0]
    np.testing.assert_allclose(np.var(model.y - (z**2 - 1)), 0.09, rtol=0.1)
    np.testing.assert_allclose(model.y_held, held**2 - 1, atol=1e-12)


def test_points_on_the_sphere_have_length_one():
    model = model_of(df.extend.LazyProblem(data=df.DrawnPoints(law="sphere")))
    np.testing.assert_allclose(np.linalg.norm(model.X, axis=1), 1.0, rtol=1e-12)


def test_points_that_are_given_are_taken_as_they_are(tmp_path):
    problem = given()
    assert problem.dimension == 2
    model = model_of(problem)
    np.testing.assert_array_equal(model.X, ROWS[:3])
    np.testing.assert_array_equal(model.y_held, [0.0])
    file = tmp_path / "points.npz"
    np.savez(file, X=np.array(ROWS), y=np.array([1.0, -1.0, 0.5, 0.0]))
    from_file = df.Problem(data=df.GivenPoints(file=file, held_out=1), dimension=2)
    np.testing.assert_array_equal(model_of(from_file).X, model.X)
    assert df.loads(df.dumps(from_file)) == from_file
    assert df.loads(df.dumps(problem)) == problem


@pytest.mark.parametrize("scale", [0.0, -0.5])
def test_an_output_scale_that_is_not_positive(scale):
    with pytest.raises(
        df.ProblemError, match=rf"output_scale = {scale:g} is not positive; give 1/width = 0.01 for the"
    ):
        df.ScaledTwoLayer(width=100, output_scale=scale)


@pytest.mark.parametrize(
    ("changes", "activation", "sentence"),
    [
        (
            {"inputs": (ROWS[0], ROWS[1], ROWS[0], ROWS[2])},
            "erf",
            "points 0 and 2 of the data coincide, so that the kernel",
        ),
        ({"inputs": (ROWS[1], ROWS[0], (0.0, -1.0), ROWS[2])}, "erf", "points 0 and 2 .* for a network of erf units"),
        ({"inputs": (ROWS[1], ROWS[0], (2.0, 0.0), ROWS[2])}, "relu", "points 1 and 2 .* for a network of relu units"),
        ({"inputs": (ROWS[1], ROWS[0], (0.0, 0.0), ROWS[2])}, "erf", "point 2 of the data is 0"),
        ({"held_out": 4}, "erf", "has 4 points, of which held_out = 4 leaves none"),
    ],
)
def test_data_sets_without_a_regular_kernel(changes, activation, sentence):
    problem = given(**changes).replace(**{"network.activation": activation})
    with pytest.raises(df.ProblemError, match=sentence) as complaint:
        model_of(problem)
    assert "\n" not in str(complaint.value)


def test_without_any_there_are_points_to_look_at():
    problem = df.Problem(data=df.GivenPoints())
    assert problem.dimension == 2
    assert model_of(problem).X.shape == (5, 2)
    assert df.loads(df.dumps(problem)) == problem


def test_a_held_out_point_may_be_one_that_is_trained_on():
    model_of(given(inputs=(*ROWS[:3], ROWS[0])))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: df.ScaledTwoLayer(width=7), r"width = 7 is odd, .* set width = 8\."),
        (lambda: df.GivenPoints(held_out=1, labels=(1.0,)), "either as inputs and labels, or in a file"),
        (lambda: df.GivenPoints(held_out=1, inputs=((1.0,), (1.0, 2.0)), labels=(1.0, 1.0)), "the same dimension"),
        (lambda: df.GivenPoints(held_out=1, inputs=((1.0,),), labels=(1.0, 1.0)), "1 inputs and 2 labels"),
        (lambda: given().replace(dimension=3).digest and model_of(given().replace(dimension=3)), "set dimension = 2"),
        (lambda: df.extend.LazyProblem(run=df.Run(starts=2, replicas=2)), r"leave run\.starts out"),
    ],
)
def test_one_sentence_for_what_makes_no_sense(wrong, sentence):
    with pytest.raises(df.ProblemError, match=sentence):
        wrong()


def test_files_that_are_no_points(tmp_path):
    for name, arrays in {
        "none": {},
        "short": {"X": np.ones((3, 2)), "y": np.ones(2)},
        "nan": {"X": np.full((2, 2), np.nan), "y": np.ones(2)},
    }.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    (tmp_path / "text.npz").write_text("no archive")
    for name, sentence in {
        "none": "has no array 'X'",
        "short": r"X of shape \(3, 2\) and y of shape \(2,\)",
        "nan": "not finite",
        "text": "not a readable .npz archive",
        "nowhere": "which does not exist",
    }.items():
        with pytest.raises(df.ProblemError, match=sentence):
            model_of(df.Problem(data=df.GivenPoints(file=tmp_path / f"{name}.npz", held_out=1), dimension=2))
