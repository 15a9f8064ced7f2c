"""How hot the batches make a run: the fluctuation-dissipation relation (docs/theory/dmft.md, section 5).

In equilibrium the response chi to a field and the decay Delta C of correlations are proportional, chi = Delta C/T. Far from it
their ratio depends on the time that has passed; several ratios are given, so that this can be seen.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dimfree.dataset.ends.static import ridge
from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.dataset.spectrum import noise_gain, require_stable, require_vanilla, spectrum
from dimfree.errors import ProblemError, RefusalError


class Slopes(NamedTuple):
    """Temperatures at the first step, over the second half of the response, at the end point, and fitted."""

    short: Float[Array, ""]
    long: Float[Array, ""]
    total: Float[Array, ""]
    fit: Float[Array, ""]


class EffectiveTemperature(NamedTuple):
    """chi and Delta C at lags 0 to `window` before the last time, and the slopes of Delta C against chi."""

    chi: Float[Array, " lag"]
    Delta_C: Float[Array, " lag"]
    short: Float[Array, ""]  # the first step
    long: Float[Array, ""]  # the second half of the response
    total: Float[Array, ""]  # the end point
    fit: Float[Array, ""]  # least squares through the origin


class Stationary(NamedTuple):
    """Vanilla SGD after infinitely many steps; connected correlation and response at the lags asked for."""

    m: Float[Array, ""]
    C: Float[Array, ""]
    C_plateau: Float[Array, ""]  # C(t, s) at infinite lag
    train_loss: Float[Array, ""]
    generalisation_error: Float[Array, ""]
    T_total: Float[Array, ""]
    T_short: Float[Array, ""]
    C_conn: Float[Array, " lag"]
    chi: Float[Array, " lag"]


def effective_temperature(
    C: Float[Array, "n n"], R: Float[Array, "n n"], eta: Float[Array, ""], window: int
) -> EffectiveTemperature:
    """From two-time functions of a run that has become stationary in its last `window` steps."""
    last = len(C) - 1
    if not 1 <= window <= last:
        raise ProblemError(f"the window is {window} steps, it must lie between 1 and the {last} steps of the run.")
    lags = jnp.arange(window + 1)
    chi = jnp.append(0.0, eta * jnp.cumsum(R[last, last - 1 - lags[:-1]]))
    Delta_C = C[last, last] - C[last, last - lags]
    return EffectiveTemperature(chi, Delta_C, *slopes(chi, Delta_C))


def slopes(chi: Float[Array, " lag"], Delta_C: Float[Array, " lag"]) -> Slopes:
    """Delta C over chi in four ways: where they differ, there is no single temperature."""
    half = jnp.argmax(chi >= chi[-1] / 2)
    return Slopes(
        short=Delta_C[1] / chi[1],
        long=(Delta_C[-1] - Delta_C[half]) / (chi[-1] - chi[half]),
        total=Delta_C[-1] / chi[-1],
        fit=Delta_C @ chi / (chi @ chi),
    )


def stationary(model: MultiPassModel, lags: Int[Array, " lag"]) -> Stationary:
    """The closed form (T1)-(T4) for two clusters, the square loss and vanilla SGD (or full batch, where T = 0)."""
    require_vanilla(model, "the closed stationary state")
    if model.has_teacher or float(model.temperature) > 0:
        raise RefusalError(
            "the closed stationary state is for two clusters at temperature 0; use the exact closure and its last rows."
        )
    if float(model.lambda_) == 0 and float(model.alpha) <= 1:
        raise RefusalError(
            "with lambda = 0 and alpha <= 1 training ends by interpolating, where the effective temperature is zero; "
            "use the distance of two runs with the same data instead."
        )
    require_stable(model)
    return _stationary(model, lags)


@eqx.filter_jit
def _stationary(model: MultiPassModel, lags: Int[Array, " lag"]) -> Stationary:
    a, b, rest = model.gradient_scale, model.b, ridge(model)
    train_loss = rest.train_loss / (1 - noise_gain(model))  # (T1)
    x, weight = spectrum(model)
    rate = model.lambda_ + a * b * x
    T = model.eta * a**2 * b * (1 - b) * 2 * train_loss * x / (2 - model.eta * rate)  # of a mode, (T3)

    def two_time(n: Int[Array, " lag"]) -> tuple[Float[Array, " lag"], Float[Array, " lag"]]:
        decay = (1 - model.eta * rate) ** n[:, None]
        return decay @ (weight * T / rate), (1 - decay) @ (weight / rate)  # (T2)

    C_conn, chi = two_time(lags)
    early, response = two_time(jnp.arange(2))
    C = rest.C + early[0]
    return Stationary(
        m=rest.m,
        C=C,
        C_plateau=rest.C,
        train_loss=train_loss,
        generalisation_error=model.generalisation_error(rest.m, C),
        T_total=early[0] / jnp.sum(weight / rate),
        T_short=(early[0] - early[1]) / response[1],
        C_conn=C_conn,
        chi=chi,
    )
