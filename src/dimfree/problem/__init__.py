"""What all problems share: sections, validation in one sentence, TOML in and out, `--set`, content hash, run and times."""

from dimfree.problem.activation import Hermite, PiecewiseLinear, Polynomial
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.schedule import ExponentialDecay, HoldThenPower, LinearKnots, PowerDecay, Steps, WarmUpCosine
from dimfree.problem.toml import dumps, load, loads

__all__ = [
    "ExponentialDecay",
    "Hermite",
    "HoldThenPower",
    "LinearKnots",
    "PiecewiseLinear",
    "Polynomial",
    "PowerDecay",
    "Problem",
    "Run",
    "Steps",
    "WarmUpCosine",
    "dumps",
    "load",
    "loads",
]
