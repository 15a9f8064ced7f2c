"""Which limit a dimension, width, learning rate and batch are in (docs/theory/committee.md, section 4)."""

from math import log, nan, sqrt
from typing import NamedTuple

from dimfree.errors import ProblemError

ORDER_ONE = 2.0  # a ratio between 1/ORDER_ONE and ORDER_ONE counts as of order one


class Regime(NamedTuple):
    """The verdict, and the numbers it rests on."""

    label: str
    s_eff: float  # gamma/(p batch) = (gamma_0/p_0) d^(-s_eff)
    variance_weight: float  # gamma/(p batch)
    dt: float  # time of a step on the scale of the gradient
    dt_noise: float  # time of a step on the scale of the noise
    dt_eff: float
    bound_prefactor: float  # the factor in front of e^(C t) in the bound on the fluctuations


def classify(
    dimension: float,
    width: float,
    learning_rate: float,
    reference_width: float = 1.0,
    reference_rate: float = 1.0,
    factor: float = ORDER_ONE,
    *,
    batch: float = 1,
) -> Regime:
    """The regime of one problem, relative to a reference (width, rate) of single samples that is the high-dimensional limit.

    Exponents cannot be read off one problem: what is compared is (rate/width/batch) / (reference_rate/reference_width), which
    is of order one when it lies between 1/factor and factor.
    """
    given = {
        "dimension": dimension,
        "width": width,
        "learning_rate": learning_rate,
        "reference_width": reference_width,
        "reference_rate": reference_rate,
        "batch": batch,
    }
    for name, value in given.items():
        if not value > 0:
            raise ProblemError(f"{name} = {value:g} was given; it must be positive.")
    if not factor >= 1:
        raise ProblemError(f"factor = {factor:g} was given; it must be at least 1.")
    weight = learning_rate / (width * batch)
    relative = weight / (reference_rate / reference_width)
    dt, dt_noise = batch * weight / dimension, batch * weight**2 / dimension
    return Regime(
        label=_label(relative, dimension, batch, factor),
        s_eff=-log(relative) / log(dimension) if dimension != 1 else nan,
        variance_weight=weight,
        dt=dt,
        dt_noise=dt_noise,
        dt_eff=max(dt, dt_noise),
        bound_prefactor=sqrt(dt / batch),
    )


def classify_exponents(kappa: float, delta: float) -> str:
    """The regime of width = p_0 d^kappa and learning rate = gamma_0 d^(-delta) as d grows."""
    s = round(kappa + delta, 12)  # rounded, so that 0.2 - 0.7 is -0.5
    if s > 0:
        return "gradient_flow"
    if s == 0:
        return "saad_solla"
    return "noise_dominated" if s > -0.5 else "no_ode"


def exponents(dimension: float, width: float, learning_rate: float, batch: float) -> tuple[float, float]:
    """kappa and delta of width = d^kappa and learning rate/batch = d^(-delta)."""
    if dimension < 2:
        raise ProblemError(f"dimension = {dimension:g} was given; exponents of the dimension need at least 2.")
    return log(width) / log(dimension), -log(learning_rate / batch) / log(dimension)


def edge(dimension: float, batch: float) -> float:
    """The exponent s of rate/(width batch) = d^(-s) below which a step is as large as the network itself.

    Its noise has the size d^(-2s - 1) batch, and its mean d^(-s - 1) batch: -1/2 for single samples.
    """
    left = 1 - log(batch) / log(dimension)
    return max(-left / 2, -left)


def _label(relative: float, dimension: float, batch: float, factor: float) -> str:
    if max(relative**2, relative) * batch >= dimension:
        return "no_ode"
    if 1 / factor <= relative <= factor:
        return "saad_solla"
    return "gradient_flow" if relative < 1 / factor else "noise_dominated"
