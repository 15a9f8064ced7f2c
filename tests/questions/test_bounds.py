from math import exp, inf, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

import dimfree as df
from dimfree.errors import ProblemError, RefusalError
from dimfree.functions.ramps import TRUNCATED_RELU
from dimfree.questions.bounds.calculators import (
    BOUNDS,
    Known,
    barron_cosines,
    barron_gaussian,
    barron_risk,
    barron_width,
    first_time_below,
    is_bounded,
    smallest_constant,
)

SIZES = {
    "N": 1000,
    "D": 102,
    "eps": 1e-4,
    "T": 1.5,
    "z": 1.0,
    "p": 20,
    "d": 100,
    "P": 4,
    "b": 500,
    "delta": 0.05,
    "gamma": 0.1,
}


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=lambda bound: bound.name)
def test_bounds_grow_with_time_and_fall_with_size(bound):
    terms = bound(SIZES)
    assert all(0 < term < inf for term in terms)
    assert sum(bound({**SIZES, "T": 2.0})) > sum(terms)
    small = {**SIZES, bound.constant: 0.1}  # one constant sits in a double exponential of the logarithm of N
    better = {**small, "N": 10**12, "p": 10**12, "d": 10**12, "eps": 1e-12, "b": 10**15}
    assert sum(bound(better)) < 1e-2 * sum(bound(small))


def test_rates_are_those_of_the_theorems():
    def term(name, number, **changes):
        return BOUNDS[name]({**SIZES, "z": 1e9, **changes})[number]

    # z far above the logarithms leaves the bare powers
    np.testing.assert_allclose(term("fixed-coefficients", 0) / term("fixed-coefficients", 0, N=4000), 2.0, rtol=1e-6)
    np.testing.assert_allclose(term("fixed-coefficients", 1, eps=4e-4) / term("fixed-coefficients", 1), 2.0, rtol=1e-6)
    ratio = BOUNDS["general-coefficients"](SIZES)[0] / BOUNDS["fixed-coefficients"](SIZES)[0]
    np.testing.assert_allclose(ratio, exp(1.5**3 - 1.5), rtol=1e-12)
    np.testing.assert_allclose(sum(BOUNDS["high-dimensional"](SIZES)), exp(1.5) * sqrt(0.1 / 2000), rtol=1e-12)


def test_what_is_bounded():
    names = {"erf": True, "tanh": True, "sigmoid": True, "sin": True, "hard-tanh": True, "relu": False, "he3": False}
    names |= {"softplus": False, "linear": False, "leaky-relu": False}
    assert {name: is_bounded(df.extend.activation(name)) for name in names} == names
    assert is_bounded(TRUNCATED_RELU)


def test_bounds_refuse_where_an_assumption_fails():
    one = BOUNDS["fixed-coefficients"]
    one(SIZES, Known(df.extend.activation("erf"), 1.0, 1.0))
    for known, reason in (
        (Known(df.extend.activation("relu")), "assumes a bounded activation, and relu is not"),
        (Known(largest_label=inf), "assumes bounded labels"),
        (Known(largest_coefficient=inf), "assumes a bounded second layer"),
    ):
        with pytest.raises(RefusalError, match=reason):
            one(SIZES, known)
    with pytest.raises(RefusalError, match=r"stated for T >= 1, and T is 0\.5"):
        one({**SIZES, "T": 0.5})
    with pytest.raises(RefusalError, match="relu has kinks"):
        BOUNDS["hypercube"](SIZES, Known(df.extend.activation("relu")))
    with pytest.raises(RefusalError, match="positive sizes, and N is 0"):
        one({**SIZES, "N": 0})
    with pytest.raises(ProblemError, match="needs D, T; give N, D, eps, T, z, K"):
        one({"N": 10, "eps": 1e-3, "z": 1.0})


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=lambda bound: bound.name)
def test_the_smallest_constant_just_covers_a_sweep(bound):
    truth = 0.37
    sweep = [
        ({**SIZES, "N": n, "p": n, "d": n}, sum(bound({**SIZES, "N": n, "p": n, "d": n, bound.constant: truth})))
        for n in (50, 500)
    ]
    np.testing.assert_allclose(smallest_constant(bound, sweep), truth, rtol=1e-9)
    harder = [sweep[0], (sweep[1][0], 2 * sweep[1][1])]
    found = smallest_constant(bound, harder)
    assert found > truth
    assert all(sum(bound({**sizes, bound.constant: found * (1 + 1e-9)})) >= error for sizes, error in harder)


def test_no_error_needs_no_constant():
    assert smallest_constant(BOUNDS["fixed-coefficients"], [(SIZES, 0.0)]) == 0.0


def test_first_time_below():
    times, risk = np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.5, 0.2])
    assert first_time_below(times, risk, 0.1, 0.4) == 1.0
    assert first_time_below(times, risk, 0.1, 0.05) is None


@pytest.mark.parametrize("d", [1, 2, 5])
def test_barron_norm_of_a_gaussian_is_the_integral(d):
    """2 r int |w| F(w) dw with F the Gaussian density of variance 1/width² in d dimensions."""
    radius, width = 1.7, 0.6
    density = lambda w: width**d / (2 * np.pi) ** (d / 2) * np.exp(-((w * width) ** 2) / 2)  # noqa: E731
    sphere = 2 * np.pi ** (d / 2) / gamma(d / 2)
    moment = quad(lambda w: sphere * w ** (d - 1) * w * density(w), 0, 60 / width)[0]
    np.testing.assert_allclose(barron_gaussian(d, radius, width), 2 * radius * moment, rtol=1e-9)


def test_barron_norm_of_cosines_and_what_follows_from_it():
    Delta = barron_cosines(np.array([2.0, -1.0]), np.array([[3.0, 4.0], [0.0, 1.0]]), 0.5)
    assert Delta == pytest.approx(2 * 0.5 * (2 * 5 + 1))
    assert barron_risk(Delta, round(barron_width(Delta, 0.01))) == pytest.approx(0.01)
