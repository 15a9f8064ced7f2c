"""Adapters for networks on a data set (docs/theory/committee-dmft.md); files list trajectories and single values."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.dataset.committee.descent import run_network
from dimfree.dataset.committee.fresh import solve_fresh
from dimfree.dataset.committee.linear import solve_linear
from dimfree.dataset.committee.model import CommitteeModel, Link
from dimfree.dataset.committee.paths import solve_paths
from dimfree.dataset.committee.protocol import Protocol
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.taught import risks
from dimfree.dataset.committee.two_steps import two_steps
from dimfree.functions.label_law import GaussianValues, LabelLaw, Signs
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import HuberLoss, LogisticLoss, SampleLoss, SquareLoss
from dimfree.functions.schedule import Constant
from dimfree.functions.target import Committee, Target, hermite

Values = dict[str, Any]
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_KINDS = {
    "(L1-L5)": "network_linear",
    "quadrature": "network_two_steps",
    "recursion": "network_fresh",
    "path DMFT": "network_paths",
    "direct SGD": "network_sgd",
}
_ENSEMBLES, _PATHS, _DATA_SETS = 12, 8000, 12
_LONG = 40  # steps; shorter runs have as many more paths
_NUMBERS = {
    "alpha": "alpha",
    "eta": "eta",
    "noise": "Delta",
    "lam": "lambda_",
    "eta_a": "eta_a",
    "lam_a": "lambda_a",
    "b": "b",
    "tau": "tau",
    "beta": "beta",
    "temp": "temperature",
}


class Case(NamedTuple):
    """A network, its start, and the steps at which it is observed."""

    model: CommitteeModel
    start: CommitteeStart
    at: "np.ndarray[tuple[int], np.dtype[np.int64]]"


def speaks_of(content: Values) -> bool:
    """Whether the cases of a file are networks with an activation."""
    return any("act" in case.get("params", {}) for case in content.get("cases", []))


def items(content: Values) -> Iterator[tuple[str, str, Values, Values, float, float]]:
    """Id, kind, inputs, expected values, relative and absolute tolerance of everything in a file."""
    for case in content["cases"]:
        kind = next((kind for mark, kind in _KINDS.items() if mark in case["solver"]), case["solver"])
        inputs = case["params"] | {"t_index": case["t_index"], "solver": case["solver"]}
        expected = case["values"] | {f"{name}_se": error for name, error in case.get("se", {}).items()}
        for name in ("two_time", "kernels"):
            rows = case.get(name, [])
            inputs[name] = rows
            for column in {column for row in rows for column in row} - {"t", "s"}:
                expected[f"{name}_{column}"] = [row[column] for row in rows]
        for name, values in case.get("fresh_batches", {}).items():
            expected[f"fresh_{name}"] = values
        yield case["id"], kind, inputs, expected, 0.0, case.get("tol_abs", 1e-6)
    for number, one in enumerate(content["functions"]):
        inputs = one["params"] | {name: one[name] for name in ("M", "Q", "a")}
        yield f"{one['fn']} {number}", f"network_{one['fn']}", inputs, {"value": one["value"]}, 0.0, one["tol_abs"]


def linear(inputs: Values) -> Values:
    """The exact closure: observables at the times asked for, two-time functions and kernels at the pairs asked for."""
    model, start, at = case_of(inputs)
    found = solve_linear(model, start, inputs["steps"])
    pairs = {
        f"{name}_{column}": [getattr(found, column)[row["t"], row["s"]].tolist() for row in inputs[name]]
        for name, columns in (("two_time", "CR"), ("kernels", "kN"))
        for column in columns
    }
    seen = {name: getattr(found, name)[at] for name in ("M", "Q", "a", "train_loss")}
    return pairs | seen | {"risk": risks(model, found.M, found.Q, found.a)[at]}


def giant_steps(inputs: Values) -> Values:
    """Two steps by quadrature, on one batch and on fresh ones."""
    model, start, at = case_of(inputs)
    reused, fresh = (two_steps(model, start, reused=same) for same in (True, False))
    seen = {name: np.asarray(getattr(reused, name))[at] for name in ("M", "Q")}
    return seen | {f"fresh_{name}": np.asarray(getattr(fresh, name))[at] for name in ("M", "Q")}


def fresh(inputs: Values) -> Values:
    """The recursion of one pass."""
    model, start, at = case_of(inputs)
    found = solve_fresh(model, start, inputs["steps"])
    M, Q = found.M[at], found.Q[at]
    return {"M": M, "Q": Q, "risk": risks(model, M, Q, np.broadcast_to(start.a, (len(at), len(start.a))))}


def paths(inputs: Values) -> Values:
    """The path DMFT: means and standard errors over ensembles of this run."""
    model, start, at = case_of(inputs)
    steps, count = inputs["steps"], _PATHS * max(1, _LONG // inputs["steps"])
    keys = jax.random.split(jax.random.key(11), _ENSEMBLES)
    found = [solve_paths(model, start, steps, key, count) for key in keys]
    everything = [observables(model, *(np.asarray(part)[at] for part in one[:4])) for one in found]
    return _mean_and_error(everything, _paths_of(inputs["solver"]) / (_ENSEMBLES * count))


def sgd(inputs: Values) -> Values:
    """Real training on data sets of this run."""
    model, start, at = case_of(inputs)
    keys = jax.random.split(jax.random.key(12), _DATA_SETS)
    everything = [observables(model, *run_network(model, start, at, key)[:4]) for key in keys]
    return _mean_and_error(everything, inputs["seeds"] / _DATA_SETS)


def risk_of(inputs: Values) -> Values:
    """The risk of given overlaps."""
    blank = {"alpha": 1.0, "eta": 1.0, "b": 1.0, "protocol": "vanilla", "noise": 0.0, "tau": 0.0}
    none = dict.fromkeys(("lam", "eta_a", "lam_a", "beta", "temp"), 0.0)
    rest = {"labels": "real", "loss": "square", "rescale": False, "spherical": False, "t_index": [0]}
    model = case_of(blank | none | rest | inputs | {"M0": inputs["M"], "Q0": inputs["Q"]}).model
    M, Q, a = (np.asarray(inputs[name])[None] for name in ("M", "Q", "a"))
    return {"value": float(risks(model, M, Q, a)[0])}


def within_errors(expected: Values, found: Values, atol: float) -> Iterator[str]:
    """Two independent Monte-Carlo runs: |difference| <= 5 combined standard errors + atol.

    Few ensembles underestimate their own error: that of the reference, scaled by the numbers of paths, counts if it is larger.
    """
    for name in (name for name in expected if f"{name}_se" in expected):
        theirs = np.asarray(expected[f"{name}_se"])
        ours = np.maximum(found[f"{name}_se"], theirs * found["scale"])
        excess = np.abs(np.asarray(found[name]) - np.asarray(expected[name])) - 5 * np.hypot(theirs, ours) - atol
        if not (excess <= 0).all():
            worst = np.unravel_index(np.argmax(excess), excess.shape)
            yield (
                f"{name}{list(map(int, worst))} is {np.asarray(found[name])[worst]:.8g}, expected "
                f"{np.asarray(expected[name])[worst]:.8g} with errors {ours[worst]:.2g} and {theirs[worst]:.2g}"
            )


def observables(
    model: CommitteeModel,
    M: Numbers,
    Q: Numbers,
    a: Numbers,
    loss: Numbers,
) -> Values:
    """Overlaps and losses, with the risk where it is known."""
    known = isinstance(model.target, Committee) and model.square
    return {"M": M, "Q": Q, "a": a, "train_loss": loss} | ({"risk": risks(model, M, Q, a)} if known else {})


def _mean_and_error(everything: list[Values], ratio: float) -> Values:
    result: Values = {"scale": ratio**0.5}
    for name in everything[0]:
        values = np.stack([one[name] for one in everything])
        result[name], result[f"{name}_se"] = values.mean(axis=0), values.std(axis=0, ddof=1) / len(values) ** 0.5
    return result


def _paths_of(solver: str) -> float:
    """All paths of the reference: "... 10 ensembles x 32000 paths"."""
    words = solver.replace(",", " ").split()
    return float(words[words.index("ensembles") - 1]) * float(words[words.index("paths") - 1])


def case_of(inputs: Values) -> Case:
    """What a file says of a run."""
    P = jnp.asarray(inputs["P"] if inputs["P"] is not None else np.eye(inputs["k"]))
    numbers = {ours: jnp.asarray(float(inputs[theirs])) for theirs, ours in _NUMBERS.items()}
    labels: LabelLaw = GaussianValues()
    if inputs["labels"] == "sign":
        labels = Signs(jnp.zeros(()), blurred=inputs["noise"] > 0)
    model = CommitteeModel(
        width=inputs["p"],
        d=inputs.get("d", 0),
        protocol=cast(Protocol, inputs["protocol"]),
        train_a=inputs["eta_a"] > 0,
        train_b=False,
        offsets=False,
        spherical=inputs["spherical"],
        rescaled=inputs["rescale"],
        activation=activation(inputs["act"]),
        target=_target(inputs, P),
        labels=labels,
        loss=_loss(inputs["loss"]),
        schedule=Constant(),
        **numbers,
    )
    at = np.asarray(inputs["t_index"])
    a = inputs.get("a", [1.0] * inputs["p"])
    start = CommitteeStart(*(np.asarray(part, dtype=float) for part in (inputs["M0"], inputs["Q0"], a)))
    return Case(model, start, at)


def _tanh_leap(teacher: Float[Array, "... k"]) -> Float[Array, "..."]:
    return jnp.tanh(teacher[..., 0] + hermite(3)(teacher[..., 1]))


def _target(inputs: Values, P: Float[Array, "k k"]) -> Target | Link:
    if inputs["teacher"] == "tanh-leap":
        return Link(_tanh_leap, P)
    return Committee(activation(inputs["teacher"]), jnp.asarray(inputs["a_star"]), P)


def _loss(name: Literal["square", "logistic", "huber"]) -> SampleLoss:
    return {"square": SquareLoss(), "logistic": LogisticLoss(), "huber": HuberLoss(jnp.ones(()))}[name]
