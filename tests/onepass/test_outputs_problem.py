"""A problem with several outputs: what it says, what it keeps, and one sentence for what does not fit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.onepass.model import model
from dimfree.onepass.real.block import gradients
from dimfree.onepass.rule import second_layer
from dimfree.problem.toml import dumps

CLASSES = df.Problem(
    data={"units": 3, "labels": "argmax"},
    network={"width": 4, "outputs": 3},
    training={"loss": "cross-entropy"},
    run={"until": 5.0},
)
CLUSTERS = {"weights": [0.3, 0.3, 0.4], "means": [[1.0], [0.0], [-1.0]], "variances": 0.5, "classes": [0, 1, 2]}
TWO = {"kind": "overlaps", "Q": [[1.0, 0.1], [0.1, 0.8]], "M": [[0.3, 0.1], [0.0, 0.2]]}


def test_old_problems_say_nothing_of_outputs():
    assert "outputs" not in dumps(df.Problem())
    assert model(df.Problem()).outputs == 1
    assert df.loads(dumps(CLASSES)) == CLASSES
    assert CLASSES.data.noise == 0


def test_units_count_for_the_outputs_in_turn_unless_a_matrix_is_given():
    np.testing.assert_array_equal(second_layer(CLASSES), [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
    given = CLASSES.replace(**{"network.second_layer_start": [[1, 2, 3, 4], [0, 0, 1, 1], [5, 6, 7, 8]]})
    np.testing.assert_array_equal(second_layer(given), [[1, 2, 3, 4], [0, 0, 1, 1], [5, 6, 7, 8]])
    wide = CLASSES.replace(**{"network.scaling": "sum", "network.second_layer_start": [1.0, 2.0, 3.0, 4.0]})
    np.testing.assert_array_equal(second_layer(wide), [[4, 0, 0, 16], [0, 8, 0, 0], [0, 0, 12, 0]])
    np.testing.assert_array_equal(model(CLASSES).target.second_layer, np.eye(3))


def test_gradients_are_those_of_the_loss_of_the_network():
    m = model(CLASSES)
    rng = np.random.default_rng(1)
    fields, A, y = rng.normal(size=(2, 4, 1)), rng.normal(size=(3, 4, 1)), np.array([[2.0], [0.0]])

    def loss(fields, A):
        f = jnp.einsum("cpr,bpr->brc", A, m.activation(fields)) / 4
        chosen = jnp.take_along_axis(f, jnp.asarray(y, int)[..., None], axis=-1)[..., 0]
        return jnp.sum(jnp.log(jnp.sum(jnp.exp(f), axis=-1)) - chosen)

    c, pulled = gradients(m, jnp.asarray(fields), jnp.asarray(A), jnp.asarray(y), jnp.ones((2, 2, 1)))
    by_fields, by_A = jax.grad(loss, argnums=(0, 1))(jnp.asarray(fields), jnp.asarray(A))
    np.testing.assert_allclose(c / 4, -by_fields, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(pulled.sum(axis=0) / 4, -by_A, rtol=1e-12, atol=1e-14)


SENTENCES = {
    "one output": (
        {"network.outputs": 1},
        "loss 'cross-entropy' needs one output for each of the 3 classes of labels, and network.outputs is 1; set "
        "network.outputs = 3.",
    ),
    "values": (
        {"data.labels": "value"},
        "loss 'cross-entropy' needs labels of several classes; set data.labels = \"argmax\" or \"softmax\" (labels are "
        "values of the teacher now).",
    ),
    "signs": ({"data.labels": "sign"}, "(labels are signs of the teacher now)."),
    "another loss": (
        {"training.loss": "logistic"},
        "network.outputs = 3 goes with the cross-entropy loss, and the loss is 'logistic'; set training.loss = "
        '"cross-entropy", or leave outputs out.',
    ),
    "classes for one output": (
        {"training.loss": "square", "network.outputs": 1},
        "labels are one of 3 classes, which loss 'square' does not know; set training.loss = \"cross-entropy\" and "
        "network.outputs = 3.",
    ),
    "rows": (
        {"network.second_layer_start": [[1.0, 2.0, 3.0, 4.0]] * 2},
        "second_layer_start has 2 rows of 4 numbers; give 3 rows of 4 numbers (outputs x width).",
    ),
    "columns": (
        {"network.second_layer_start": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]]},
        "second_layer_start has 3 rows of 3 or 4 numbers; give 3 rows of 4 numbers (outputs x width).",
    ),
    "a matrix for one output": (
        {"network.second_layer_start": [[1.0] * 4] * 3, "network.outputs": 1},
        "second_layer_start is a matrix, outputs x width, and the network has one output; give one number per unit, or set "
        "outputs = 3.",
    ),
    "equal rows": (
        {"network.second_layer_start": [[1.0, 2.0, 3.0, 4.0]] * 3},
        "second_layer_start has the same row for every output and stays so",
    ),
    "clipped errors": (
        {"training.clip": {"error": 1.0}},
        "clip = {error = ...} bounds one number per sample, and the cross-entropy loss has one for every output, all below 1;",
    ),
    "noise": ({"data.noise": 0.1}, 'noise = 0.1 on every output has no closed form for labels = "argmax"; leave noise out,'),
    "one unit": ({"data.units": 1}, "one unit is one output, and labels = 'argmax' choose among several; raise units"),
    "rows of the teacher": (
        {"data.second_layer": [[1.0, 2.0, 3.0], [1.0, 2.0]]},
        "second_layer has a row of 2 numbers; give two rows or more, each of 3 numbers (classes x units).",
    ),
    "a matrix for values": (
        {"data.second_layer": [[1.0, 2.0, 3.0]] * 2, "data.labels": "value"},
        "second_layer is a matrix, classes x units, and labels = 'value' are those of one output;",
    ),
    "equal outputs": ({"data.second_layer": [[1.0, 2.0, 3.0]] * 3}, "the label is constant"),
    "a polynomial": (
        {"data": {"kind": "multi-index", "labels": "argmax"}},
        "labels = 'argmax' compare outputs of a teacher network, and a polynomial has one;",
    ),
    "classes of clusters": (
        {"data": {"kind": "clusters", **CLUSTERS}, "training.loss": "hinge", "network.outputs": 1},
        "labels are one of 3 classes, which loss 'hinge' does not know;",
    ),
    "a gap": (
        {"data": {"kind": "clusters", **CLUSTERS, "classes": [0, 1, 3]}},
        "classes are 1 and -1, or 0, 1, ... without gaps for several outputs; got [0, 1, 3].",
    ),
    "hidden manifold": (
        {"data.kind": "hidden-manifold"},
        "data.kind = 'hidden-manifold' does not go with the cross-entropy loss, worked out for 'teacher'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_what_does_not_fit_is_said_in_one_sentence(case):
    changes, sentence = SENTENCES[case]
    with pytest.raises(ProblemError) as caught:
        CLASSES.replace(**changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
