"""The adapter for the dimension-free dynamics on numbers that no file has, against the formulas of the sheet."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dimfree.errors import ProblemError
from dimfree.reference.hypercube import dfpde, msp

INPUTS = {
    "terms": [[[1], 1.2], [[0, 1], -0.7], [[], 0.3], [[0, 1, 3], 0.9]],
    "P": 4,
    "n_particles": 14,
    "s0": 1.8,
    "activation": "0.5*x + tanh(x - 0.4)",
    "init": "a_j=2(j-1/2)/n-1, u=0, s=s0",
    "xi_a": 2.5,
    "xi_w": 0.6,
    "nG": 7,
    "times": [1.5, 4.0],
}


def by_the_sheet(inputs):
    """docs/theory/mean-field.md, section d, by an adaptive solver; with as few nodes for G as the inputs say."""
    P, n = inputs["P"], inputs["n_particles"]
    z = np.array(list(itertools.product((-1.0, 1.0), repeat=P)))
    h = sum(c * np.prod(z[:, support], axis=1) for support, c in inputs["terms"])
    G, w = np.polynomial.hermite_e.hermegauss(inputs["nG"])
    w = w / w.sum()

    def parts(y):
        a, u, s = y[:n], y[n : n * (1 + P)].reshape(n, P), y[n * (1 + P) :]
        at = (z @ u.T)[..., None] + s[:, None] * G
        return a, u, s, 0.5 * at + np.tanh(at - 0.4), 0.5 + 1 / np.cosh(at - 0.4) ** 2

    def velocity(_, y):
        a, _, _, value, slope = parts(y)
        g = (h - (value @ w) @ a / n) / len(z)
        u = a[:, None] * ((slope @ w) * g[:, None]).T @ z
        s = a * (g @ (slope @ (w * G)))
        return np.concatenate([inputs["xi_a"] * g @ (value @ w), inputs["xi_w"] * u.ravel(), inputs["xi_w"] * s])

    start = np.concatenate([(2 * np.arange(n) + 1) / n - 1, np.zeros(n * P), np.full(n, inputs["s0"])])
    run = solve_ivp(velocity, (0, inputs["times"][-1]), start, "DOP853", inputs["times"], rtol=1e-10, atol=1e-12)
    for y in run.y.T:
        a, u, s, value, _ = parts(y)
        f = (value @ w) @ a / n
        yield np.mean((h - f) ** 2), (f * z[:, 0] * z[:, 1]).mean(), np.abs(u).mean(axis=0), s.mean(), f.mean()


@pytest.mark.slow
def test_any_inputs_of_the_schema():
    found = dfpde(INPUTS)
    names = ("risk", "fourier[0,1]", "mean_abs_u", "mean_s", "fourier[]")
    for i, expected in enumerate(by_the_sheet(INPUTS)):
        for name, value in zip(names, expected, strict=True):
            np.testing.assert_allclose(np.asarray(found[name])[i], value, rtol=1e-6, atol=1e-9, err_msg=name)
    assert sum(name.startswith("fourier") for name in found) == 2**4


def test_another_start_is_not_taken_for_this_one():
    with pytest.raises(ProblemError, match="the schema has a at quantiles"):
        dfpde(INPUTS | {"init": "a_j=1, u=0, s=s0"})


def test_reachable_coordinates():
    found = msp({"supports": [[3], [3, 1], [0, 2, 3]]})
    assert found == {"leap": 2, "msp": False, "reachable_L1": [1, 3], "unreachable_supports_L1": [[0, 2, 3]]}
