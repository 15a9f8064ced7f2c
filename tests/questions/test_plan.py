"""From a table to a plan: the fitted teacher, the search, the runs, and the script that needs nothing of dimfree."""

import json
import re
import subprocess
import sys

import jax
import numpy as np
import pytest
from plan_tables import one_hot_table, power_table
from scipy.special import erf
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.comparison.run import starts_of
from dimfree.experiments import RowsSGD
from dimfree.questions.plan import search, teacher, wishes
from dimfree.questions.plan import trial as trials
from dimfree.questions.plan.columns import look_at
from dimfree.questions.plan.question import QUESTION
from dimfree.questions.plan.search import RATES
from dimfree.questions.plan.splits import splits as parted
from dimfree.questions.plan.table import Wish, read
from dimfree.questions.plan.teacher import HUBER, LOGISTIC, Halves, fitted, label_noise
from dimfree.questions.plan.trial import CONSTANT, DEFAULT, LINEAR, PLAN, Trial
from dimfree.questions.plan.verdict import against, bracket, carries, off_by
from dimfree.theories import HighDimensional

NOTHING, EXAMPLE = Trial(*[None] * len(Trial._fields)), QUESTION.example()
SMALL = {"splits": 1, "seeds": 2, "widths": [2], "batch": 4}


def drawn(rows, dimension, units, seed, *, powers=0.0, noise=0.1):
    """Rows, labels and teachers of dimfree's own model; the noise is a share of the labels' variance."""
    chance = np.random.default_rng(seed)
    s = np.arange(1.0, dimension + 1) ** -powers
    s *= dimension / s.sum()
    W = chance.normal(size=(units, dimension))
    W /= np.sqrt(np.sum(W**2 * s, axis=1, keepdims=True) / dimension)
    x = chance.normal(size=(rows, dimension)) * np.sqrt(s / dimension)
    f = erf(x @ W.T / np.sqrt(2)).sum(axis=1)
    y = f + np.sqrt(noise * f.var()) * chance.normal(size=rows)
    return x, y / y.std(), W * np.sqrt(s)


def overlaps(found, W, x):
    """The best cosine of every teacher's preactivation with one that was found."""
    scale = np.sqrt(np.mean(x**2, axis=0) * x.shape[1])
    w = found.w * scale
    cosines = np.abs(w @ W.T) / np.outer(np.linalg.norm(w, axis=1), np.linalg.norm(W, axis=1))
    return cosines.max(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("per_unit", "least"), [(15, 0.98), (5, 0.9)])
@pytest.mark.parametrize("powers", [0.0, 1.0])
def test_a_teacher_of_the_own_model_is_found_again(per_unit, least, powers):
    d, k, found = 100, 2, []
    for seed in range(4):
        n = per_unit * k * d
        x, y, W = drawn(n + n // 3, d, k, seed, powers=powers)
        fit = fitted(Halves(x[:n], y[:n], x[n:], y[n:]), seed)
        assert not fit.why_linear
        found.append(overlaps(fit.teacher, W, x).mean())
    assert np.mean(found) >= least, found


def test_few_rows_fall_back_to_a_linear_teacher():
    x, y, _ = drawn(60, 30, 1, seed=0)
    fit = fitted(Halves(x[:40], y[:40], x[40:], y[40:]), 0)
    assert fit.teacher.linear
    assert fit.why_linear == "40 rows are fewer than 3 for each of 30 dimensions, too few to fit a unit"
    assert {*fit.tried} == {"linear"}


def test_the_label_noise_is_between_what_a_fit_leaves_on_its_own_rows_and_on_others():
    chance, left = np.random.default_rng(3), []
    for _ in range(200):
        x, fresh = chance.normal(size=(2, 100, 15))
        y, other = chance.normal(size=(2, 100))  # noise of variance 1 about nothing
        w = np.linalg.lstsq(x, y)[0]
        left.append([np.mean((y - x @ w) ** 2), np.mean((other - fresh @ w) ** 2)])
    own, others = np.mean(left, axis=0)
    assert own < 0.87
    assert others > 1.13
    assert label_noise(own, others) == pytest.approx(1.0, abs=0.03)  # off by (m/n)², and by chance 0.008


def test_labels_of_a_linear_law_keep_the_ridge():
    chance = np.random.default_rng(1)
    x = chance.normal(size=(400, 4)) / 2
    y = x @ [1.0, 2.0, 0.0, 0.0] + chance.normal(size=400)
    fit = fitted(Halves(x[:200], y[:200], x[200:], y[200:]), 0)
    assert fit.teacher.linear
    assert "no erf units beat ridge regression" in fit.why_linear
    np.testing.assert_allclose(fit.teacher.w[0], [1.0, 2.0, 0.0, 0.0], atol=0.5)


@pytest.mark.slow
def test_offsets_and_a_linear_unit_are_found_in_labels_that_have_them(monkeypatch):
    monkeypatch.setattr(teacher, "MOST_UNITS", 1)
    chance = np.random.default_rng(2)
    x = chance.normal(size=(3000, 8)) / np.sqrt(8)
    f = 0.3 * x @ (3 * np.eye(8)[0]) + erf((x @ (4 * np.eye(8)[1]) + 1.5) / np.sqrt(2))
    y = f - f.mean() + 0.1 * chance.normal(size=3000)
    fit = fitted(Halves(x[:2000], y[:2000], x[2000:], y[2000:]), 0, offsets=True)
    assert fit.teacher.straight == (True, False)
    assert abs(fit.teacher.b[1]) == pytest.approx(1.5, abs=0.2)
    assert fit.validation < 1.1 * 0.1**2
    assert fit.validation < 0.5 * fit.tried["erf 1"]


@pytest.mark.slow
def test_classes_are_fitted_by_their_probabilities():
    chance = np.random.default_rng(4)
    x = chance.normal(size=(3000, 2))
    y = np.where(chance.random(3000) < 1 / (1 + np.exp(-2 * x[:, 0] - 1)), 1.0, -1.0)
    fit = fitted(Halves(x[:2000], y[:2000], x[2000:], y[2000:], LOGISTIC), 0)
    at = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(fit.ridge(at), [-1.0, 1.0, 3.0, 1.0], atol=0.4)
    assert fit.nothing == pytest.approx(-np.mean(np.log(np.where(y > 0, np.mean(y > 0), np.mean(y < 0)))), abs=0.02)
    assert fit.validation < fit.nothing


@pytest.mark.slow
def test_theory_is_within_a_tenth_of_rows_that_have_labels_of_the_fitted_teacher(monkeypatch):
    for name, value in (("_DECAYS", (1e-5,)), ("_STARTS", (1, 1)), ("MOST_UNITS", 3)):  # the fit is not what is tested
        monkeypatch.setattr(teacher, name, value)
    table = read(power_table(rows=20_000, dimension=300), "y", Wish(), seed=0)
    (split,) = parted(table, look_at(table, None), 1, seed=0)
    fit = fitted(split.halves()[0], 0)
    assert (len(split.learnt), fit.teacher.w.shape[1]) == (12_000, 300)
    assert not fit.why_linear
    asked = split.problem(EXAMPLE, fit, final=False)
    assert not asked.data.unlike  # units are alike, for which theory is fastest
    data = asked.data.model_dump()
    data["covariance"]["labels"] = None  # so that rows have the teacher's
    asked = asked.replace(data=data, **{"training.learning_rate": 0.2, "run.starts": 8})
    starts = starts_of(asked, (RowsSGD(), HighDimensional()))
    times = np.round(12_000 * np.array([0.1, 0.3, 1.0, 2.5])) * asked.time_step
    seen, solved = (
        search.risks(asked, one, starts, times, jax.random.key(1)) for one in (RowsSGD(), HighDimensional())
    )
    np.testing.assert_allclose(solved.mean(axis=1) / seen.mean(axis=1), 1.0, atol=0.1)


def test_means_pair_what_was_started_together():
    first = NOTHING._replace(ends={PLAN: np.array([0.9, 1.9]), CONSTANT: np.array([1.0, 2.0])})
    assert against([first], CONSTANT).value == pytest.approx(-0.1 / 1.5)
    assert against([first], CONSTANT).error == pytest.approx(0.0, abs=1e-12)


def trial(predicted, measured, floor):
    course = {name: np.array([[predicted]]) for name in (PLAN, CONSTANT)}
    seen = {name: np.array([[measured]]) for name in (PLAN, CONSTANT)}
    return NOTHING._replace(predicted=course, measured=seen, floor=floor, assumed_floor=floor, epochs=np.array([1.0]))


def test_ratios_are_of_means_over_splits_and_an_excess_within_its_error_has_none():
    both = [trial(1.1, 1.0, 0.5), trial(2.4, 2.0, 0.5)]
    assert off_by(both, 0, excess=False).value == pytest.approx(3.5 / 3 - 1)
    assert off_by(both, 0, excess=True).value == pytest.approx(2.5 / 2 - 1)
    assert carries(both)[1] == "is a rough guide"
    assert carries([trial(1.1, 1.0, 0.5), trial(2.2, 2.0, 0.5)])[1] == "carries"
    assert carries([trial(1.6, 1.0, 0.5), trial(3.2, 2.0, 0.5)])[1] == "does not carry"
    assert carries([trial(np.inf, 1.0, 0.5), trial(2.2, 2.0, 0.5)]) == (np.inf, "does not carry")
    scattered = [trial(1.0, 1.0, 0.9), trial(1.0, 0.8, 0.9), trial(1.0, 0.9, 0.85)]
    assert str(off_by(scattered, 0, excess=True)) == "unknown"


def test_predictions_are_judged_at_both_ends_of_the_bracket_of_the_noise():
    one = trial(1.1, 1.0, 0.5)._replace(at_ends=(np.array([[1.0]]), np.array([[1.3]])))
    assert bracket([one, one]) == pytest.approx((0.0, 0.3))
    assert bracket([one._replace(at_ends=())]) == ()


@pytest.mark.slow
def test_noise_at_the_ends_of_its_bracket_is_in_the_risk_and_in_the_steps():
    found = df.plan(features=power_table(rows=400, dimension=6, units=1), target="y", **SMALL)
    (one,) = found.trials
    lower, upper = sorted((one.fit.train, one.fit.validation))
    added = (upper - lower) / 2
    assert (one.at_ends[1] - one.at_ends[0] > added).all()
    assert (one.at_ends[0] < one.predicted[PLAN]).all()
    assert (one.at_ends[1] > one.predicted[PLAN]).all()
    assert "predictions along the plan are at most" in found.summary()


def test_a_wider_network_draws_fewer_samples_for_the_same_compute(monkeypatch):
    drawn = {}

    def risks(problem, one, starts, times, key):
        width, step = problem.network.width, problem.training.learning_rate / (problem.network.width * 1000)
        drawn[width] = round(times[-1] / step)
        return np.full((1, 1), 1 / (width * drawn[width] ** 0.5))

    monkeypatch.setattr(search, "risks", risks)
    monkeypatch.setattr(search, "limit", lambda problem, batch: (0.5, 0.5))
    samples = wishes.samples_at([2, 4, 8], None, 3.2e7, 1000, 1000)
    assert samples == {2: 8000, 4: 4000, 8: 2000}
    problems = {width: (EXAMPLE.replace(**{"network.width": width, "dimension": 1000}), [None]) for width in samples}
    found = search.searched(problems, samples, lambda part, share: None)
    assert drawn == samples
    assert found.best.width == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"network.activation": "relu"},
            "plans are for networks of erf or linear units, and network.activation is 'relu'",
        ),
        ({"network.scaling": "mean"}, "network.scaling is 'mean' instead of 'sum'; leave it out"),
        ({"training.weight_decay": 0.1}, "training.weight_decay is 0.1 instead of 0.0; leave it out"),
        ({"start.kind": "sphere"}, "start.kind is 'sphere' instead of 'gaussian'"),
    ],
)
def test_networks_that_the_script_does_not_know_are_refused(change, said):
    with pytest.raises(df.ProblemError, match=re.escape(said)):
        df.plan(EXAMPLE.replace(**change), features="diabetes")


def test_a_batch_is_as_large_as_its_rate_stays_calm(monkeypatch):
    monkeypatch.setattr(search, "limit", lambda problem, batch: (1.0 * batch, 8.0))
    single = search.Choice(4, 0.2, 1, "constant")
    assert search.with_batch(EXAMPLE, single, None) == search.Choice(4, 1.6, 8, "constant")
    assert search.with_batch(EXAMPLE, single, 64).batch == 64
    monkeypatch.setattr(search, "limit", lambda problem, batch: (0.1, 8.0))
    assert search.with_batch(EXAMPLE, single, None) == single


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": 3}, "budget = 3 samples was given, and there are 265 rows to learn from; give from 26 to 265000."),
        ({"budget": float("inf")}, "budget = inf samples was given"),
        (
            {"compute": 1e3, "widths": [2, 4]},
            "compute = 1000 multiplications was given, and there are 265 rows to learn from; give from 2120 to 10600000.",
        ),
        (
            {"compute": 1e7, "budget": 1e4},
            "budget and compute both say how many samples are drawn; leave one of them out.",
        ),
        ({"batch": 10**6}, "batch = 1000000 was given, and there are 265 rows to learn from; give from 1 to 265."),
        ({"splits": 10**9}, "splits = 1000000000 was given; give a number from 1 to 100."),
        ({"loss": "hinge"}, "loss = 'hinge' is not planned for; choose square, huber, or for two classes logistic"),
        (
            {"loss": "cross-entropy"},
            "of two classes it is the logistic loss: choose logistic, with one class as positive",
        ),
        ({"one_hot": "maybe"}, "one_hot = 'maybe' was given; say yes or no."),
        ({"offsets": "some"}, "offsets = 'some' was given; say yes or no."),
        ({"loss": "logistic"}, "loss = 'logistic' was given, and target has more than two values"),
        ({"widths": "a"}, "widths = 'a' are no whole numbers; give some, as in 2,4,8."),
        ({"widths": [0]}, "give at least one, from 1 to 64"),
        ({"scale": "none"}, "scale = 'none' is not known; choose 'common' or 'each'."),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options, said):
    with pytest.raises(df.ProblemError, match=re.escape(said)):
        df.plan(features="diabetes", **options)


@pytest.mark.slow
def test_the_whole_way_runs_with_one_command_and_its_script_without_dimfree(tmp_path):
    file = tmp_path / "small.csv"
    power_table(rows=1500, dimension=12, units=1).to_csv(file, index=False)
    arguments = ["plan", "--features", str(file), "--target", "y", "--splits", "2", "--seeds", "4", "--widths", "2"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert all(len(one["explained"]) >= 2 for one in found["teachers"])
    assert {*found["risk"]} == {PLAN, DEFAULT, CONSTANT, LINEAR}
    assert found["plan_against"][CONSTANT]["mean"] < found["risk"][CONSTANT]["error"] + 0.1
    text = (tmp_path / "plan_optax.py").read_text(encoding="utf-8")
    problem = df.load(tmp_path / "plan.toml")
    for said in (
        "Loss: ",
        "Inputs: ",
        f"Batch: {found['plan']['batch']} rows",
        "width 2",
        f"problem: {problem.digest}",
    ):
        assert said in text
    risks = []
    for seed in range(4):
        run = [sys.executable, str(tmp_path / "plan_optax.py"), str(seed)]
        shown = subprocess.run(run, check=True, capture_output=True, text=True).stdout
        risks.append(float(shown.removeprefix("held-out risk ")))
    rows = df.simulate(problem.replace(**{"run.starts": 4, "run.replicas": 4}), by="rows")["risk"][-1]
    own = rows.values.ravel() + problem.data.noise / 2
    error = np.sqrt(np.var(risks, ddof=1) / 4 + np.var(own, ddof=1) / 4)
    assert abs(np.mean(risks) - own.mean()) < 5 * error


@pytest.mark.slow
def test_words_duplicates_and_a_mean_go_the_whole_way():
    table = one_hot_table(rows=400, dimension=5).drop(columns=["word2", "word3"])
    table = table.assign(again=table["x1"], x2=table["x2"] + 1000)
    said = df.plan(features=table, target="y", one_hot=True, **SMALL).summary()
    assert "1 pair of columns says the same (x1 and again)" in said
    assert "Column x2 lies" in said
    assert max(map(len, re.findall(r"^ .*$", said, flags=re.M))) <= 80  # tables; sentences are broken by the terminal


@pytest.mark.slow
@pytest.mark.parametrize("rows", [60, 3000])
def test_fewer_rows_than_columns_and_one_per_cent_of_positives(rows):
    chance = np.random.default_rng(8)
    if rows == 60:
        found = df.plan(features=chance.normal(size=(60, 80)), target=chance.normal(size=60), **SMALL)
        assert "too few to fit a unit" in found.summary()
        assert "fewer rows than columns" in found.summary()
        return
    x = chance.normal(size=(rows, 6))
    y = np.where(np.argsort(np.argsort(x[:, 0] + x[:, 1])) >= 0.99 * rows, "ill", "well")
    found = df.plan(features=x, target=y, positive="ill", **SMALL)
    assert "Only 30 rows are of class ill" in found.summary()
    assert np.isfinite(found.trials[0].ends[PLAN]).all()


def test_gaussian_noise_that_leaves_as_much_by_huber_is_found():
    z = np.random.default_rng(6).normal(size=100_000)
    for deviation in (0.01, 0.8, 4.0):
        left = HUBER.value(np.zeros(len(z)), deviation * z).mean()
        assert HUBER.variance(left) == pytest.approx(deviation**2, rel=0.03)
    y = np.linspace(-3, 3, 13)
    numeric = (HUBER.value(np.full(13, 1e-6), y) - HUBER.value(np.full(13, -1e-6), y)) / 2e-6
    np.testing.assert_allclose(HUBER.slope(np.zeros(13), y), numeric, atol=1e-5)


@pytest.mark.slow
def test_the_huber_loss_goes_the_whole_way_on_labels_with_outliers(tmp_path, monkeypatch):
    monkeypatch.setattr(teacher, "MOST_UNITS", 1)  # averages over few fields are faster
    chance = np.random.default_rng(0)
    x = chance.normal(size=(1500, 3))
    y = np.tanh(x[:, 0] - x[:, 1]) + 0.3 * chance.normal(size=1500)
    y[::50] += 4 * chance.choice([-1.0, 1.0], 30)
    found = df.plan(features=x, target=y, loss="huber", budget=200, **SMALL)
    (one,) = found.trials
    measured = one.measured[PLAN][-1].mean()
    assert one.predicted[PLAN][-1].mean() == pytest.approx(measured, rel=0.2)
    assert measured < one.measured[PLAN][0].mean()
    assert "Twice the mean huber loss is between" in found.summary()
    written = found.files(tmp_path, "plan")
    assert df.load(written["problem"]).training.loss == "huber"
    text = written["script"].read_text(encoding="utf-8")
    assert "Loss: (y - f)^2/2 up to |y - f| = 1" in text
    run = [sys.executable, str(written["script"])]
    shown = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert float(shown.removeprefix("held-out risk ")) == pytest.approx(measured, rel=0.2)


@pytest.mark.slow
def test_the_logistic_loss_goes_the_whole_way(tmp_path, monkeypatch):
    monkeypatch.setattr(teacher, "MOST_UNITS", 1)  # averages over few fields are faster
    few = {name: search.FAMILIES[name] for name in ("constant", "linear to 0")}
    for where, name, value in ((search, "FAMILIES", few), (search, "RATES", RATES[:2]), (trials, "RATES", RATES[:2])):
        monkeypatch.setattr(where, name, value)  # the search is not what is tested
    chance = np.random.default_rng(0)
    x = chance.normal(size=(600, 4))
    y = np.where(x[:, 0] - x[:, 1] + 0.5 * chance.normal(size=600) > 0, "yes", "no")
    found = df.plan(features=x, target=y, loss="logistic", **SMALL)
    (one,) = found.trials
    measured = one.measured[PLAN][-1].mean()
    assert one.predicted[PLAN][-1].mean() == pytest.approx(measured, rel=0.2)
    assert measured < one.measured[PLAN][0].mean()
    assert one.wrong[0] == pytest.approx(one.wrong[1], abs=0.06)
    assert "Test error of the plan: " in found.summary()
    written = found.files(tmp_path, "plan")
    assert df.load(written["problem"]).data.labels == "logistic"
    text = written["script"].read_text(encoding="utf-8")
    assert "Loss: log(1 + exp(-y f)), for labels y = -1 and +1." in text
    run = [sys.executable, str(written["script"])]
    shown = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert float(shown.removeprefix("held-out risk ")) == pytest.approx(measured, rel=0.2)
