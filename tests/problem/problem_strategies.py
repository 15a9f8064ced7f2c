"""Problems of every kind in which something can be learned, as the tables of a TOML file, for hypothesis."""

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from dimfree.problem.activation import NAMES

MOST_STEPS = 1e18  # fewer than a problem refuses to count
number = st.floats(-1e6, 1e6)
positive = st.floats(1e-6, 1e6)
non_negative = st.floats(0, 1e6)
increasing = st.lists(st.floats(0, 1e3), min_size=1, max_size=4, unique=True).map(sorted)
coefficients = st.lists(number, min_size=1, max_size=5)
scaling = st.sampled_from(["mean", "sqrt", "sum"])


def numbers(size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(number, min_size=size, max_size=size)


def directions(size: int, count: int) -> st.SearchStrategy[np.ndarray]:
    entries = st.integers(-8, 8).map(lambda x: x / 4)  # exact in binary, so that overlaps are exact too
    rows = st.lists(st.lists(entries, min_size=count, max_size=count), min_size=size, max_size=size)
    return rows.map(np.array)


piecewise_linear = increasing.flatmap(
    lambda knots: st.fixed_dictionaries(
        {"knots": st.just(knots), "values": numbers(len(knots)), "left_slope": number, "right_slope": number}
    )
)
activation = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(["he0", "he3", "he19", "jax.numpy:tanh", "my_module.deep:Class.softsign"]),
    st.fixed_dictionaries({"hermite": coefficients}),
    st.fixed_dictionaries({"polynomial": coefficients}),
    piecewise_linear,
)
tables = increasing.flatmap(
    lambda times: st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["steps", "linear"]),
            "times": st.just(times),
            "factors": st.tuples(positive, *[non_negative] * (len(times) - 1)).map(list),
        }
    )
)
schedule = st.one_of(
    tables,
    st.fixed_dictionaries({"kind": st.just("power"), "scale": positive, "exponent": non_negative}),
    st.fixed_dictionaries({"kind": st.just("exponential"), "scale": positive, "top": positive}),
    st.fixed_dictionaries({"kind": st.just("cosine"), "until": positive, "top": positive, "end": non_negative}),
    st.fixed_dictionaries({"kind": st.just("hold-power"), "hold": positive, "exponent": non_negative}),
)
named_link = st.fixed_dictionaries(
    {"kind": st.just("multi-index"), "link": st.sampled_from(["staircase-2", "parity-3"]), "noise": non_negative}
)
training = st.fixed_dictionaries(
    {
        "learning_rate": positive,
        "batch": st.integers(1, 1000),
        "second_layer_rate": positive,
        "weight_decay": non_negative,
        "second_layer_decay": st.one_of(non_negative, st.just("same")),
        "spherical": st.booleans(),
        "scheduled": st.sampled_from(["gradient", "everything"]),
    },
    optional={"schedule": schedule, "inverse_temperature": positive},
)
parts = st.lists(st.sampled_from(["first-layer", "bias", "second-layer"]), min_size=1, max_size=4)
learning = st.one_of(
    st.fixed_dictionaries({"second_layer": st.sampled_from(["fixed", "trained"])}),
    st.fixed_dictionaries({"trained": parts, "bias_start": number}),
)
two_gaussians = st.fixed_dictionaries(
    {"kind": st.just("two-gaussians"), "contrast": st.floats(0.01, 0.99)}, optional={"signal": st.integers(1, 2)}
)
run = st.fixed_dictionaries(
    {
        "replicas": st.integers(1, 10**6),
        "seed": st.integers(0, 2**31),
        "points": st.integers(2, 100),
        "spacing": st.sampled_from(["log", "linear"]),
    }
)


@st.composite
def teacher(draw: st.DrawFn, units: int) -> dict[str, Any]:
    teachers, second_layer = draw(directions(units, units)), draw(st.one_of(number, numbers(units)))
    assume(np.any(second_layer * np.diag(teachers @ teachers.T)))
    return {
        "units": units,
        "activation": draw(activation),
        "second_layer": second_layer,
        "overlap": draw(st.sampled_from(["orthonormal", (teachers @ teachers.T).tolist()])),
        "scaling": draw(scaling),
        "noise": draw(non_negative),
    }


@st.composite
def link(draw: st.DrawFn, units: int) -> dict[str, Any]:
    term = st.lists(st.integers(0, 20), min_size=units, max_size=units)
    terms = [[1] * units, *draw(st.lists(term, max_size=3))]
    table = {"kind": "multi-index", "terms": terms, "noise": draw(non_negative)}
    if not draw(st.booleans()):
        return table
    table["coefficients"] = draw(numbers(len(terms)))
    assume(table["coefficients"][0])
    return table


@st.composite
def start(draw: st.DrawFn, width: int, P: np.ndarray, isotropic: bool) -> dict[str, Any]:
    kind = draw(st.sampled_from(["gaussian", "sphere", "weights", *(["overlaps"] if isotropic else [])]))
    if kind == "weights":
        return {"kind": kind, "file": draw(st.sampled_from(["w.npz", "folder/with space.npz", "/absolute.npz"]))}
    if kind == "overlaps":
        along = draw(directions(width, len(P)))
        return {"kind": kind, "Q": (along @ P @ along.T + np.eye(width)).tolist(), "M": (along @ P).tolist()}
    return {"kind": kind, "scale": draw(positive)}


@st.composite
def problem_tables(draw: st.DrawFn) -> dict[str, Any]:
    width, units = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    data = draw(st.one_of(teacher(units), link(units), named_link, two_gaussians))
    units = int(data["link"][-1]) if "link" in data else 0 if "contrast" in data else units
    learns, rule = draw(learning), draw(training)
    rule["spherical"] &= "first-layer" in learns.get("trained", ["first-layer"])
    P = np.array(data["overlap"]) if isinstance(data.get("overlap"), list) else np.eye(units)
    dimension = draw(st.integers(width + units + 1, 10**9))
    one_step = rule["learning_rate"] / (width * dimension)
    second_layer = draw(st.one_of(number, st.just("signs"), numbers(width)))
    assume(second_layer == "signs" or np.any(second_layer))
    return {
        "dimension": dimension,
        "data": data,
        "network": {
            "width": width,
            "activation": draw(activation),
            **learns,
            "second_layer_start": second_layer,
            "scaling": draw(scaling),
        },
        "training": rule,
        "start": draw(start(width, P, "signal" not in data)),
        "run": {"until": min(max(draw(positive), 1.001 * one_step), MOST_STEPS * one_step), **draw(run)},
    }
