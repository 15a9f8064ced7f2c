"""A table drawn from a kind of data is answered as that kind: the law of its labels is read from its rows alone."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import dimfree as df
from dimfree.dataset.ends.diagnosis import misfits, signal
from dimfree.setting import model_of

TABLES, ROWS, FEATURES, NOISE = 8, 10_000, 20, 0.3
SPECTRUM, TEACHER, UNEXPLAINED = (0.2, 1.0, 3.0, 0.5), (1.0, -0.5, 1.5, 2.0), 0.4
SIGMAS = 5.0  # that the mean over eight tables may be off, by a law with seven degrees of freedom


def written(folder, X, y):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return {"features": folder / "X.npy", "labels": folder / "y.npy"}


def end(data, loss, dimension=FEATURES, ridge=0.1):
    training = df.MultiPass(loss=loss, weight_decay=ridge)
    found = df.solve(df.extend.DataSetProblem(dimension=dimension, data=data, training=training), "static")
    return {name: float(values) for name, values in found.items()}


def assert_equal(ends, exact, d=FEATURES, rows=ROWS):
    """Means over tables are exact but for their scatter, and for the part d/rows that d features fit by accident."""
    for name, value in exact.items():
        values = np.array([one[name] for one in ends])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - value) < SIGMAS * error + 2 * d / rows * abs(value), (name, values, value)


def independent(rng):
    X, teacher = rng.standard_normal((ROWS, FEATURES)), rng.standard_normal(FEATURES)
    return X, X @ teacher / np.linalg.norm(teacher)


def coloured(rng):
    """Each eigenvalue has an equal part of the directions, which are rotated; no feature sees a part of the teacher."""
    part = FEATURES // len(SPECTRUM)
    v = rng.standard_normal((ROWS, FEATURES)) * np.sqrt(np.repeat(SPECTRUM, part))
    z = v @ np.repeat(TEACHER, part) / np.sqrt(FEATURES) + np.sqrt(UNEXPLAINED) * rng.standard_normal(ROWS)
    return v @ np.linalg.qr(rng.standard_normal((FEATURES, FEATURES)))[0], z


KINDS = {
    "sign-teacher": (independent, df.SignTeacher(samples=6.0, noise=NOISE), 1.0),
    "covariates": (
        coloured,
        df.Covariates(samples=6.0, noise=NOISE, spectrum=SPECTRUM, teacher=TEACHER, unexplained=UNEXPLAINED),
        float(np.mean(np.array(SPECTRUM) * np.array(TEACHER) ** 2)) + UNEXPLAINED,
    ),
}


def drawn(draw):
    """Rows and noisy teacher fields."""
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        X, z = draw(rng)
        yield X, z + np.sqrt(NOISE) * rng.standard_normal(ROWS)


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("covariates", "logistic"),
        pytest.param("covariates", "hinge", marks=pytest.mark.slow),
        pytest.param("sign-teacher", "logistic", marks=pytest.mark.slow),
        pytest.param("sign-teacher", "hinge", marks=pytest.mark.slow),
    ],
)
def test_classes_of_a_table_are_those_of_the_kind_that_drew_it(kind, loss, tmp_path):
    """The field behind a class has variance 1, and errors count labels with their noise, where kinds count the teacher's."""
    draw, data, rho = KINDS[kind]
    ends = [end(df.Table(samples=6.0, **written(tmp_path, X, np.sign(z))), loss) for X, z in drawn(draw)]
    exact = end(data, loss)
    exact["risk"] = np.arccos(np.cos(np.pi * exact["risk"]) * np.sqrt(rho / (rho + NOISE))) / np.pi
    exact["m"] /= np.sqrt(rho + NOISE)
    assert_equal(ends, exact)


@pytest.mark.parametrize("kind", KINDS)
def test_the_square_loss_needs_second_moments_alone(kind, tmp_path):
    """Classes and real labels; half the mean square error on real labels has half their noise in it."""
    draw, data, _ = KINDS[kind]
    tables = list(drawn(draw))
    ends = [end(df.Table(samples=6.0, **written(tmp_path, X, np.sign(z))), "square") for X, z in tables]
    assert_equal(ends, {name: end(data, "square")[name] for name in ("norm", "train_loss")})
    linear = df.LinearTeacher(samples=6.0, noise=NOISE)
    if kind == "covariates":
        linear = data.model_copy(update={"labels": "linear"})
    ends = [end(df.Table(samples=6.0, **written(tmp_path, X, z)), "square") for X, z in tables]
    exact = end(linear, "square")
    assert_equal(ends, exact | {"risk": exact["risk"] + NOISE / 2})


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "loss"), [("erf", "logistic"), ("relu", "hinge"), ("sign", "logistic")])
def test_random_features_of_a_table_are_the_kind_of_that_name(activation, loss, tmp_path):
    """Gaussian inputs, and features that the table makes of them."""
    inputs, features, rows, ends = 300, 150, 10_000, []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rows, inputs))
        files = written(tmp_path, X, np.sign(X @ rng.standard_normal(inputs)))
        ends.append(end(df.Table(samples=3.0, activation=activation, seed=seed, **files), loss, features))
    exact = end(df.RandomFeatures(samples=3.0, activation=activation, per_input=features / inputs), loss, features)
    assert_equal(ends, exact, features, rows)


@pytest.mark.slow
def test_a_table_of_signs_against_scikit_learn(tmp_path):
    """Fits that use nothing of dimfree, on fresh rows of the law that the table is from."""
    rng, d, n, ridge = np.random.default_rng(0), 60, 360, 0.1
    teacher = rng.standard_normal(d)
    X = rng.standard_normal((20_000, d))
    predicted = end(df.Table(samples=n / d, **written(tmp_path, X, np.sign(X @ teacher))), "logistic", d)["risk"]
    errors = []
    for _ in range(40):
        v = rng.standard_normal((n, d))
        learner = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-6, max_iter=1000)
        w = learner.fit(v / np.sqrt(d), np.sign(v @ teacher)).coef_[0]
        errors.append(np.arccos(w @ teacher / np.linalg.norm(w) / np.linalg.norm(teacher)) / np.pi)
    z = (np.mean(errors) - predicted) / (np.std(errors, ddof=1) / np.sqrt(len(errors)))
    assert abs(z) < 4


def test_fits_on_a_table_see_the_overlap_that_theory_means(tmp_path):
    """The field behind a class is not in the table: its overlap is sqrt(pi/2) that of the class."""
    X, z = independent(np.random.default_rng(3))
    data = df.Table(samples=40.0, **written(tmp_path, X, np.sign(z)))
    training = df.MultiPass(loss="square", weight_decay=0.1)
    problem = df.extend.DataSetProblem(
        dimension=FEATURES, data=data, training=training, run=df.Run(until=1.0, replicas=6)
    )
    for loss, factor in (("square", 1.0), ("logistic", np.sqrt(np.pi / 2))):
        model = model_of(problem.replace(**{"training.loss": loss}))
        w = np.ones(FEATURES)
        seen = model.source.test(model.task, w, None, np.random.default_rng(0))
        assert seen.m == pytest.approx(
            factor * np.mean(np.sign(z) * (X - X.mean(0)).sum(1)) / np.sqrt(FEATURES), rel=0.01
        )


def noiseless(folder, share, seed):
    """Signs of Gaussians without noise, of which R² pi/2 is 1 but for chance, with this share of the class 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, FEATURES))
    z = X @ rng.standard_normal(FEATURES)
    files = written(folder, X, np.sign(z - np.quantile(z, 1 - share)))
    return model_of(df.extend.DataSetProblem(dimension=FEATURES, data=df.Table(**files), training=df.MultiPass()))


def test_a_gaussian_teacher_without_noise_is_not_taken_for_an_impossible_one(tmp_path):
    models = [noiseless(tmp_path, 0.5, seed) for seed in range(8)]
    assert max(signal(model.source) for model in models) > 1
    assert [misfits(model) for model in models] == [()] * 8


def test_classes_of_unequal_size_are_said(tmp_path):
    (sentence,) = misfits(noiseless(tmp_path, 0.7, 0))
    assert sentence.startswith("the larger class has 70 % of the labels")
