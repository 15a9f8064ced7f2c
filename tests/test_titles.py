"""Titles of comparisons say what decides a run: the batch and the layers that learn."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import dimfree as df
from dimfree.drawing import trained_layers
from dimfree.registry import setting_of

TIME = np.array([0.0, 0.1, 1.0, 10.0])


def account(**variables):
    """Made-up curves: a title depends on the problem alone."""
    found = {name: (("time", "replica", *dims), np.ones((4, 2, *shape))) for name, (dims, shape) in variables.items()}
    return xr.Dataset(found, {"time": TIME}, {"real": True, "scatters": True})


PAIRS = {"risk": ((), ()), "M": (("unit", "teacher"), (2, 1)), "a": (("unit",), (2,))}
BOTH = {"trained": ["second-layer", "first-layer"]}
CASES = {
    "teacher": (
        {"data": {"kind": "teacher", "units": 1}, "network": {"width": 2, **BOTH}, "training": {"batch": 32}},
        PAIRS,
        "batch 32",
    ),
    "multi-index": (
        {"data": {"kind": "multi-index", "terms": [[2]]}, "network": {"width": 2, **BOTH}, "training": {"batch": 7}},
        PAIRS,
        "batch 7",
    ),
    "two-gaussians": (
        {"data": {"kind": "two-gaussians"}, "network": {"width": 2, **BOTH}, "training": {"batch": 3}},
        {"risk": ((), ()), "r1": (("unit",), (2,)), "r2": (("unit",), (2,)), "a": (("unit",), (2,)), "bias": (("unit",), (2,))},
        "batch 3",
    ),
    "network on a data set": (
        {
            "data": {"kind": "teacher"},
            "network": {"width": 2, **BOTH},
            "training": {"kind": "multi-pass", "batches": "cyclic", "batch_fraction": 0.5},
        },
        None,
        "cyclic batches of 0.5",
    ),
    "drawn-points": ({"data": {"kind": "drawn-points"}, "network": BOTH}, None, ""),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:No artists with labels")  # of curves that are made up
@pytest.mark.parametrize("kind", CASES)
def test_titles_name_the_batch_and_the_layers_that_learn(kind):
    values, variables, batch = CASES[kind]
    problem = df.Problem(**values)
    setting = setting_of(problem)
    known = {name: (one.dims[2:], (2,) * len(one.dims[2:])) for name, one in setting.variables.items()}
    figure = Figure()
    setting.draw(figure, problem, {"sgd": account(**(variables or known))})
    title = figure.get_suptitle()
    assert batch in title
    assert "first layer and second layer trained" in title


def test_layers_are_listed():
    assert trained_layers(["first-layer"]) == "first layer trained"
    assert trained_layers(["first-layer", "bias", "second-layer"]) == "first layer, bias and second layer trained"
