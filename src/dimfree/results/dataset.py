"""From observables to labelled data: the only place where arrays become xarray datasets."""

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime

import jax
import numpy as np
import xarray as xr

from dimfree._version import __version__
from dimfree.description import AnyDescription, Times, Values
from dimfree.problem import Problem, dumps
from dimfree.registry import setting_of
from dimfree.results.schema import LARGEST_ARRAY
from dimfree.setting import Variable, model_of, speaking


def dataset(
    problem: Problem,
    one: AnyDescription,
    times: Times | None,
    observables: Mapping[str, Values],
    spent: Mapping[str, float],
    warnings: tuple[str, ...] = (),
) -> xr.Dataset:
    """The dataset of one run of one description, with its provenance; a stationary account has no times."""
    declared = {**setting_of(problem).variables, **one.variables}
    data = {}
    for name, values in _summarised(observables, declared).items():
        variable = declared[name]
        dims = variable.dims if times is not None else variable.dims[2:]
        data[name] = (dims, np.asarray(values), {"units": variable.units, "long_name": variable.meaning})
    coordinates: dict[str, tuple[str, Values, dict[str, str]]] = {}
    if times is not None:
        clock = (np.asarray(times), {"units": problem.time_units, "long_name": "time"})
        copies = {dim for dims, *_ in data.values() for dim in dims if dim.rstrip("_") == "time"}
        coordinates = {name: (name, *clock) for name in sorted({"time"} | copies)}
    sizes = {dim: size for dims, values, _ in data.values() for dim, size in zip(dims, values.shape, strict=True)}
    for name, scale in setting_of(problem).scales_of(problem).items():
        if sizes.get(scale.dim) == len(scale.values):
            coordinates[name] = (scale.dim, scale.values, {"long_name": scale.meaning})
    return xr.Dataset(data, coordinates, provenance(problem, one) | dict(spent) | {"warnings": "\n".join(warnings)})


def warnings_of(data: xr.Dataset) -> tuple[str, ...]:
    """The warnings of an account, one sentence each."""
    return tuple(str(data.attrs.get("warnings", "")).splitlines())


def misfit(problem: Problem, data: xr.Dataset) -> str | None:
    """Why a dataset is not an account of a problem, as the end of a sentence; None if it is one."""
    for name in ("real", "scatters", "accuracy", "cpu_seconds"):
        if not isinstance(data.attrs.get(name), int | float | np.number):
            return f"has no number {name!r} among its attributes"
    if not data.data_vars:
        return "has no observables"
    if "time" not in data.dims:
        return None
    if "risk" not in data or "time" not in data.coords:
        return "has no risk over time"
    for name, variable in setting_of(problem).variables.items():
        if name in data and (data[name].dims != variable.dims or data[name].dtype.kind != "f" or not data[name].size):
            return f"has {name!r} over {', '.join(map(str, data[name].dims))}, not over {', '.join(variable.dims)}"
    return None


def provenance(problem: Problem, one: AnyDescription) -> dict[str, str | int | float]:
    """Everything needed to know where the numbers of an account came from (results/schema.ATTRIBUTES)."""
    return {
        "description": one.name,
        "title": one.title,
        "real": int(one.real),
        "scatters": int(one.scatters),
        "settings": settings(one),
        "identity": identity(problem, one),
        "accuracy": speaking(one).accuracy(problem, model_of(problem)),
        "leaves_open": speaking(one).leaves_open(problem, model_of(problem)),
        "cites": " ".join(one.cites),
        **origin(problem),
    }


def origin(problem: Problem) -> dict[str, str | int]:
    """What all results say about where they came from."""
    return {
        "problem": dumps(problem),
        "digest": problem.digest,
        "seed": problem.run.seed,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "dimfree_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()} {jax.default_backend()}",
    }


def settings(one: AnyDescription) -> str:
    """A description's own fields as JSON; values that JSON does not have are written as their text."""
    return json.dumps(one.settings, sort_keys=True, default=str)


def identity(problem: Problem, one: AnyDescription) -> str:
    """A hash of all that decides the numbers: the problem and its files, the description and its fields, the version."""
    parts = (problem.digest, one.name, settings(one), __version__)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _summarised(observables: Mapping[str, Values], declared: Mapping[str, Variable]) -> dict[str, Values]:
    """Keep only the diagonal of a square matrix that is too large, if the setting declares a name for it."""
    kept = dict(observables)
    for name, values in observables.items():
        if values.size > LARGEST_ARRAY and f"{name}_diagonal" in declared:
            kept[f"{name}_diagonal"] = np.diagonal(kept.pop(name), axis1=-2, axis2=-1)
    return kept
