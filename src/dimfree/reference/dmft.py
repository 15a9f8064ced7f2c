"""Adapters for multi-pass SGD (docs/theory/dmft.md); its files list trajectories (`cases`) and single values (`functions`)."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dimfree.dataset.dmft.paths import fewest_paths, mean_and_error, solve_paths
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.ends.static import static_limit
from dimfree.dataset.multi_pass_model import MultiPassModel, multi_pass_model
from dimfree.functions.convex import Loss
from dimfree.functions.loss import loss as loss_of
from dimfree.questions.temperature.formulas import stationary

Values = dict[str, Any]
_PATHS, _ENSEMBLES = 4000, 24

_KINDS = {"(S1-S4)": "dmft_square", "(E1-E4)": "dmft_static", "(T1-T4)": "dmft_stationary", "forward": "dmft_paths"}
_FUNCTIONS = {"gen_error_2": "two-clusters", "gen_error_3": "three-clusters"}
_TASKS = {
    "mixture2": "two-clusters",
    "mixture3": "three-clusters",
    "teacher": "linear-teacher",
    "phase": "phase-retrieval",
}
_LOSSES = {"huber_hinge": "smooth-hinge"}
_NAMES = {"gen_err": "generalisation_error", "Cconn_lag": "C_conn", "chi_lag": "chi"}
_PARAMETERS = {
    "delta": "Delta",
    "lam": "lambda_",
    "rescale": "rescaled",
    "temp": "temperature",
    **{name: name for name in ("alpha", "eta", "b", "tau", "spherical", "c0", "m0", "L", "rho0", "kappa_L")},
}


def items(content: Values) -> Iterator[tuple[str, str, Values, Values, float, float]]:
    """Id, kind, inputs, expected values, relative and absolute tolerance of everything in a file."""
    for case in content["cases"]:
        kind = next((kind for mark, kind in _KINDS.items() if mark in case["solver"]), case["solver"])
        pairs = {name: case[name] for name in ("two_time", "kernels") if name in case}
        expected = case["values"] | {f"{name}_se": error for name, error in case.get("se", {}).items()}
        for name, rows in pairs.items():
            columns = {column for row in rows for column in row} - {"t", "s"}
            expected |= {f"{name}_{column}": [row[column] for row in rows] for column in columns}
        inputs = case["params"] | {name: case[name] for name in ("t_index", "lags") if name in case} | pairs
        yield case["id"], kind, inputs, expected, 0.0, case.get("tol_abs", 1e-6)
    for number, one in enumerate(content["functions"]):
        kind = "dmft_error" if one["fn"] in _FUNCTIONS else one["fn"]
        yield f"{one['fn']} {number}", kind, one, {"value": one["value"]}, 0.0, one["tol_abs"]


def square(inputs: Values) -> Values:
    """The exact closure: observables at the times asked for, two-time functions and kernels at the pairs asked for."""
    found = solve(_model(inputs), inputs["steps"])
    pairs = {
        f"{name}_{column}": [float(getattr(found, column)[row["t"], row["s"]]) for row in inputs.get(name, [])]
        for name, columns in (("two_time", "CR"), ("kernels", "KM"))
        for column in columns
    }
    at = np.asarray(inputs["t_index"])
    return pairs | {
        "m": np.asarray(found.m)[at],
        "Cdiag": np.diagonal(found.C)[at],
        "train_loss": np.asarray(found.train_loss)[at],
        "gen_err": np.asarray(found.generalisation_error)[at],
    }


def static(inputs: Values) -> Values:
    """The static limit."""
    return _renamed(static_limit(_model(inputs))._asdict())


def vanilla_stationary(inputs: Values) -> Values:
    """The closed stationary state."""
    return _renamed(stationary(_model(inputs), jnp.asarray(inputs["lags"]))._asdict())


def paths(inputs: Values) -> Values:
    """The path DMFT: means and standard errors over ensembles of this run."""
    steps = inputs["steps"]
    found = solve_paths(_model(inputs), steps, jax.random.key(7), max(_PATHS, fewest_paths(steps)), _ENSEMBLES)
    at = np.asarray(inputs["t_index"])
    observed = {
        "m": found.m[:, at],
        "Cdiag": np.diagonal(found.C, axis1=1, axis2=2)[:, at],
        "train_loss": found.train_loss[:, at],
        "gen_err": found.generalisation_error[:, at],
    }
    result = {}
    for name, values in observed.items():
        result[name], result[f"{name}_se"] = mean_and_error(values)
    return result


def within_errors(expected: Values, found: Values, atol: float) -> Iterator[str]:
    """Two independent Monte-Carlo runs: |difference| <= 5 combined standard errors + atol."""
    for name in (name for name in expected if f"{name}_se" in expected):
        error = np.hypot(expected[f"{name}_se"], found[f"{name}_se"])
        excess = np.abs(np.asarray(found[name]) - np.asarray(expected[name])) - 5 * error - atol
        if not (excess <= 0).all():
            yield f"{name} is {np.asarray(found[name]).tolist()}, expected {expected[name]} with errors {error.tolist()}"


def error(inputs: Values) -> Values:
    """Generalisation errors from m and C."""
    model = _model(inputs | {"alpha": 1.0}, _FUNCTIONS[inputs["fn"]])
    return {"value": float(model.generalisation_error(jnp.asarray(inputs["m"]), jnp.asarray(inputs["C"])))}


def _model(inputs: Values, task: str = "two-clusters") -> MultiPassModel:
    """The model of a file's parameters; what a file leaves out has no influence on its values."""
    task = _TASKS[inputs["model"]] if "model" in inputs else task
    numbers = {ours: inputs[theirs] for theirs, ours in _PARAMETERS.items() if theirs in inputs}
    return multi_pass_model(task, _loss(inputs, task), **({"eta": 0.1} | numbers))


def _loss(inputs: Values, task: str) -> Loss:
    name = str(inputs.get("loss", "square"))
    return loss_of("square" if task == "phase-retrieval" else _LOSSES.get(name, name))


def _renamed(found: Values) -> Values:
    """The names of the files beside ours."""
    return found | {theirs: found[ours] for theirs, ours in _NAMES.items() if ours in found}
