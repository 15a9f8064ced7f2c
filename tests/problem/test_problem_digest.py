"""The content hash: equal problems have equal digests, different problems different ones, in every process."""

import functools
import os
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem, loads

CHANGES = {
    "dimension": 501,
    "data.units": 3,
    "data.activation": "relu",
    "data.second_layer": 2.0,
    "data.overlap": [[1.0, 0.5], [0.5, 1.0]],
    "data.scaling": "sum",
    "data.noise": 0.0,
    "data.labels": "sign",
    "data.flip": 0.1,
    "data.slope": 2.0,
    "data.noise_law": {"student": 3.0},
    "data.covariance": {"kind": "power", "exponent": 1.0},
    "data.directions": {"power": 2.0},
    "data.bias": [0.1, 0.0],
    "data.constant": 0.1,
    "training.loss": "huber",
    "training.clip": {"error": 1.0},
    "training.momentum": 0.9,
    "training.nesterov": True,
    "network.width": 5,
    "network.outputs": 2,
    "network.activation": {"hermite": [0.0, 1.0]},
    "network.trained": ["second-layer"],
    "network.second_layer_start": "signs",
    "network.bias_start": 0.1,
    "network.scaling": "sqrt",
    "training.learning_rate": 1.0 + 1e-15,
    "training.schedule": {"kind": "power"},
    "training.scheduled": "everything",
    "training.batch": 2,
    "training.second_layer_rate": 2.0,
    "training.weight_decay": 0.1,
    "training.second_layer_decay": 0.1,
    "training.spherical": True,
    "training.inverse_temperature": 3.0,
    "start.kind": "sphere",
    "start.scale": 2.0,
    "run.until": 1.0,
    "run.replicas": 3,
    "run.seed": 1,
    "run.points": 10,
    "run.spacing": "linear",
    "run.starts": 4,
    "run.times": [1.0, 500.0],
}
ALONG = {  # what has no meaning alone
    "data.directions": {"data.covariance": CHANGES["data.covariance"]},
    "data.flip": {"data.labels": "sign"},
    "data.slope": {"data.labels": "logistic"},
    "network.outputs": {"data.labels": "argmax", "training.loss": "cross-entropy"},
}


def of_function(function) -> str:
    return Problem(network=TwoLayer(activation=function)).digest


def test_every_key_counts():
    digests = {key: Problem().replace(**{key: value} | ALONG.get(key, {})).digest for key, value in CHANGES.items()}
    assert len({Problem().digest, *digests.values()}) == len(CHANGES) + 1


def test_every_key_is_tried():
    keys = {"dimension"}
    for name in ("data", "network", "training", "start", "run"):
        section = getattr(Problem(), name)
        keys |= {
            f"{name}.{key}"
            for key in type(section).model_fields
            if (name, key) not in {("data", "kind"), ("training", "kind")}
        }
    assert keys == set(CHANGES)


def test_every_key_of_two_gaussians_counts():
    base = Problem(data=TwoGaussians())
    changes = {"data.contrast": 0.5, "data.signal": 7}
    assert {f"data.{key}" for key in TwoGaussians.model_fields} - {"data.kind"} == changes.keys()
    digests = {base.digest, *(base.replace(**{key: value}).digest for key, value in changes.items())}
    assert len(digests) == len(changes) + 1


def test_spelling_does_not_count():
    short, long = ({"network.second_layer": "trained"}, {"network.trained": ["second-layer", "first-layer"]})
    assert Problem().replace(**short).digest == Problem().replace(**long).digest != Problem().digest
    one = loads("dimension = 300\n[training]\nlearning_rate = 1\n[data]\nnoise = 0.001\nunits = 2")
    other = loads("[data]\nkind = 'teacher'\nunits = 2\nnoise = 1e-3\n[training]\nlearning_rate = 1.0")
    assert one.digest == other.digest == Problem().digest


def test_digest_is_the_same_in_another_process():
    code = "from dimfree.problem import Problem; print(Problem(dimension=123).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == Problem(dimension=123).digest


def test_importing_a_problem_does_not_import_jax():
    code = "import sys, dimfree.problem; print('jax' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_same_function_has_the_same_digest():
    assert of_function(jnp.tanh) == of_function(jnp.tanh) == of_function("jax.numpy:tanh")


def scaled(c: float):
    return lambda x: jnp.tanh(c * x)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: 1 + jnp.tanh(x), lambda x: 1 + jnp.sin(x)),
        (scaled(1.0), scaled(2.0)),
        (functools.partial(jnp.power, 2.0), functools.partial(jnp.power, 3.0)),
    ],
    ids=["names", "closure", "partial"],
)
def test_different_functions_have_different_digests(one, other):
    assert of_function(one) != of_function(other)


def test_lambdas_with_other_constants_have_different_digests():
    assert of_function(lambda x: jnp.tanh(1.5 * x)) != of_function(lambda x: jnp.tanh(2.5 * x))


def test_digest_of_a_function_with_an_inner_function_knows_no_address():
    source = "lambda x: (lambda y: y + 1)(x)"
    assert of_function(eval(source)) == of_function(eval(source))


def test_of_files_the_content_counts_and_not_the_name(tmp_path):
    rows = np.random.default_rng(0).normal(size=(40, 5))
    digests = set()
    for name in ("one.npy", "other.npy"):
        np.save(tmp_path / name, rows)
        digests.add(df.Problem(data=df.Teacher(covariance=df.Covariance.features(tmp_path / name))).digest)
    digests.add(df.Problem(data=df.Teacher(covariance=df.Covariance.features(rows))).digest)
    assert len(digests) == 1
    np.save(tmp_path / "other.npy", 2 * rows + rows**2)
    assert df.Problem(data=df.Teacher(covariance=df.Covariance.features(tmp_path / "other.npy"))).digest not in digests
    bundled = {
        df.Problem(data=df.Teacher(covariance=df.Covariance.features(name))).digest for name in ("digits", "wine")
    }
    assert len(bundled) == 2, "the name of a data set of scikit-learn says what is meant"
