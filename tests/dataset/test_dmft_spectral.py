"""The spectral solution against the exact closure, which shares no equation with it (docs/theory/dmft.md, section 7, item 1)."""

import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.dataset.dmft.spectral import solve_spectral
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.errors import RefusalError
from dimfree.functions.loss import loss

SETTINGS = [
    {"alpha": 2.0, "Delta": 0.5, "lambda_": 0.1, "eta": 0.2, "b": 1.0},
    {"alpha": 0.5, "Delta": 1.0, "lambda_": 0.0, "eta": 0.2, "b": 0.3},
    {"alpha": 3.0, "Delta": 0.3, "lambda_": 0.5, "eta": 0.1, "b": 0.6},
    {"alpha": 0.8, "Delta": 0.7, "lambda_": 0.1, "eta": 0.1, "b": 0.5, "c0": 0.3},
    {"alpha": 1.0, "Delta": 0.5, "lambda_": 0.0, "eta": 0.15, "b": 0.5, "rescaled": True},
]


def make(**numbers):
    return multi_pass_model("two-clusters", loss("square"), **numbers)


@pytest.mark.parametrize("numbers", SETTINGS)
def test_agrees_with_the_closure(numbers):
    model, steps = make(**numbers), 80
    exact, spectral = solve(model, steps), solve_spectral(model, steps)
    for name in ("m", "train_loss", "generalisation_error"):
        np.testing.assert_allclose(getattr(spectral, name), getattr(exact, name), rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(spectral.C, jnp.diagonal(exact.C), rtol=0, atol=1e-12)
    np.testing.assert_allclose(spectral.C12, jnp.diagonal(exact.C12), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b": 0.5, "tau": 2.0}, "not for a persistence time of 2; set tau = 0 or b = 1"),
        ({"spherical": True}, "not on the sphere; set spherical = false"),
        ({"temperature": 0.5}, "at temperature 0.5 from m0 = 0; use the exact closure"),
        ({"m0": 0.2}, "from m0 = 0.2; use the exact closure"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(RefusalError, match=message):
        solve_spectral(make(**(SETTINGS[0] | changes)), 5)


def test_other_losses_are_refused():
    with pytest.raises(
        RefusalError, match=r"spectral solution is known .* not for the logistic loss with two-clusters"
    ):
        solve_spectral(multi_pass_model("two-clusters", loss("logistic"), alpha=2.0, eta=0.1), 5)
