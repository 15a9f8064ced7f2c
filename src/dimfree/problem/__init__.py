"""What is learned, by what network, by which training rule, from which start: frozen, validated, TOML in and out."""

from dimfree.problem.activation import Hermite, PiecewiseLinear, Polynomial
from dimfree.problem.data import MultiIndex, Teacher
from dimfree.problem.network import TwoLayer
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.start import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.problem.toml import dumps, load, loads
from dimfree.problem.training import ExponentialDecay, OnePass, PowerDecay, Steps

__all__ = [
    "ExponentialDecay",
    "GaussianStart",
    "Hermite",
    "MultiIndex",
    "OnePass",
    "OverlapStart",
    "PiecewiseLinear",
    "Polynomial",
    "PowerDecay",
    "Problem",
    "Run",
    "SphereStart",
    "Steps",
    "Teacher",
    "TwoLayer",
    "WeightsStart",
    "dumps",
    "load",
    "loads",
]
