"""Which limit a dimension, width and learning rate are in (docs/theory/committee.md, section 4)."""

from math import log, nan, sqrt
from typing import NamedTuple

from dimfree.errors import ProblemError

ORDER_ONE = 2.0  # a ratio counts as of order one within this factor


class Regime(NamedTuple):
    """The verdict, and the numbers it rests on."""

    label: str
    s_eff: float  # gamma/p = (gamma_0/p_0) d^(-s_eff)
    variance_weight: float  # gamma/p
    dt: float  # time of a step on the scale of the gradient
    dt_noise: float  # and on the scale of the noise
    dt_eff: float
    bound_prefactor: float  # the bound on the fluctuations is e^(C t) times it


def classify(
    dimension: float,
    width: float,
    learning_rate: float,
    reference_width: float = 1.0,
    reference_rate: float = 1.0,
    factor: float = ORDER_ONE,
) -> Regime:
    """The regime of one triple, relative to a reference (width, rate) that counts as the high-dimensional limit.

    Exponents cannot be read off one triple: what is compared is (rate/width) / (reference_rate/reference_width), which is of
    order one when it lies between 1/factor and factor.
    """
    given = {
        "dimension": dimension,
        "width": width,
        "learning_rate": learning_rate,
        "reference_width": reference_width,
        "reference_rate": reference_rate,
    }
    for name, value in given.items():
        if not value > 0:
            raise ProblemError(f"{name} = {value:g} was given; it must be positive.")
    if not factor >= 1:
        raise ProblemError(f"factor = {factor:g} was given; it must be at least 1.")
    weight = learning_rate / width
    relative = weight / (reference_rate / reference_width)
    dt, dt_noise = weight / dimension, weight**2 / dimension
    return Regime(
        label=_label(relative, dimension, factor),
        s_eff=-log(relative) / log(dimension) if dimension != 1 else nan,
        variance_weight=weight,
        dt=dt,
        dt_noise=dt_noise,
        dt_eff=max(dt, dt_noise),
        bound_prefactor=sqrt(dt),
    )


def classify_exponents(kappa: float, delta: float) -> str:
    """The regime of width = p_0 d^kappa and learning rate = gamma_0 d^(-delta) as d grows."""
    s = round(kappa + delta, 12)  # 0.2 - 0.7 is meant to be -0.5
    if s > 0:
        return "gradient_flow"
    if s == 0:
        return "saad_solla"
    return "noise_dominated" if s > -0.5 else "no_ode"


def _label(relative: float, dimension: float, factor: float) -> str:
    if relative**2 >= dimension:
        return "no_ode"
    if 1 / factor <= relative <= factor:
        return "saad_solla"
    return "gradient_flow" if relative < 1 / factor else "noise_dominated"
