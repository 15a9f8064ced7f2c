"""Losses of the residual, and outliers: averages, limits, the best learner, fits, dynamics, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf
from scipy.stats import kstest, norm
from sklearn.linear_model import HuberRegressor

import dimfree as df
from dimfree.dataset.ends.covariates import isotropic
from dimfree.dataset.ends.optimal_ridge import optimal_ridge
from dimfree.dataset.ends.optimal_threshold import optimal_threshold
from dimfree.dataset.ends.ridge import ridge as closed_ridge
from dimfree.dataset.ends.state_evolution import state_evolution
from dimfree.dataset.ends.task import Task
from dimfree.dataset.ends.yardsticks import best_learner
from dimfree.dataset.outliers import OutlierLaw, drawn
from dimfree.dataset.real.fitted import fitted_weights
from dimfree.functions.loss import loss
from dimfree.gaussian.residual_channel import label_information, residuals
from dimfree.programs.compiled import quick_program
from dimfree.setting import model_of, why_not

SPOILED = (0.3, 0.25, 5.0)  # fraction, slope, variance
solved, closed = quick_program(state_evolution), quick_program(closed_ridge)


def numbers(*values):
    return tuple(jnp.asarray(value, dtype=float) for value in values)


def task(name, width=1.0, alpha=2.0, ridge=0.7, noise=0.5, outliers=SPOILED):
    law = None if outliers is None else OutlierLaw(*numbers(*outliers))
    alpha, ridge, noise = numbers(alpha, ridge, noise)
    return Task("linear", loss(name, width), isotropic(), alpha, ridge, noise, law)


def problem(**changes):
    return df.extend.DataSetProblem(
        dimension=60,
        data=df.LinearTeacher(samples=2.0, noise=0.5, outliers=df.Outliers(fraction=0.3, slope=0.25)),
        training=df.MultiPass(loss="huber", threshold=0.8, weight_decay=0.3, learning_rate=0.1),
        run=df.Run(until=1.0, replicas=2, points=3, spacing="linear"),
    ).replace(**changes)


@pytest.mark.parametrize("spread", [0.05, 1.3, 40.0])
def test_averages_of_the_clipped_force_have_closed_forms(spread):
    theta, V = 0.8, 1.7
    found = residuals(loss("huber", theta), *numbers(V), jnp.asarray([spread]))
    a = theta * (1 + V) / spread
    inside = erf(a / np.sqrt(2))
    square = (spread / (1 + V)) ** 2 * (inside - 2 * a * norm.pdf(a)) + theta**2 * (1 - inside)
    np.testing.assert_allclose(found.stiffness, inside / (1 + V), rtol=1e-12)
    np.testing.assert_allclose(found.square, square, rtol=1e-12)

    def value(g):
        left = spread * g / (1 + V)  # of the residual, until the force is clipped
        return 2 * norm.pdf(g) * (0.5 * left**2 if left < theta else theta * (spread * g - V * theta) - theta**2 / 2)

    assert float(found.loss[0]) == pytest.approx(quad(value, 0, 9, points=[min(a, 8.9)], epsabs=1e-13)[0], rel=1e-9)


def test_a_label_of_one_kind_tells_what_is_known():
    one = label_information(*(jnp.asarray(x) for x in ([1.0, 0.0], [0.7, 0.0], [0.9, 3.0], 0.6)))
    assert float(one) == pytest.approx((0.7 / 0.9) ** 2, rel=1e-9)


@pytest.mark.slow
def test_what_labels_of_two_kinds_tell():
    share, slope, spread, q = np.array([0.7, 0.3]), np.array([1.0, 0.2]), np.array([0.6, 2.0]), 0.8

    def of_label(y, omega):
        each = share * norm.pdf(y, slope * omega, spread)
        return np.sum(each * slope * (y - slope * omega) / spread**2) ** 2 / each.sum()

    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    known = sum(
        w * quad(of_label, -14, 14, args=(np.sqrt(q) * x,), points=[np.sqrt(q) * x], epsrel=1e-7)[0]
        for x, w in zip(nodes, weights / np.sqrt(2 * np.pi), strict=True)
    )
    assert float(label_information(*(jnp.asarray(x) for x in (share, slope, spread, q)))) == pytest.approx(
        known, rel=1e-6
    )


def test_labels_have_the_law_that_is_asked_for():
    """One standard normal decides which labels are outliers and what their noise is."""
    rng = np.random.default_rng(3)
    z, n = rng.standard_normal((2, 40_000)).astype(np.float32).astype(float)
    fraction, slope, variance = SPOILED
    y = np.asarray(drawn(jnp.asarray(z), jnp.asarray(n), *numbers(0.5), OutlierLaw(*numbers(*SPOILED))))

    def known(x):
        return (1 - fraction) * norm.cdf(x / np.sqrt(1.5)) + fraction * norm.cdf(x / np.sqrt(slope**2 + variance))

    def given(x):
        return (1 - fraction) * norm.cdf(x - 1, scale=0.5**0.5) + fraction * norm.cdf(x - slope, scale=variance**0.5)

    assert kstest(y, known).pvalue > 1e-4
    within = y[np.abs(z - 1) < 0.1]
    assert kstest(within, given).pvalue > 1e-4


def test_the_general_road_meets_the_closed_form_of_the_square_loss():
    found, known = solved(task("square")), closed(task("square"))
    for name in ("V", "q", "m", "norm"):
        assert float(getattr(found, name)) == pytest.approx(float(getattr(known, name)), rel=1e-11)
    assert float(found.train_loss) == pytest.approx(float(known.mse_train) / 2, rel=1e-11)


def test_huber_ends_at_the_square_and_at_the_absolute_loss():
    high, small = solved(task("huber", 1e3)), 1e-5
    low, absolute = solved(task("huber", small, ridge=0.7 * small)), solved(task("absolute"))
    for name in ("q", "m"):
        assert float(getattr(high, name)) == pytest.approx(float(getattr(closed(task("square")), name)), rel=1e-10)
        assert float(getattr(low, name)) == pytest.approx(float(getattr(absolute, name)), rel=1e-4)


def test_outliers_that_are_like_all_others_are_none():
    plain = solved(task("huber", outliers=None))
    for law in ((0.4, 1.0, 0.5), (0.0, 0.0, 9.0)):
        same = solved(task("huber", outliers=law))
        np.testing.assert_allclose([same.q, same.m, same.train_loss], [plain.q, plain.m, plain.train_loss], rtol=1e-11)


def test_no_learner_beats_the_best_one():
    """Without outliers it is ridge regression, whatever loss the task has; with them every robust loss is worse."""
    ridge = float(best_learner(task("huber", outliers=None))["risk"])
    assert ridge == pytest.approx(
        (-1.5 + np.sqrt(1.5**2 + 2)) / 4, rel=1e-11
    )  # x² + (alpha + Delta - 1) x = Delta, halved
    for law in ((0.0, 0.0, 9.0), (0.4, 1.0, 0.5)):
        assert float(best_learner(task("huber", outliers=law))["risk"]) == pytest.approx(ridge, rel=1e-8)
    end = solved(task("huber", 0.8, ridge=1.0))
    assert float(best_learner(task("huber"))["risk"]) < float(task("huber").risk(end.m, end.q))


@pytest.mark.slow
def test_the_best_threshold_is_better_than_its_neighbours_and_rests():
    samples = np.array([0.7, 3.0])
    best = optimal_threshold(task("huber"), samples)
    for number, alpha in enumerate(samples):
        ridge, theta = float(best.lambda_[number]), float(best.threshold[number])
        for a, b in ((1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99), (1.01, 1.01)):
            one = task("huber", b * theta, alpha, a * ridge)
            end = solved(one)
            assert best.risk[number] < float(one.risk(end.m, end.q)) < best.risk[number] * 1.001
        for name in ("square", "absolute"):
            assert best.risk[number] < optimal_ridge(task(name), samples).risk[number]
    none = optimal_threshold(task("huber", outliers=None), samples[:1])
    assert none.risk[0] == pytest.approx(float(best_learner(task("huber", alpha=0.7, outliers=None))["risk"]), rel=1e-9)
    assert none.threshold[0] > 10


def test_scikit_learns_huber_regressor_at_its_own_scale_is_the_same_fit():
    """It minimises sum (sigma + sigma H(r/sigma)) + alpha |w|² over sigma too: our ridge is alpha sigma, theta epsilon sigma."""
    rng, theta, ridge = np.random.default_rng(0), 0.8, 0.3
    rows, w = rng.standard_normal((120, 40)) / np.sqrt(40), rng.standard_normal(40)
    y = rows @ w + np.where(rng.random(120) < 0.2, 3.0, 0.5) * rng.standard_normal(120)
    ours = fitted_weights(task("huber", theta, ridge=ridge), rows, y)
    sigma = np.sqrt(np.mean(np.clip(y - rows @ ours, -theta, theta) ** 2))
    theirs = HuberRegressor(epsilon=theta / sigma, alpha=ridge / sigma, fit_intercept=False, tol=1e-8, max_iter=5000)
    theirs.fit(rows, y)
    np.testing.assert_allclose(theirs.coef_, ours, atol=3e-3)
    assert theirs.scale_ == pytest.approx(sigma, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "outliers"), [("huber", True), ("absolute", True), ("insensitive", False)])
def test_descent_follows_dmft_and_ends_where_static_is(name, outliers):
    """Means over data sets in dimension 300: within five standard errors of both, and what 1/N adds."""
    changes = {"training.loss": name, "training.tube": 0.4, "dimension": 300, "run.replicas": 16, "run.until": 24.0}
    if not outliers:
        changes["data.outliers"] = None
    asked = problem(**changes)
    comparison = df.compare(
        asked,
        only=(df.experiments.MultiPassSGD(), df.theories.DMFT(ensembles=4), df.theories.Static()),
        budget=float("inf"),
    )
    real, theory, end = (comparison.tree[one].to_dataset()["risk"] for one in ("multi-pass", "dmft", "static"))
    error = np.hypot(real.std("replica", ddof=1) / 4, 2 * theory.std("replica", ddof=1) / 2)
    gap = np.abs(real.mean("replica") - theory.mean("replica"))
    assert float((gap[1:] / (5 * error[1:] + 0.003)).max()) < 1
    # steps of a kinked loss do not come to rest: they keep a distance of the order of the rate
    still, known = 0.01 if name == "huber" else 0.1, float(np.ravel(end)[-1])
    own = 5 * float(theory.std("replica", ddof=1)[-1])  # of one ensemble: four of them know their error poorly
    assert abs(float(theory.mean("replica")[-1]) - known) < own / 2 + still * known


def test_old_problems_keep_their_digests_and_new_keys_count():
    old = {
        "3b9fc2d4a3dc6e2d": {},
        "1dc4b15dc7b03507": {"data": {"kind": "linear-teacher"}},
        "5c00d870f08c6dff": {"data": {"kind": "sign-teacher"}},
        "a8119fb5b6135da2": {"data": {"kind": "covariates", "labels": "linear", "noise": 0.3}},
        "e32a8d6076365240": {"data": {"kind": "random-features"}},
    }
    for digest, values in old.items():
        assert df.extend.DataSetProblem(**values).digest == digest
    changes = [
        {"training.threshold": 0.9},
        {"training.tube": 0.9},
        {"training.loss": "absolute"},
        {"data.outliers": None},
    ]
    changes += [{f"data.outliers.{key}": 0.11} for key in ("fraction", "slope", "variance")]
    assert len({problem().digest, *(problem(**one).digest for one in changes)}) == len(changes) + 1


def test_a_loss_may_be_written_as_one_pass_training_writes_it():
    table = df.loads('[data]\nkind = "linear-teacher"\n[training]\nloss = {kind = "huber", threshold = 0.4}')
    assert (table.training.loss, table.training.threshold) == ("huber", 0.4)
    assert df.loads(df.dumps(problem())) == problem()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"training.threshold": 0.0}, "training] got threshold = 0.0: input should be greater than 0."),
        ({"training.tube": -1.0}, "training] got tube = -1.0: input should be greater than 0."),
        ({"data.outliers.fraction": 1.0}, "[data.outliers] got fraction = 1.0: input should be less than 1."),
        (
            {"data.outliers.variance": -1.0},
            "[data.outliers] got variance = -1.0: input should be greater than or equal to 0.",
        ),
        ({"data.outliers.part": 0.1}, "[data.outliers] has no key 'part'; choose from: fraction, slope, variance."),
        (
            {"data.kind": "covariates", "data.outliers": {"fraction": 0.1}},
            "[data]: outliers are among real labels, and these are signs; set labels = 'linear', or leave outliers out.",
        ),
        ({"data.kind": "sign-teacher", "data.outliers": {"fraction": 0.1}}, "[data] has no key 'outliers'; "),
        ({"training.loss": "hubert"}, "[training] got loss = 'hubert'; did you mean 'huber'?"),
    ],
)
def test_bad_input_is_one_sentence(values, sentence):
    with pytest.raises(df.ProblemError) as failure:
        problem(**values)
    assert sentence in str(failure.value)
    assert "\n" not in str(failure.value)


def test_what_is_not_known_is_refused_with_the_reason():
    opposite = problem(**{"data.outliers.slope": -0.5})
    assert "several solutions; set data.outliers.slope to 0 or more." in str(
        why_not(df.theories.BayesOptimal(), opposite)
    )
    kinked = problem(**{"training.loss": "absolute"})
    assert why_not(df.theories.DMFT(), kinked) is None
    assert str(why_not(df.theories.DMFT(responses=True), kinked)).endswith(
        "the absolute loss has no second derivative, which the response needs; "
        "set training.loss = 'huber' and training.threshold to a small width."
    )
    bare = problem(**{"training.weight_decay": 0.0, "data.samples": 0.5})
    assert "the minimum is not unique" in str(why_not(df.theories.Static(), bare))
    assert "it is fitted with weight decay" in str(why_not(df.experiments.Fitted(), bare))
    exact = problem(**{"training.loss": "absolute", "data.noise": 0.0, "data.samples": 4.0})
    assert str(why_not(df.theories.Static(), exact)).endswith(
        "the equations did not settle at training.weight_decay = 0.3; raise training.weight_decay or data.noise: "
        "without them weights may fit most labels exactly."
    )
    with pytest.raises(df.ProblemError, match=r"the hinge loss has no meaning; set training.loss = 'square', 'huber'"):
        model_of(problem(**{"training.loss": "hinge"}))


@pytest.mark.slow
def test_the_law_of_outliers_is_mapped_and_differentiated():
    """The slope of the risk in the fraction of outliers, against a difference quotient."""

    def risk(fraction):
        one = task("huber", outliers=(fraction, 0.0, 5.0))
        end = state_evolution(one)
        return one.risk(end.m, end.q)

    slope, (up, down) = (
        quick_program(jax.grad(risk))(jnp.asarray(0.2)),
        (solved(task("huber", outliers=(0.2 + s, 0.0, 5.0))) for s in (1e-4, -1e-4)),
    )
    quotient = (float(task("huber").risk(up.m, up.q)) - float(task("huber").risk(down.m, down.q))) / 2e-4
    assert float(slope) == pytest.approx(quotient, rel=1e-6)
