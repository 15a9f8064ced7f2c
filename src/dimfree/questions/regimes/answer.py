"""Which limit a given dimension, width and learning rate are in (docs/theory/committee.md, section 4)."""

from math import log, nan, sqrt
from typing import NamedTuple

from dimfree.errors import ProblemError
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections.network import prefactor


class Regime(NamedTuple):
    """The verdict, and the numbers it rests on."""

    label: str
    s_eff: float  # gamma/p = (gamma_0/p_0) d^(-s_eff)
    variance_weight: float  # gamma/p
    dt: float  # time of a step on the scale of the gradient
    dt_noise: float  # and on the scale of the noise
    dt_eff: float
    bound_prefactor: float  # the bound on the fluctuations is e^(C t) times it


_NAMES = {
    "gradient_flow": "gradient flow (perfect learning)",
    "saad_solla": "the high-dimensional limit of Saad and Solla (a plateau remains)",
    "noise_dominated": "domination by noise (bad learning)",
    "no_ode": "no deterministic limit",
}
_MEANINGS = {
    "gradient_flow": "SGD follows the gradient of the population risk",
    "saad_solla": "the gradient and the noise of the steps act together",
    "noise_dominated": "the noise of the steps blows up the norms before the gradient acts",
    "no_ode": "a single step is as large as the network itself",
}
_NEGLIGIBLE, _VISIBLE = 0.01, 0.5


def classify(
    dimension: float,
    width: float,
    learning_rate: float,
    reference_width: float = 1.0,
    reference_rate: float = 1.0,
    factor: float = 2.0,
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


def explain(problem: OnePassProblem) -> str:
    """The regime of a problem and what follows from it, in a few sentences."""
    d, p, gamma = problem.dimension, problem.network.width, problem.training.learning_rate
    regime = classify(d, p, gamma)
    sentences = [
        f"At dimension {d}, width {p} and learning rate {gamma:g} the regime is {_NAMES[regime.label]}: "
        f"{_MEANINGS[regime.label]}.",
        _noise_sentence(problem, regime),
        f"One unit of time takes {_count(problem.training.batch / regime.dt)} samples in {_count(1 / regime.dt)} steps.",
        _doubling_sentence("width", "halves", "doubles", classify(d, 2 * p, gamma), regime),
        _doubling_sentence("learning rate", "doubles", "halves", classify(d, p, 2 * gamma), regime),
        *_scatter_sentences(regime),
        *_scaling_sentences(problem),
    ]
    return " ".join(sentences)


def _label(relative: float, dimension: float, factor: float) -> str:
    if relative**2 >= dimension:
        return "no_ode"
    if 1 / factor <= relative <= factor:
        return "saad_solla"
    return "gradient_flow" if relative < 1 / factor else "noise_dominated"


def _noise_sentence(problem: OnePassProblem, regime: Regime) -> str:
    weight = regime.variance_weight / problem.training.batch
    if weight < _NEGLIGIBLE:
        verdict = "negligible"
    elif weight < _VISIBLE:
        verdict = "small but visible, above all in the final risk"
    else:
        verdict = "not negligible"
    return f"The noise term, of weight learning_rate/(width * batch) = {weight:.3g}, is {verdict}."


def _doubling_sentence(what: str, noise: str, samples: str, after: Regime, before: Regime) -> str:
    verdict = "stays the same" if after.label == before.label else f"becomes {_NAMES[after.label]}"
    return (
        f"Doubling the {what} {noise} the weight of the noise and {samples} the samples per unit of time; "
        f"the regime {verdict}."
    )


def _scatter_sentences(regime: Regime) -> list[str]:
    if regime.label == "no_ode":
        return []
    return [
        "Single runs scatter around the limit on the scale sqrt(learning_rate/(width * dimension)) = "
        f"{regime.bound_prefactor:.2g}, which may grow exponentially in time."
    ]


def _scaling_sentences(problem: OnePassProblem) -> list[str]:
    """These numbers are for second layers of order one in f = (1/width) sum_i a_i sigma_i."""
    network = problem.network
    stretch = network.width * prefactor(network.scaling, network.width)
    if stretch == 1:
        return []
    return [
        f"All this is for the scaling 'mean'; with scaling {network.scaling!r} the second layer is {stretch:.3g} times larger, "
        f"so gradients act as if the learning rate were {stretch:.3g} times larger."
    ]


def _count(number: float) -> str:
    return f"{number:,.0f}" if 10 <= number < 1e9 else f"{number:.2g}"
