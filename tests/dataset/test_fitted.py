"""Learning curves against real fits in dimension 300 and more: z-scores of many comparisons, and no systematic sign."""

from typing import NamedTuple

import numpy as np
import pytest

import dimfree as df
from dimfree.dataset.ends.static import Static
from dimfree.dataset.real.fitted import fit_once
from dimfree.setting import model_of, why_not


class Case(NamedTuple):
    data: df.problem.section.Section
    loss: str
    ridge: float
    dimension: int = 500
    width: float = 0.8  # threshold or tube


SPOILED = df.Outliers(fraction=0.2, slope=0.0, variance=6.0)
SLOPED = {"spectrum": (4.0, 2.0, 1.0, 0.5, 0.25), "teacher": (1.0, 1.0, 1.5, 2.0, 1.0), "unexplained": 0.5}
CASES = {
    "logistic": Case(df.SignTeacher(samples=2.0), "logistic", 0.1),
    "logistic-noisy": Case(df.SignTeacher(samples=4.0, noise=0.25), "logistic", 1.0),
    "logistic-few": Case(df.SignTeacher(samples=0.6), "logistic", 0.01, 1000),
    "hinge": Case(df.SignTeacher(samples=1.0), "hinge", 0.3),
    "hinge-noisy": Case(df.SignTeacher(samples=2.0, noise=0.25), "hinge", 1.0),
    "ridge-signs": Case(df.SignTeacher(samples=3.0), "square", 0.5, 1000),
    "ridge-linear": Case(df.LinearTeacher(samples=2.0, noise=0.1), "square", 0.1, 1000),
    "ridge-few": Case(df.LinearTeacher(samples=0.5, noise=0.1), "square", 0.1, 1000),
    "covariates-logistic": Case(df.Covariates(samples=2.0, **SLOPED), "logistic", 0.1),
    "covariates-hinge": Case(df.Covariates(samples=1.0, **SLOPED), "hinge", 1.0),
    "covariates-ridge": Case(df.Covariates(samples=1.5, labels="linear", noise=0.1, **SLOPED), "square", 0.3, 1000),
    "features-logistic": Case(df.RandomFeatures(samples=1.5), "logistic", 0.1),
    "features-relu": Case(df.RandomFeatures(samples=2.0, activation="relu", per_input=0.5), "logistic", 0.3),
    "huber-outliers": Case(df.LinearTeacher(samples=2.0, noise=0.5, outliers=SPOILED), "huber", 0.3, 300),
    "huber-few": Case(
        df.LinearTeacher(samples=0.6, noise=0.3, outliers=df.Outliers(fraction=0.3, slope=0.5)), "huber", 0.5, 300
    ),
    "huber-signs": Case(df.SignTeacher(samples=2.0), "huber", 0.3, 300),
    "absolute-outliers": Case(df.LinearTeacher(samples=3.0, noise=0.5, outliers=SPOILED), "absolute", 0.6, 300),
    "insensitive": Case(df.LinearTeacher(samples=2.0, noise=0.5, outliers=SPOILED), "insensitive", 0.4, 300),
    "covariates-huber": Case(
        df.Covariates(samples=2.0, labels="linear", noise=0.3, outliers=SPOILED, **SLOPED), "huber", 0.3, 300
    ),
    "features-absolute": Case(df.RandomFeatures(samples=1.5, labels="linear", noise=0.3), "absolute", 0.4, 300),
    "features-ridge": Case(df.RandomFeatures(samples=0.5, labels="linear", noise=0.1), "square", 0.05),
}
FITS = 8


def z_scores(case: Case, fits: int = FITS, dimension: int | None = None) -> dict[str, tuple[float, float]]:
    """By how many standard errors, and by what part, fits exceed the theory."""
    problem = df.extend.DataSetProblem(
        dimension=dimension or case.dimension,
        data=case.data,
        training=df.MultiPass(loss=case.loss, weight_decay=case.ridge, threshold=case.width, tube=case.width),
    )
    model, static = model_of(problem), Static()
    assert why_not(static, problem) is None
    theory = {name: float(value) for name, value in static.solve(model).items()}
    runs = [fit_once(model, np.random.default_rng([11, r])) for r in range(fits)]
    found = {}
    for name in ("risk", "norm", "train_loss"):
        values = np.array([run[name] for run in runs])
        off = values.mean() - theory[name]
        found[name] = (off / (values.std(ddof=1) / np.sqrt(fits)), off / theory[name])
    return found


@pytest.mark.parametrize("name", ["ridge-signs", "covariates-logistic", "huber-outliers"])
def test_a_few_fits_lie_on_the_theory(name):
    for observable, (z, off) in z_scores(CASES[name], dimension=300).items():
        assert abs(z) < 4.5 or abs(off) < 0.01, (observable, z, off)


@pytest.mark.slow
def test_many_fits_lie_on_the_theory_and_on_both_sides_of_it():
    """Dozens of comparisons: the spread of z is that of chance with 8 fits each, and neither sign prevails."""
    scores = {f"{name} {what}": pair for name, case in CASES.items() for what, pair in z_scores(case).items()}
    z = np.array([pair[0] for pair in scores.values()])
    assert len(z) >= 40
    far = {name: pair for name, pair in scores.items() if abs(pair[0]) > 4.5 and abs(pair[1]) > 0.02}
    assert not far
    assert np.mean(np.abs(z) > 2.4) < 0.2  # of Student's t with 7 degrees of freedom: 0.05
    for what in ("risk", "norm", "train_loss"):  # the three of one data set are not independent of each other
        signs = [pair[0] > 0 for name, pair in scores.items() if name.endswith(f" {what}")]
        assert 2 <= sum(signs) <= len(signs) - 2, (what, sum(signs))  # by chance one time in five hundred


def test_ends_that_know_nothing_of_the_data_set_are_drawn_beside_those_that_do(tmp_path):
    problem = df.extend.DataSetProblem(
        dimension=60,
        data=df.Covariates(),
        training=df.MultiPass(weight_decay=0.1),
        run=df.Run(until=1.0, replicas=2, points=2),
    )
    comparison = df.compare(problem)
    assert {"fitted", "static", "bayes-optimal"} == set(comparison.tree.children)
    comparison.plot(tmp_path / "ends.png")
    assert (tmp_path / "ends.png").stat().st_size > 10_000
