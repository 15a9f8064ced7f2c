"""Adapters for learning curves (docs/theory/static.md); those of sections a and b list `cases` by `function`."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from dimfree.dataset.ends import rademacher as complexities
from dimfree.dataset.ends.bayes import bayes_optimal
from dimfree.dataset.ends.covariates import Covariates, from_spectrum, isotropic
from dimfree.dataset.ends.max_margin import max_margin as largest_margin
from dimfree.dataset.ends.optimal_ridge import optimal_ridge
from dimfree.dataset.ends.random_features import Features
from dimfree.dataset.ends.ridge import ridge as closed_ridge
from dimfree.dataset.ends.state_evolution import state_evolution
from dimfree.dataset.ends.task import Task, error
from dimfree.dataset.outliers import OutlierLaw
from dimfree.functions import activation
from dimfree.functions.loss import Square, loss
from dimfree.gaussian.linear_part import linear_part
from dimfree.programs.compiled import quick_program

Values = dict[str, Any]
_ONE = jnp.ones(())
_solved = quick_program(state_evolution)
_closed = quick_program(closed_ridge)


def speaks_of(content: Values) -> bool:
    """Whether a file lists functions of its own in this way."""
    return any("function" in case for case in content.get("cases", []))


def items(content: Values) -> Iterator[tuple[str, str, Values, Values, float, float]]:
    """Id, kind, inputs, expected values, relative and absolute tolerance of everything in a file."""
    for case in content["cases"]:
        yield case["id"], case["function"], case["params"], _flat(case["expect"]), case["rtol"], 0.0


def _flat(expected: Values) -> Values:
    """Values in a table by name and key."""
    tables = {name: value for name, value in expected.items() if isinstance(value, dict)}
    named = {f"{name}[{key}]": value for name, table in tables.items() for key, value in table.items()}
    return {name: value for name, value in expected.items() if name not in tables} | named


def bayes_sign(inputs: Values) -> Values:
    """The Bayes-optimal perceptron."""
    rho, Delta = inputs["rho"] * _ONE, inputs["Delta"] * _ONE
    found = bayes_optimal(inputs["alpha"] * _ONE, rho, Delta)
    return found._asdict() | {"eps_gen": error(found.q, found.q, rho + Delta)}


def erm_classification(inputs: Values) -> Values:
    """State evolution of a convex loss."""
    task = _task(inputs)
    found = _solved(task)
    return found._asdict() | {"eps_gen": error(found.m, found.q, task.label_variance)}


def robust_regression(inputs: Values) -> Values:
    """A loss of residuals with ridge, labels of a linear teacher with outliers; the square loss in closed form."""
    alpha, ridge, noise, *law = (
        jnp.asarray(inputs[name], dtype=float) for name in ("alpha", "ridge", "noise", "fraction", "slope", "variance")
    )
    ell = loss(inputs["loss"], inputs["threshold"])
    task = Task("linear", ell, isotropic(), alpha, ridge, noise, OutlierLaw(*law))
    found = (_closed if isinstance(ell, Square) else _solved)(task)
    return {"m": found.m, "q": found.q, "V": found.V, "estimation_error": 2 * task.risk(found.m, found.q)}


def max_margin(inputs: Values) -> Values:
    """The largest margin and the error of the classifier that has it."""
    found = largest_margin(_task(inputs))
    return {"kappa": found.q**-0.5, "eps_gen": error(found.m, found.q, _ONE)}


def optimal_lambda(inputs: Values) -> Values:
    """The ridge of the smallest error."""
    low, high = inputs["search"]
    best = optimal_ridge(_task(inputs), np.array([inputs["alpha"]]), (low, high))
    return {"lam": best.lambda_[0], "eps_gen": best.risk[0]}


def ridge(inputs: Values) -> Values:
    """The square loss in closed form."""
    task = _task(inputs)
    found = _closed(task)
    return found._asdict() | {"eps_gen": error(found.m, found.q, task.label_variance)}


def rademacher(inputs: Values) -> Values:
    """Complexities in infinite dimension."""
    alpha = np.array([inputs["alpha"]])
    return {
        "linear_unit_radius": complexities.linear_class(alpha)[0],
        "sign_rs": complexities.sign_replica_symmetric(alpha)[0],
        "sign_massart_cover": complexities.sign_counting(alpha)[0],
    }


def rademacher_linear_finite(inputs: Values) -> Values:
    """The linear class for finite numbers."""
    return {"value": complexities.linear_class_finite(inputs["n"], inputs["d"])}


def hermite_kappas(inputs: Values) -> Values:
    """Constant, linear and remaining part of an activation."""
    return linear_part(activation(inputs["activation"]))._asdict()


def _task(inputs: Values) -> Task:
    """What a file leaves out has no influence on its values."""
    full: Values = {
        "loss": "square",
        "teacher": "sign",
        "spectrum": "isotropic",
        "rho": 1.0,
        "lam": 1.0,
        "Delta": 0.0,
    } | inputs
    alpha, lambda_, Delta = (jnp.asarray(full[name], dtype=float) for name in ("alpha", "lam", "Delta"))
    return Task(full["teacher"], loss(full["loss"]), _covariates(full), alpha, lambda_, Delta)


def _covariates(inputs: Values) -> Covariates:
    """Isotropic, the law of Marchenko and Pastur, or powers by the rule that the file writes down."""
    match inputs["spectrum"]:
        case "isotropic":
            return isotropic(inputs["rho"])
        case "marchenko-pastur":
            made = Features(*(inputs[name] * _ONE for name in ("kappa1", "kappastar", "rho")))
            return made.limit(inputs["d_over_D"] * _ONE)
        case rule:
            number = np.arange(1.0, rule["d"] + 1)
            omega = number ** -rule["omega_exp"]
            omega /= omega.mean()
            phi2 = number ** -rule["b_exp"] * omega
            return from_spectrum(omega, phi2 * 0.8 * inputs["rho"] / np.sum(phi2 / omega), inputs["rho"])
