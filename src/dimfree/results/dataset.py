"""From observables to labelled data: the one border where arrays enter xarray."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jax
import numpy as np
import xarray as xr

from dimfree._version import __version__
from dimfree.description import Description
from dimfree.problem import dumps
from dimfree.problem.problem import Problem
from dimfree.results.schema import LARGEST_ARRAY, VARIABLES


def dataset(
    problem: Problem,
    description: Description,
    times: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    observables: Mapping[str, "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"],
    spent: Mapping[str, float],
) -> xr.Dataset:
    """One run of one description, with its provenance."""
    variables = {}
    for name, values in _summarised(observables).items():
        variable = VARIABLES[name]
        variables[name] = (variable.dims, values, {"units": variable.units, "long_name": variable.meaning})
    coordinates = {"time": ("time", np.asarray(times), {"units": problem.time_units, "long_name": "time"})}
    if any("time_" in dims for dims, *_ in variables.values()):
        coordinates["time_"] = ("time_", *coordinates["time"][1:])
    return xr.Dataset(variables, coordinates, provenance(problem, description) | dict(spent))


def provenance(problem: Problem, description: Description) -> dict[str, Any]:
    """Everything needed to know where numbers came from (results/schema.ATTRIBUTES)."""
    return {
        "description": description.name,
        "problem": dumps(problem),
        "digest": problem.digest,
        "seed": problem.run.seed,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "dimfree_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()} {jax.default_backend()}",
        "cites": " ".join(description.cites),
    }


def _summarised(observables: Mapping[str, Any]) -> dict[str, Any]:
    """Observables are stored, not paths: a Q that would not fit is kept as its diagonal."""
    kept = dict(observables)
    if "Q" in kept and kept["Q"].size > LARGEST_ARRAY:
        kept["Q_diagonal"] = np.diagonal(kept.pop("Q"), axis1=-2, axis2=-1)
    return kept
