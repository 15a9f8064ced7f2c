"""Activations: values, derivatives, and what is found out about functions that the user writes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from numpy.polynomial import hermite_e, polynomial

from dimfree.errors import ProblemError
from dimfree.functions import Erf, General, PiecewiseLinear, Polynomial, activation
from dimfree.functions.understand import understand
from dimfree.problem import Hermite
from dimfree.problem import PiecewiseLinear as WrittenPiecewiseLinear
from dimfree.problem import Polynomial as WrittenPolynomial
from dimfree.problem.activation import NAMES

POINTS = np.linspace(-3.97, 3.98, 41)  # none of them is a kink
COEFFICIENTS = (0.5, -1.0, 0.25, 2.0)
WRITTEN = WrittenPiecewiseLinear(knots=(-1.5, 0.0, 2.0), values=(0.5, -1.0, 3.0), left_slope=-0.25, right_slope=0.5)
REFERENCE = {
    "erf": lambda x: scipy.special.erf(x / np.sqrt(2)),
    "relu": lambda x: np.maximum(x, 0),
    "linear": lambda x: x,
    "square": lambda x: x**2,
    "tanh": np.tanh,
    "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "hard-tanh": lambda x: np.clip(x, -1, 1),
    "leaky-relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "sin": np.sin,
    "cos": np.cos,
    "ramp": lambda x: np.interp(x, (0.5, 1.5), (-2.5, 7.5)),
    "dip-ramp": lambda x: np.interp(x, (0.0, 0.5, 1.5), (-2.5, -4.0, 7.5)),
    "truncated-relu": lambda x: np.clip(x, 0, 1),
    "he0": np.ones_like,
    "he1": lambda x: x,
    "he3": lambda x: x**3 - 3 * x,
    "he4": lambda x: x**4 - 6 * x**2 + 3,
    Hermite(hermite=COEFFICIENTS): lambda x: hermite_e.hermeval(x, COEFFICIENTS),
    WrittenPolynomial(polynomial=COEFFICIENTS): lambda x: polynomial.polyval(x, COEFFICIENTS),
    WRITTEN: lambda x: (
        np.interp(x, WRITTEN.knots, WRITTEN.values) - 0.25 * np.minimum(x + 1.5, 0) + 0.5 * np.maximum(x - 2, 0)
    ),
}


def shape_of(f: PiecewiseLinear) -> list[float]:
    return [f.constant, f.slope, *f.kinks, *f.bends]


def softsign(x):
    return x / (1 + jnp.abs(x))


def test_every_name_has_a_reference():
    assert set(NAMES) <= set(REFERENCE)


@pytest.mark.parametrize("written", REFERENCE, ids=str)
def test_value(written):
    np.testing.assert_allclose(
        activation(written)(jnp.asarray(POINTS)), REFERENCE[written](POINTS), rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize("written", REFERENCE, ids=str)
def test_derivatives_are_finite_differences_of_the_value(written):
    f, h = activation(written), 1e-5
    at = jax.jit(lambda x: (f(x), f.derivative(x), f.second_derivative(x)))
    below, here, above = (at(jnp.asarray(x)) for x in (POINTS - h, POINTS, POINTS + h))
    for order in (0, 1):
        slope = (above[order] - below[order]) / (2 * h)
        np.testing.assert_allclose(here[order + 1], slope, rtol=1e-7, atol=1e-8)


def test_forms_are_recognised():
    assert isinstance(activation("erf"), Erf)
    assert activation("he3").coefficients == (0.0, -3.0, 0.0, 1.0)
    assert activation("relu").is_relu
    assert not activation("leaky-relu").is_relu
    assert activation(WRITTEN).kinks == WRITTEN.knots
    assert isinstance(activation("tanh"), General)
    assert activation("tanh").kinks == ()


def test_an_activation_is_itself():
    written = Polynomial(coefficients=(1.0, 2.0))
    assert activation(written) is written


@pytest.mark.parametrize(
    ("function", "same_as"),
    [
        ("jax.nn:relu", "relu"),
        (jax.nn.relu, "relu"),
        (lambda x: jnp.where(x > 0, x, 0.0), "relu"),
        (jax.nn.leaky_relu, "leaky-relu"),
        (lambda x: jnp.clip(x, -1, 1), "hard-tanh"),
        (jnp.abs, WrittenPiecewiseLinear(knots=(0.0,), values=(0.0,), left_slope=-1, right_slope=1)),
        (
            lambda x: 2 * jnp.maximum(x - 0.7, 0) - x + 3,
            PiecewiseLinear(constant=3.0, slope=-1.0, kinks=(0.7,), bends=(2.0,)),
        ),
    ],
    ids=["path", "relu", "where", "leaky-relu", "clip", "abs", "shifted"],
)
def test_piecewise_linear_functions_are_recognised(function, same_as):
    found = activation(function)
    assert isinstance(found, PiecewiseLinear)
    np.testing.assert_allclose(shape_of(found), shape_of(activation(same_as)), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "kinks"),
    [
        (jax.nn.elu, (0.0,)),
        (softsign, (0.0,)),
        (lambda x: jnp.maximum(x, 0) ** 2, (0.0,)),
        (jax.nn.hard_silu, (-3.0, 3.0)),
        (lambda x: jnp.tanh(x) + jnp.abs(x + 0.5), (-0.5,)),
        (jax.nn.gelu, ()),
        (lambda x: jnp.tanh(20 * x), ()),
    ],
    ids=["elu", "softsign", "relu²", "hard-silu", "bent-tanh", "gelu", "steep-tanh"],
)
def test_kinks_are_found_where_a_derivative_jumps_and_nowhere_else(function, kinks):
    found = activation(function)
    assert isinstance(found, General)
    assert found.kinks == pytest.approx(kinks, abs=1e-9)


def test_a_kink_is_found_beside_fast_growth():
    assert activation(lambda x: 0.1 * jnp.abs(x) + x**3).kinks == pytest.approx((0.0,), abs=1e-9)


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (jnp.sign, "jumps at x = 0; it must be continuous"),
        (lambda x: jnp.where(x > 1.5, x, 0.0), "jumps at x = 1.5; it must be continuous"),
        (lambda x: jnp.where(x > -3, x + 1e-3, x), "jumps at x = -3; it must be continuous"),
        (lambda x: 1 / x, "or its derivative is not finite for all |x| <= 20"),
        (jnp.cumsum, "is not elementwise; it must map each number on its own"),
        (lambda x: jnp.sort(x)[::-1], "is not elementwise"),
        (jnp.sum, "is not elementwise"),
        (jnp.log, "or its derivative is not finite for all |x| <= 20; it must be finite for all x"),
        (jnp.sqrt, "or its derivative is not finite for all |x| <= 20"),
        (np.tanh, "does not run on a jax array (TypeError: "),
        (math.tanh, "does not run on a jax array (TypeError: "),
        (scipy.special.erf, "does not run on a jax array (TypeError: "),
        (lambda: 1.0, "does not run on a jax array (TypeError: "),
        (lambda x: "text", "does not run on a jax array (TypeError: "),
        (lambda x: x.astype(int), "does not run on a jax array (ValueError: "),
    ],
)
def test_functions_that_cannot_be_activations_are_rejected(function, complaint):
    with pytest.raises(ProblemError) as caught:
        activation(function)
    assert str(caught.value).startswith("the activation ")
    assert complaint in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("function", [lambda x: x - jnp.mean(x), lambda x: x[::-1]], ids=["centred", "flipped"])
def test_functions_that_mix_their_inputs_evenly_are_rejected(function):
    with pytest.raises(ProblemError, match="is not elementwise"):
        activation(function)


@pytest.mark.parametrize(
    "function", [lambda x: jnp.sqrt(10 - x), lambda x: jnp.exp(x**4), lambda x: jnp.sqrt(jnp.abs(x))]
)
def test_functions_that_are_not_finite_somewhere_are_rejected(function):
    with pytest.raises(ProblemError, match="not finite"):
        activation(function)


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        (
            "no_such_module:f",
            "the activation 'no_such_module:f' cannot be imported (ModuleNotFoundError: No module named",
        ),
        ("jax.numpy:no_such", "cannot be imported (AttributeError: module 'jax.numpy' has no attribute 'no_such'"),
        ("jax.numpy:pi", "the activation 'jax.numpy:pi' is not a function but a float."),
    ],
)
def test_paths_that_lead_nowhere(path, complaint):
    with pytest.raises(ProblemError) as caught:
        activation(path)
    assert complaint in str(caught.value)


def test_a_path_may_lead_into_a_class(monkeypatch, tmp_path):
    (tmp_path / "own_functions.py").write_text(
        "import jax.numpy as jnp\nclass Mine:\n    bend = staticmethod(jnp.tanh)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = activation("own_functions:Mine.bend")
    assert found.name == "own_functions:Mine.bend"
    np.testing.assert_allclose(found(jnp.asarray(POINTS)), np.tanh(POINTS), rtol=1e-14)


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(activation(name), General)])
def test_what_is_written_down_of_smooth_built_ins_is_what_is_found_out(name):
    written = activation(name)
    assert understand(written.function, name) == written
