"""Calculators for the theorems that bound how far SGD is from its limit (docs/theory/mean-field.md, section g).

All are upper bounds with unknown constants K or C, never predictions. The smallest constant with which a bound holds on a
sweep can be measured. Letters: N neurons (p in some papers) of D parameters, step eps, time T, dimension d, P
relevant coordinates, batch b, learning rate gamma, probability 1 - exp(-z²) or 1 - delta.
"""

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import poch

from dimfree.errors import ProblemError, RefusalError
from dimfree.functions.activation import Activation, PiecewiseLinear, Polynomial

Sizes = Mapping[str, float]
_FAR = 1e8  # a function that still grows at this argument counts as unbounded


class Known(NamedTuple):
    """What is known about a problem; assumptions about values that are left out are not tested."""

    activation: Activation | None = None
    largest_label: float | None = None
    largest_coefficient: float | None = None  # the largest |a| at the start


Assumption = Callable[[Known, Sizes], str | None]


class Bound(NamedTuple):
    """A theorem: its terms, the letter of its constant, what it bounds, its source, and what it assumes."""

    name: str
    bounds: str
    cites: str
    constant: str
    formula: Callable[..., tuple[float, ...]]
    assumptions: tuple[Assumption, ...] = ()

    @property
    def letters(self) -> tuple[str, ...]:
        """The sizes it needs."""
        return tuple(signature(self.formula).parameters)

    def __call__(self, sizes: Sizes, known: Known | None = None) -> tuple[float, ...]:
        """The terms, whose sum is the bound; an error where an assumption does not hold."""
        given = {self.constant: 1.0, **sizes}
        missing = [letter for letter in self.letters if letter not in given]
        if missing:
            raise ProblemError(f"the bound {self.name} needs {', '.join(missing)}; give {', '.join(self.letters)}.")
        for assumption in self.assumptions:
            reason = assumption(known or Known(), given)
            if reason:
                raise RefusalError(f"the bound {self.name} does not hold here: {reason}.")
        return self.formula(*(given[letter] for letter in self.letters))


def is_bounded(sigma: Activation) -> bool:
    """Whether an activation stays bounded."""
    match sigma:
        case PiecewiseLinear():
            return sigma.slope == 0 and abs(sum(sigma.bends)) < 1e-12
        case Polynomial():
            return sigma.degree == 0
        case _:
            near, far = (np.abs(np.asarray(sigma(jnp.asarray([-x, x])))) for x in (_FAR / 2, _FAR))
            return bool(np.all(far <= 1.5 * near + 1.0))


def smallest_constant(bound: Bound, sweep: Iterable[tuple[Sizes, float]], known: Known | None = None) -> float:
    """The smallest constant for which the bound covers every measured error of a sweep of (sizes, error)."""
    return max((_constant(bound, sizes, error, known) for sizes, error in sweep), default=0.0)


def first_time_below(times: Float[Any, " t"], risk: Float[Any, " t"], smallest: float, eta: float) -> float | None:
    """The first time at which R <= inf R + eta; the theorem on two Gaussians only says that such a T exists."""
    reached = np.flatnonzero(np.asarray(risk) <= smallest + eta)
    return float(np.asarray(times)[reached[0]]) if reached.size else None


def barron_cosines(amplitudes: Float[Any, " j"], frequencies: Float[Any, "j d"], radius: float) -> float:
    """Delta(f) = 2 r int |w| |F(w)| dw of sum_j c_j cos(<w_j, x> + b_j) on a ball of the given radius."""
    return 2 * radius * float(np.abs(amplitudes) @ np.linalg.norm(np.asarray(frequencies), axis=1))


def barron_gaussian(d: int, radius: float, width: float) -> float:
    """Delta(f) of exp(-|x|²/(2 width²)), about 2 r sqrt(d)/width."""
    return float(2 * radius * sqrt(2) * poch(d / 2, 0.5) / width)


def barron_risk(Delta: float, N: int) -> float:
    """The risk that N neurons can reach, at most: Delta²/N."""
    return Delta**2 / N


def barron_width(Delta: float, risk: float) -> float:
    """How many neurons are enough for a risk: Delta²/risk."""
    return Delta**2 / risk


def _constant(bound: Bound, sizes: Sizes, error: float, known: Known | None) -> float:
    def excess(exponent: float) -> float:
        total = sum(bound({**sizes, bound.constant: exp(exponent)}, known))
        return min(log(max(total, 1e-300)) if total < inf else 700.0, 700.0) - log(error)

    low, high = log(1e-12), log(1e6)
    if not error > 0 or excess(low) >= 0:
        return 0.0
    if excess(high) < 0:
        raise ProblemError(f"no constant below 1e6 makes the bound {bound.name} cover the error {error:g}.")
    return exp(brentq(excess, low, high, xtol=1e-13))


def _bounded_activation(known: Known, sizes: Sizes) -> str | None:
    if known.activation is None or is_bounded(known.activation):
        return None
    return f"it assumes a bounded activation, and {known.activation.name} is not"


def _bounded_labels(known: Known, sizes: Sizes) -> str | None:
    return None if known.largest_label != inf else "it assumes bounded labels, and these are not"


def _bounded_coefficients(known: Known, sizes: Sizes) -> str | None:
    return None if known.largest_coefficient != inf else "it assumes a bounded second layer at the start"


def _smooth_activation(known: Known, sizes: Sizes) -> str | None:
    sigma = known.activation
    return f"it assumes a smooth activation, and {sigma.name} has kinks" if sigma and sigma.kinks else None


def _one_unit_of_time(known: Known, sizes: Sizes) -> str | None:
    return None if sizes["T"] >= 1 else f"it is stated for T >= 1, and T is {sizes['T']:g}"


def _positive_sizes(known: Known, sizes: Sizes) -> str | None:
    wrong = [name for name, value in sizes.items() if name not in ("z", "K", "C") and not value > 0]
    return f"it needs positive sizes, and {wrong[0]} is {sizes[wrong[0]]:g}" if wrong else None


def _two_terms(growth: float, N: float, D: float, eps: float, z: float) -> tuple[float, float]:
    return growth * (sqrt(log(N)) + z) / sqrt(N), growth * (sqrt(D + log(N)) + z) * sqrt(eps)


def _fixed(N: float, D: float, eps: float, T: float, z: float, K: float) -> tuple[float, ...]:
    return _two_terms(K * _exp(K * T), N, D, eps, z)


def _general(N: float, D: float, eps: float, T: float, z: float, K: float) -> tuple[float, ...]:
    return _two_terms(K * _exp(K * T**3), N, D, eps, z)


def _noisy_general(N: float, D: float, eps: float, T: float, z: float, K: float) -> tuple[float, ...]:
    growth = K * _exp(_exp(K * T) * (sqrt(log(N)) + z**2))
    width = (sqrt(D * log(N)) + log(N * T) ** 1.5 + z**5) / sqrt(N)
    return growth * width, growth * (sqrt(D) * log(N * T / eps) + log(N) ** 1.5 + z**6) * sqrt(eps)


def _max_distance(N: float, D: float, eps: float, T: float, delta: float, K: float) -> tuple[float, ...]:
    size = sqrt(D + log(N * max(1.0, T / eps))) + sqrt(log(1 / delta))
    return (_exp(K * T) * sqrt(max(1 / N, eps)) * size,)


def _high_dimensional(gamma: float, p: float, d: float, T: float, C: float) -> tuple[float, ...]:
    return (_exp(C * T) * sqrt(gamma / (p * d)),)


def _wide(p: float, T: float, z: float, C: float) -> tuple[float, ...]:
    return (C * _exp(C * T) * (sqrt(log(p * T)) + z) / sqrt(p),)


def _wide_high_dimensional(p: float, d: float, T: float, z: float, C: float) -> tuple[float, ...]:
    return (*_wide(p, T, z, C), C * _exp(C * T) / sqrt(d))


def _overlaps(p: float, d: float, T: float, C: float) -> tuple[float, ...]:
    return _exp(C * T) / sqrt(p), _exp(C * T) / sqrt(d)


def _hypercube(P: float, d: float, N: float, b: float, eps: float, T: float, K: float) -> tuple[float, ...]:
    growth, noise = _exp(K * T**7), max(sqrt((d + log(N)) / b), 1.0)
    return growth * sqrt((P + log(d)) / d), growth * sqrt(log(N) / N), growth * noise * sqrt(eps)


def _exp(x: float) -> float:
    return exp(x) if x < 700 else inf


_REGULAR = (_positive_sizes, _one_unit_of_time, _bounded_activation, _bounded_labels, _bounded_coefficients)
_RISKS, _OVERLAPS = "sup over t <= T of |R(SGD) - R(limit)|", "the largest error of an overlap"

BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Bound("fixed-coefficients", _RISKS, "mei2019", "K", _fixed, _REGULAR),
        Bound("general-coefficients", _RISKS, "mei2019", "K", _general, _REGULAR),
        Bound("noisy-fixed-coefficients", _RISKS, "mei2019", "K", _fixed, _REGULAR),
        Bound("noisy-general-coefficients", _RISKS, "mei2019", "K", _noisy_general, _REGULAR),
        Bound(
            "largest-distance",
            "the largest distance of a neuron from its mean-field path",
            "mei2018",
            "K",
            _max_distance,
            (_positive_sizes, _bounded_activation),
        ),
        Bound("high-dimensional", _OVERLAPS, "veiga2022", "C", _high_dimensional, (_positive_sizes,)),
        Bound("mean-field", _RISKS, "arnaboldi2023high", "C", _wide, (_positive_sizes,)),
        Bound("dimensionless", _RISKS, "arnaboldi2023high", "C", _wide_high_dimensional, (_positive_sizes,)),
        Bound("dimensionless-overlaps", _OVERLAPS, "arnaboldi2023high", "C", _overlaps, (_positive_sizes,)),
        Bound("hypercube", _RISKS, "abbe2022", "K", _hypercube, (_positive_sizes, _smooth_activation)),
    )
}
