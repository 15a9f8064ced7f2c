"""The problems of docs/theory/schedules.md: two committees with a plateau, and two units that are solved in closed form."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

import dimfree as df
from dimfree.gallery.optimal_schedule import CASES, committee

A, B = (committee(*one) for one in CASES.values())


def single(activation: str, noise: float, until: float, M: float, **more: object) -> df.extend.OnePassProblem:
    """One unit learns one unit."""
    return df.Problem(
        dimension=1000,
        data=df.Teacher(units=1, activation=activation, scaling="sum", noise=noise),
        network=df.TwoLayer(width=1, activation=activation, scaling="sum"),
        training=df.OnePass(learning_rate=1.0, **more),
        start=df.OverlapStart(Q=((1.0,),), M=((M,),)),
        run=df.Run(until=until),
    )


def linear(noise: float, until: float, M: float = 0.0) -> df.extend.OnePassProblem:
    """Problem D."""
    return single("linear", noise, until, M)


def phase_retrieval(noise: float, until: float, M: float = 0.1) -> df.extend.OnePassProblem:
    """Problem C, on the sphere."""
    return single("square", noise, until, M, spherical=True)


def best_of(problem: df.extend.OnePassProblem, **options: object):
    """The best schedule, without what takes longest."""
    return df.optimise(problem, **{"knots": 25, "against": "greedy", "confirm": "none"} | options)


def linear_risk(noise: float, alpha: np.ndarray, M: float = 0.0) -> np.ndarray:
    """rho/2 with rho = Delta/W(u0 exp(u0 + alpha)), u0 = Delta/rho0 (section 1)."""
    u = noise / (2 - 2 * M)
    return noise / np.real(lambertw(u * np.exp(u + alpha))) / 2


def linear_rate(noise: float, risk: np.ndarray) -> np.ndarray:
    """rho/(rho + Delta)."""
    return 2 * risk / (2 * risk + noise)


def retrieval_risk(noise: float, alpha: float, M: float = 0.1) -> float:
    """2 (1 - s) with s from equation (1.2), solved for x = log(s/(1 - s)), in which it is well-behaved."""
    taken = lambda x: (3 + noise / 4) * x + noise / 4 * (1 + np.exp(x))  # noqa: E731
    first = np.log(M**2 / (1 - M**2))
    x = brentq(lambda x: taken(x) - taken(first) - alpha, first - 1.0, 60.0, xtol=1e-14)
    return 2 / (1 + np.exp(x))


def retrieval_rate(noise: float, risk: np.ndarray) -> np.ndarray:
    """(1 - s)/(12 (1 - s) + Delta)."""
    return (risk / 2) / (6 * risk + noise)
