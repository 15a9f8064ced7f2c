"""Problems in which nothing can be learned are refused in one sentence that says why and what to change."""

import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.functions.schedule import schedule
from dimfree.problem.schedule import begins
from dimfree.setting import model_of

ZEROS = {"kind": "overlaps", "Q": [[0.0, 0.0], [0.0, 0.0]], "M": [[0.0], [0.0]]}
SMALL = {"data": {"kind": "teacher", "units": 1}, "network": {"width": 2}}


def steps(times, factors, kind="steps"):
    return {"training": {"kind": "one-pass", "schedule": {"kind": kind, "times": times, "factors": factors}}}


NOTHING = {
    "a teacher of zeros": (
        {"data": {"kind": "teacher", "second_layer": 0.0}},
        "[data]: the label is constant: every unit of the teacher has 0 in second_layer or on the diagonal of overlap",
    ),
    "a teacher of zeros, one by one": ({"data": {"kind": "teacher", "second_layer": [0, 0]}}, "the label is constant"),
    "teachers without norms": (
        {"data": {"kind": "teacher", "overlap": [[0, 0], [0, 0]]}},
        "so there is nothing to learn; give a unit for which both are not 0.",
    ),
    "each unit lacks one of the two": (
        {"data": {"kind": "teacher", "overlap": [[1, 0], [0, 0]], "second_layer": [0, 1]}},
        "the label is constant",
    ),
    "a teacher of a hidden manifold": ({"data": {"kind": "hidden-manifold", "second_layer": 0}}, "the label is constant"),
    "a teacher that says one thing": (
        {"data": {"kind": "teacher", "activation": "he0"}},
        "data.activation (he0) is constant, so there is nothing to learn; choose another one.",
    ),
    "coefficients of zeros": (
        {"data": {"kind": "multi-index", "terms": [[0, 0], [1, 1]], "coefficients": [1.0, 0.0]}},
        "[data]: the link is constant: all terms of positive degree have the coefficient 0, so there is nothing to learn",
    ),
    "a second layer of zeros": (
        {"network": {"second_layer_start": 0.0}},
        "[network]: second_layer_start = 0.0 is 0 for every unit and stays so, so that nothing can be learned; give a value",
    ),
    "the only value of a uniform one": (
        {"network": {"width": 1, "second_layer_start": "uniform"}},
        "second_layer_start = 'uniform' is 0 for every unit",
    ),
    "one that cannot move": (
        {"network": {"second_layer": "trained", "second_layer_start": 0.0}, "training": {"second_layer_rate": 0.0}},
        "training.second_layer_rate = 0 keeps the second layer as it starts, and without it nothing is learned; raise it.",
    ),
    "only one that cannot move": (
        {"network": {"trained": ["second-layer"]}, "training": {"second_layer_rate": 0.0}},
        "training.second_layer_rate = 0",
    ),
    "steps of zeros": (
        steps([0.0, 5.0], [0.0, 0.0]),
        "training.schedule keeps the learning rate at 0 at all times, so that nothing is learned",
    ),
    "knots of zeros": (steps([3.0], [0.0], "linear"), "training.schedule keeps the learning rate at 0 at all times"),
    "steps that begin after the run": (
        steps([0.0, 20.0], [0.0, 1.0]) | {"run": {"until": 10.0}},
        "keeps the learning rate at 0 until t = 20, and run.until is 10, so that nothing is learned; give a positive factor",
    ),
    "overlaps of zeros where the gradient vanishes": (
        {**SMALL, "network": {"width": 2, "activation": "square"}, "start": ZEROS},
        "start.Q is 0 and so is the derivative of square there: no gradient acts, so that nothing is learned",
    ),
    "overlaps of zeros on a sphere": (
        {**SMALL, "training": {"spherical": True}, "start": ZEROS},
        "start.Q has a unit of norm 0, which training.spherical = true cannot keep on a sphere; give norms above 0.",
    ),
    "weights of zeros for phase retrieval": (
        {"data": {"kind": "phase-retrieval"}, "start": {"variance": 0.0}},
        "start.overlap and start.variance are 0, where no gradient of data.kind = 'phase-retrieval' acts",
    ),
    "weights of zeros on the sphere of a data set": (
        {"data": {"kind": "two-clusters"}, "start": {"variance": 0.0}, "training": {"spherical": True}},
        "start.overlap and start.variance are 0, and training.spherical = true keeps that norm",
    ),
    "labels of zeros": (
        {"data": {"kind": "given-points", "inputs": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], "labels": [0.0, 0.0, 1.0]}},
        "all labels to train on are 0, and so is the network at its start: there is nothing to learn; give other labels.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_learn_is_one_sentence(case):
    values, sentence = NOTHING[case]
    with pytest.raises(ProblemError) as refused:
        model_of(df.Problem(**values))
    assert sentence in str(refused.value)


SOMETHING = {
    "one unit of the teacher is enough": {"data": {"kind": "teacher", "second_layer": [0.0, 1.0]}},
    "a second layer of zeros that learns": {"network": {"second_layer": "trained", "second_layer_start": 0.0}},
    "a rate that begins": steps([0.0, 1.0], [0.0, 1.0]),
    "a rate that ends": steps([1.0], [0.0]),
    "knots that rise from zero": steps([0.0, 1.0], [0.0, 1.0], "linear"),
    "overlaps of zeros where erf has a slope": {**SMALL, "start": ZEROS},
    "weights of zeros between two clusters": {"data": {"kind": "two-clusters"}, "start": {"variance": 0.0}},
}


@pytest.mark.parametrize("case", SOMETHING)
def test_something_to_learn_is_not_refused(case):
    model_of(df.Problem(**SOMETHING[case]))


@pytest.mark.parametrize("kind", ["steps", "linear"])
@pytest.mark.parametrize(
    ("times", "factors"),
    [
        ((0.0, 2.0), (0.0, 1.0)),
        ((1.0, 2.0), (0.0, 1.0)),
        ((1.0, 2.0, 3.0), (0.0, 0.0, 1.0)),
        ((1.0,), (0.0,)),
        ((0.0, 4.0), (1.0, 0.0)),
    ],
)
def test_when_a_schedule_begins_is_what_its_rate_says(kind, times, factors):
    written = df.OnePass(schedule={"kind": kind, "times": times, "factors": factors}).schedule
    grid = np.linspace(0, 6, 6001)
    rate = np.asarray(schedule(written)(jnp.asarray(grid)))
    expected = grid[np.argmax(rate > 0)] if rate.any() else np.inf
    assert begins(written) == pytest.approx(expected, abs=2e-3)
