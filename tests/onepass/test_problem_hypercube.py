"""Problems on the hypercube: how coefficients are written, what is left out, and one sentence for what makes no sense."""

import jax
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.registry import setting_of

TEXT = """
dimension = 30
[data]
kind = "hypercube"
coefficients = {"3" = 1.0, "5, 3" = -2, "" = 0.5}
"""


def test_coefficients_are_read_in_one_spelling():
    problem = df.loads(TEXT)
    assert problem.data.coefficients == (("3", 1.0), ("3,5", -2.0), ("", 0.5))
    assert problem.data.supports == ((3,), (3, 5), ())
    assert problem.data.weights == (1.0, -2.0, 0.5)
    assert problem.data.coordinates == (3, 5)
    assert problem == df.Problem(dimension=30, data=df.Hypercube(coefficients={"3": 1, "3,5": -2, "": 0.5}))
    assert df.loads(df.dumps(problem)) == problem
    assert df.loads(df.dumps(problem)).digest == problem.digest


def test_what_is_left_out_is_the_problem_of_the_literature():
    problem = df.Problem(data=df.Hypercube())
    assert (problem.dimension, problem.network.width, problem.training.batch) == (100, 200, 100)
    assert problem.time_step == pytest.approx(0.05)
    assert problem.network.second_layer_start == "uniform"
    assert problem.network.bias_start == -0.5
    assert problem.network.trained == ("first-layer", "second-layer")
    assert df.Problem().replace(**{"data.kind": "hypercube"}) == problem.replace(dimension=problem.dimension)


def test_single_coefficients_can_be_set():
    changed = df.Problem(data=df.Hypercube()).replace(**{"data.coefficients.1,2": 0.25, "data.coefficients.2": 3.0})
    assert dict(changed.data.coefficients) == {"1": 1.0, "1,2": 0.25, "2": 3.0}


def test_every_key_counts():
    base = df.Problem(data=df.Hypercube())
    changes = {"data.coefficients": {"1": 1.0}, "data.noise": 0.1}
    assert {f"data.{key}" for key in df.Hypercube.model_fields} - {"data.kind"} == changes.keys()
    assert len({base.digest, *(base.replace(**{k: v}).digest for k, v in changes.items())}) == 3


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ('{"0" = 1.0}', "'0' of coefficients is not a list of coordinates"),
        ('{"1,,2" = 1.0}', "'1,,2' of coefficients is not a list of coordinates"),
        ('{"z1" = 1.0}', "counting from 1"),
        ('{"1,1" = 1.0}', "names a coordinate twice"),
        ('{"1,2" = 1.0, "2,1" = 1.0}', "'1,2' twice; give one number"),
        ('{"1" = "one"}', "the coefficient of '1' is 'one'; give a number."),
        ('{"1" = true}', "the coefficient of '1' is True; give a number."),
        ('{"1" = inf}', "finite number"),
        ('{"" = 1.0}', "the label is constant"),
        ('{"1" = 0.0}', "the label is constant"),
        ("{}", "the label is constant"),
        ("3", "coefficients are a table such as"),
        ("[1, 2]", "coefficients are a table such as"),
        ('{"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21" = 1.0}', "P = 21 .* at most 20 coordinates"),
        ('{"31" = 1.0}', "the coordinate 31 of inputs of dimension 30"),
    ],
)
def test_bad_coefficients(written, sentence):
    with pytest.raises(ProblemError, match=sentence) as failure:
        df.loads(f'dimension = 30\n[data]\nkind = "hypercube"\ncoefficients = {written}')
    assert "\n" not in str(failure.value)


def test_overlaps_do_not_know_axes():
    start, rate = df.OverlapStart(Q=((1.0,),), M=((),)), {"learning_rate": 1.0}
    with pytest.raises(ProblemError, match="axes of a hypercube"):
        df.Problem(data=df.Hypercube(), network={"width": 1}, training=rate, start=start)


def test_weights_of_a_file_are_taken_as_they_are(tmp_path):
    W = np.random.default_rng(0).normal(size=(3, 8))
    np.savez(tmp_path / "start.npz", W=W)
    problem = df.Problem(
        data=df.Hypercube(),
        network={"width": 3},
        training={"learning_rate": 1.0},
        start=df.WeightsStart(file=tmp_path / "start.npz"),
        dimension=8,
    )
    np.testing.assert_array_equal(df.extend.draw_start(problem, jax.random.key(0), vectors=True).weights, W)


def test_show_says_what_can_be_learned():
    remark = lambda **changes: setting_of(PROBLEM).remark(PROBLEM.replace(**changes))  # noqa: E731
    assert "merged staircase (leap 1)" in remark()
    said = remark(**{"data.coefficients": {"1": 1.0, "2,3,4": 2.0}})
    assert "leap 3" in said
    assert "z2z3z4" in said
    assert "above 2;" in said
    assert "order 2 of tanh" in remark(**{"network.activation": "tanh", "network.bias_start": 0.0})


PROBLEM = df.Problem(data=df.Hypercube())
