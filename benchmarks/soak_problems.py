"""Small problems of different structures, drawn over settings, kinds of data, activations, widths and rules of training.

A structure is all that decides what is compiled, but for how many times are saved; numbers do not count. Every problem takes a
second or two, nearly all of it compilation.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import dimfree as df

Sections = dict[str, dict[str, Any]]

VERBS = ["solve", "simulate", "compare"]
CLOSED = ["erf", "relu", "linear"]
SLOW = ["tanh", "sigmoid", "softplus"]  # whose averages take long to compile: simulated only
ACTIVATIONS = [*2 * CLOSED, "square", "he3", *SLOW]
TRAINED = [("first-layer",), ("first-layer", "second-layer")]
SCHEDULES: list[dict[str, Any] | None] = [
    None,
    None,
    {"kind": "power", "exponent": 0.5},
    {"kind": "cosine", "until": 1.0},
]
DATA_SETS = ["two-clusters", "three-clusters", "linear-teacher", "sign-teacher", "phase-retrieval"]


class Drawn(NamedTuple):
    """A problem, what decides which programs it needs, and what is asked about it."""

    structure: str
    problem: df.Problem
    verb: str  # solve, simulate or compare


def drawn(seed: int) -> Iterator[Drawn]:
    """Problems without end, no two of them of one structure."""
    chance, seen = random.Random(seed), set[str]()
    while True:
        draw, shares = chance.choices(
            [(_one_pass, (5, 13, 2)), (_data_set, (14, 4, 2)), (_points, (14, 4, 2))], [14, 4, 2]
        )[0]
        dimension, structure = draw(chance)
        if (name := f"{dimension} {structure}") not in seen:
            seen.add(name)
            problem = df.Problem(dimension=dimension, **_with_numbers(chance, structure))
            slow = structure.get("network", {}).get("activation") in SLOW
            yield Drawn(name, problem, "simulate" if slow else chance.choices(VERBS, shares)[0])


def _one_pass(chance: random.Random) -> tuple[int, Sections]:
    kind = chance.choice(["teacher"] * 6 + ["levels", "multi-index", "hypercube", "two-gaussians", "hidden-manifold"])
    width, activation = chance.randint(1, 6), chance.choice(ACTIVATIONS)
    network: dict[str, Any] = {"width": width, "activation": activation, "trained": chance.choice(TRAINED)}
    training: dict[str, Any] = {"batch": chance.choice([1, 1, 2, 5]), "schedule": chance.choice(SCHEDULES)}
    teacher = {"units": chance.randint(1, 3), "activation": activation}
    match kind:
        case "teacher":
            if activation in CLOSED:
                teacher["activation"] = chance.choice(CLOSED)
            data: dict[str, Any] = {"kind": "teacher", **teacher}
        case "levels":
            network["trained"] = TRAINED[0]
            shares = chance.choice([(0.5, 0.5), (0.5, 0.3, 0.2)])
            levels = {"kind": "levels", "values": (0.5, 1.0, 2.0)[: len(shares)], "shares": shares}
            data = {"kind": "teacher", **teacher, "covariance": levels}
        case "multi-index":
            data = {"kind": "multi-index", "link": chance.choice(["staircase-2", "staircase-3", "parity-2"])}
        case "hypercube":
            training["learning_rate"], network["second_layer_start"] = 1.0, 1.0
            data = {"kind": "hypercube", "coefficients": {str(i + 1): 1.0 for i in range(chance.randint(1, 3))}}
        case "hidden-manifold":
            network["trained"] = TRAINED[0]
            data = {"kind": "hidden-manifold", **teacher, "latent": 10}
        case _:
            data = {"kind": "two-gaussians"}
            network = {"width": width}
    return chance.choice([20, 30, 40]), {"data": data, "network": network, "training": training}


def _data_set(chance: random.Random) -> tuple[int, Sections]:
    kind = chance.choice(DATA_SETS)
    loss = "square" if kind == "linear-teacher" else chance.choice(["square", "logistic"])
    data = {"kind": kind, "samples": chance.choice([1.0, 1.5, 2.0, 2.5, 3.0])}
    training = {"loss": loss, "batch_fraction": chance.choice([1.0, 0.5])}
    return chance.choice([20, 30, 40]), {"data": data, "training": training}


def _points(chance: random.Random) -> tuple[int, Sections]:
    data = {"kind": "drawn-points", "samples": chance.randint(4, 12), "link": chance.choice(["hard-tanh", "erf"])}
    network = {"width": 2 * chance.randint(2, 10), "activation": chance.choice(["erf", "relu", "tanh"])}
    return chance.randint(3, 8), {"data": data, "network": network}


def _with_numbers(chance: random.Random, structure: Sections) -> Sections:
    """The structure with a run of its own."""
    points = chance.randint(3, 12)
    run = {"until": chance.choice([0.2, 0.5]), "points": points, "replicas": 2, "seed": chance.randint(0, 99)}
    return {**structure, "run": {**run, "spacing": "linear"}}
