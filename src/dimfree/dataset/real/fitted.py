"""Real learners at the end of training: scikit-learn's ridge, logistic regression and linear support vectors, on drawn data.

docs/theory/static.md, section 0: the loss is summed, rows are v/sqrt(d), there is no intercept. scikit-learn's HuberRegressor
fits a scale together with the weights, so that its threshold is not given: Huber's loss is minimised by SciPy instead.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from threadpoolctl import threadpool_limits

from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.static import NO_DESCENT
from dimfree.dataset.ends.task import Task
from dimfree.description import Cost, Memory, Times, Values
from dimfree.errors import DivergenceError
from dimfree.functions.loss import Hinge, Logistic, Square
from dimfree.functions.residual_loss import Absolute, Huber, Insensitive
from dimfree.machine import refuse_above_memory
from dimfree.problem import Problem

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# how many products with the data matrix a fit takes
_PASSES = {"square": 30.0, "logistic": 60.0, "hinge": 400.0, "huber": 150.0, "absolute": 600.0, "insensitive": 400.0}
FITTED_BY = {"huber": "SciPy"}  # all other losses are fitted by scikit-learn
_FLAT = 1e-5  # a smaller gradient counts as converged
_HARD = 1e5  # C of the hinge loss without ridge: margins are hard then


class Fitted(Memory[EndModel, None]):
    """Learners of scikit-learn at the minimum of their loss: every replica has a data set of its own."""

    name: ClassVar[str] = "fitted"
    experiment: ClassVar[str] = "fits"
    summary: ClassVar[str] = (
        "real learners on drawn data: scikit-learn's ridge, logistic regression, SVC and SVR, and Huber's loss by SciPy"
    )
    cites: ClassVar[tuple[str, ...]] = ("pedregosa2011",)
    models: ClassVar[type[EndModel]] = EndModel
    real: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True

    def refuses(self, problem: Problem, model: EndModel) -> str | None:
        """Refuse losses that are not convex, or that scikit-learn does not have."""
        if model.task is None:
            return "scikit-learn's learners are fitted to labels of a teacher; set data.kind = 'sign-teacher'."
        if not model.descends:
            return NO_DESCENT
        ell = model.task.loss
        if not isinstance(ell, Square | Logistic | Hinge | Huber | Absolute | Insensitive):
            return f"scikit-learn has no linear learner with the {ell.name} loss; set training.loss = 'hinge'."
        if float(model.task.lambda_) == 0 and not isinstance(ell, Hinge):
            return "it is fitted with weight decay; set training.weight_decay to a positive number."
        return None

    def cost(self, problem: Problem, model: EndModel) -> Cost:
        """Products with the data matrix, and its draw."""
        assert model.task is not None
        entries = float(model.task.alpha) * model.dimension**2
        passes = _PASSES.get(model.task.loss.name, 100.0)
        seconds = 1.5 + problem.run.replicas * entries * (2e-8 + 1.2e-9 * passes)
        return Cost(seconds, passes, 24 * entries)

    def replica(
        self, model: EndModel, start: None, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """Fit one data set; the result is the same at every time."""
        assert model.task is not None
        refuse_above_memory(
            24 * float(model.task.alpha) * model.dimension**2, "the data set", "lower dimension or data.samples"
        )
        rng = np.random.default_rng(np.asarray(jax.random.key_data(jax.random.fold_in(key, number))).tolist())
        seen = fit_once(model, rng)
        return {name: np.full(len(times), value) for name, value in seen.items()}


def fit_once(model: EndModel, rng: np.random.Generator) -> dict[str, float]:
    """Draw a data set, fit it, and look at the weights."""
    task, d = model.task, model.dimension
    assert task is not None
    samples = max(1, round(float(task.alpha) * d))
    (v, y), drawn = model.source.draw(task, samples, d, rng)
    w = fitted_weights(task, v / np.sqrt(d), y)
    test, h = model.source.test(task, w, drawn, rng), v @ w / np.sqrt(d)
    margin = jnp.asarray(y * h if task.labels == "sign" else 1 - y + h)
    seen = {"risk": test.risk, "m": test.m, "norm": float(w @ w) / d, "train_loss": float(task.loss(margin).mean())}
    return seen | ({"train_accuracy": float(np.mean(y * h > 0))} if task.labels == "sign" else {})


def fitted_weights(task: Task, rows: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """The minimum, by scikit-learn where it has a learner of that loss."""
    if isinstance(task.loss, Huber):
        return _huber(rows, y, float(task.loss.threshold), float(task.lambda_))
    if task.labels == "sign" and len(np.unique(y)) == 1:  # by chance, and scikit-learn needs two classes
        rows, y = np.concatenate([rows, -rows[:1]]), np.append(y, -y[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            learner = _learner(task).fit(rows, y)
        except Warning as failure:
            raise DivergenceError(
                f"scikit-learn's fit at lambda = {float(task.lambda_):g} did not converge ({failure}); raise weight decay."
            ) from None
    return np.ravel(learner.coef_)


def _learner(task: Task) -> "BaseEstimator":
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC, LinearSVR

    ridge = float(task.lambda_)
    dual = {"fit_intercept": False, "dual": True, "tol": 1e-5, "max_iter": 1_000_000, "random_state": 0}
    match task.loss:
        case Square():
            return Ridge(alpha=ridge, fit_intercept=False)
        case Logistic():
            return LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-6, max_iter=20_000)
        case Absolute():
            return LinearSVR(epsilon=0.0, C=1 / ridge, **dual)
        case Insensitive():
            return LinearSVR(epsilon=float(task.loss.tube), C=1 / ridge, **dual)
        case _:
            return LinearSVC(loss="hinge", C=1 / ridge if ridge > 0 else _HARD, **dual)


def _huber(
    rows: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], threshold: float, ridge: float
) -> Float[np.ndarray, " d"]:
    from scipy.optimize import minimize

    def cost(w: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
        residual = y - rows @ w
        force = np.clip(residual, -threshold, threshold)
        value = force @ (residual - force / 2) + 0.5 * ridge * w @ w
        return float(value), ridge * w - rows.T @ force

    options = {"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-8}
    with threadpool_limits(1):  # one thread: several would wait for each other longer than these products take
        found = minimize(cost, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options=options)
    left = float(np.abs(found.jac).max())
    if not left < _FLAT * (1 + np.abs(rows.T @ np.clip(y, -threshold, threshold)).max()):
        raise DivergenceError(
            f"SciPy's fit of the Huber loss at lambda = {ridge:g} did not converge (a gradient of {left:.2g} is left); "
            "raise weight decay."
        )
    return np.asarray(found.x)
