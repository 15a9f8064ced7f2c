"""One linear unit that learns from one teacher, which figures of losses share (docs/theory/losses.md, sections 1.4 and 4)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, OverlapStart, TwoLayer
from dimfree.problem import Run

Loss = str | dict[str, str | float]

PERCEPTRON: Loss = {"kind": "hinge", "margin": 0.0}
HEBB: Loss = "correlation"
ADATRON: Loss = {"kind": "squared-hinge", "margin": 0.0}


def one_unit(
    loss: Loss,
    rate: float,
    samples: Sequence[float],  # per dimension, at which runs are looked at
    *,
    data: dict[str, object],
    dimension: int,
    replicas: int,
    seed: int,
    Q: float = 1.0,
    M: float = 0.1,
) -> OnePassProblem:
    """A linear unit from overlaps Q and M; the time of its runs is rate times samples per dimension."""
    return OnePassProblem(
        dimension=dimension,
        data=Teacher(units=1, activation="linear", **data),
        network=TwoLayer(width=1, activation="linear"),
        training=OnePass(learning_rate=rate, loss=loss),
        start=OverlapStart(Q=((Q,),), M=((M,),)),
        run=Run(times=tuple(rate * x for x in samples), replicas=replicas, seed=seed),
    )


def spaced(first: float, last: float, points: int) -> tuple[float, ...]:
    """Samples per dimension, evenly on a logarithmic axis."""
    return tuple(float(x) for x in np.geomspace(first, last, points))


def of(data: xr.DataTree, case: str, one: str) -> xr.Dataset:
    """One run of a case, without the start."""
    return data[f"{case}/{one}"].to_dataset().isel(time=slice(1, None))


def mean_and_error(values: xr.DataArray) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Means over replicas, and their standard errors."""
    count = values.sizes["replica"]
    return values.mean("replica").values, values.std("replica", ddof=1).values / np.sqrt(count)
