"""Effective temperatures: thermal noise, the closed vanilla form, persistent numbers (docs/theory/dmft.md, sections 5 and 7)."""

import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.dataset.dmft.square import solve
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.dataset.spectrum import spectrum
from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.functions.loss import loss
from dimfree.questions.temperature.formulas import effective_temperature, stationary

STEPS = 240


def make(**numbers):
    defaults = {"alpha": 3.0, "Delta": 0.5, "lambda_": 0.1, "eta": 0.1}
    return multi_pass_model("two-clusters", loss("square"), **(defaults | numbers))


@pytest.mark.parametrize(
    "numbers",
    [
        {"b": 0.6, "lambda_": 0.3, "eta": 0.3},
        {"b": 0.5, "lambda_": 0.5, "eta": 0.4, "alpha": 0.5, "Delta": 1.0},
        {"b": 0.4, "lambda_": 0.3, "eta": 0.2, "rescaled": True},
    ],
    ids=["many-samples", "few-samples", "rescaled"],
)
def test_stationary_vanilla(numbers):
    """(T1)-(T4) against the last rows of a long exact run."""
    model, window = make(**numbers), 30
    run, end = solve(model, STEPS), stationary(model, jnp.arange(window + 1))
    found = effective_temperature(jnp.asarray(run.C), jnp.asarray(run.R), model.eta, window)
    for name in ("m", "train_loss", "generalisation_error"):
        np.testing.assert_allclose(getattr(run, name)[-1], getattr(end, name), rtol=1e-12)
    np.testing.assert_allclose(run.C[-1, -1], end.C, rtol=1e-12)
    np.testing.assert_allclose(run.C12[-1, -1], end.C_plateau, rtol=1e-12)
    np.testing.assert_allclose(found.chi, end.chi, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(found.Delta_C, end.C_conn[0] - end.C_conn, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(found.short, end.T_short, rtol=1e-11)
    far = stationary(model, jnp.asarray([0, 5000]))
    np.testing.assert_allclose(end.T_total, far.C_conn[0] / far.chi[1], rtol=1e-10)


def test_thermal_noise_has_its_own_temperature():
    """Langevin at T: a mode of rate r has the temperature 2T/(2 - eta r), which is T only for eta -> 0."""
    T, window, excess = 0.25, 20, []
    for eta in (0.1, 0.05):
        model = make(alpha=2.0, lambda_=1.0, eta=eta, temperature=T)
        run, (x, weight) = solve(model, STEPS), spectrum(model)
        found, rate = effective_temperature(jnp.asarray(run.C), jnp.asarray(run.R), model.eta, window), 1.0 + x
        mode, answered = 2 * T / (2 - eta * rate), weight * (1 - (1 - eta * rate) ** window) / rate
        np.testing.assert_allclose(found.short, weight @ mode, rtol=1e-6)
        np.testing.assert_allclose(found.total, answered @ mode / answered.sum(), rtol=1e-6)
        excess.append(float(found.short) - T)
    assert excess[0] / excess[1] == pytest.approx(2, rel=0.1)


def test_full_batch_is_cold():
    end = stationary(make(), jnp.arange(3))
    assert float(end.T_total) == float(end.T_short) == 0.0
    assert float(end.C) == float(end.C_plateau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("b", "tau", "fit", "total"),
    [
        (0.3, None, 0.00292, 0.00288),
        (0.3, 1.0, 0.01203, 0.01187),
        (0.3, 2.0, 0.02170, 0.02154),
        (0.3, 4.0, 0.03373, 0.03398),
        (0.6, None, 0.00313, 0.00309),
        (0.6, 1.0, 0.02471, 0.02471),
        (0.6, 2.0, 0.03980, 0.04052),
        (0.6, 4.0, 0.05584, 0.05910),
    ],
)
def test_table_of_persistent_temperatures(b, tau, fit, total):
    """The table of section 5: 600 steps, of which the last 300 count."""
    model = make(b=b, tau=tau)
    run = solve(model, 600)
    found = effective_temperature(jnp.asarray(run.C), jnp.asarray(run.R), model.eta, 300)
    np.testing.assert_allclose([found.fit, found.total], [fit, total], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_thermal_numbers():
    """T_fit = 0.26292 at eta = 0.1 (section 5)."""
    model = make(alpha=2.0, lambda_=0.3, temperature=0.25)
    run = solve(model, 600)
    assert float(effective_temperature(jnp.asarray(run.C), jnp.asarray(run.R), model.eta, 300).fit) == pytest.approx(
        0.26292, abs=5e-6
    )


def test_by_hand():
    """Three lags of a made-up run: the slopes are what their names say."""
    C = jnp.zeros((4, 4)).at[3].set(jnp.asarray([0.1, 0.2, 0.6, 1.0]))
    R = jnp.zeros((4, 4)).at[3].set(jnp.asarray([0.5, 1.5, 2.0, 0.0]))
    found = effective_temperature(C, R, jnp.asarray(0.5), 3)
    np.testing.assert_allclose(found.chi, [0.0, 1.0, 1.75, 2.0])
    np.testing.assert_allclose(found.Delta_C, [0.0, 0.4, 0.8, 0.9])
    np.testing.assert_allclose([found.short, found.long, found.total], [0.4, 0.5, 0.45])
    np.testing.assert_allclose(found.fit, (0.4 + 1.75 * 0.8 + 1.8) / (1 + 1.75**2 + 4))


@pytest.mark.parametrize("window", [0, 4])
def test_bad_window(window):
    with pytest.raises(
        ProblemError, match=f"window is {window} steps, it must lie between 1 and the 3 steps of the run"
    ):
        effective_temperature(jnp.eye(4), jnp.eye(4), jnp.asarray(0.1), window)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"b": 0.5, "tau": 2.0}, RefusalError, "stationary state is known .* not for a persistence time of 2"),
        ({"temperature": 0.1}, RefusalError, "for two clusters at temperature 0"),
        ({"lambda_": 0.0, "alpha": 0.9, "b": 0.5}, RefusalError, "training ends by interpolating, .* two runs"),
        ({"eta": 1.0}, DivergenceError, "eta = 1 is not below the largest stable value 0.3738; lower eta"),
    ],
)
def test_refused(changes, error, message):
    with pytest.raises(error, match=message):
        stationary(make(**changes), jnp.arange(2))
