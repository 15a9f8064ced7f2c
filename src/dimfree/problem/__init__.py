"""What is learned, by what network, by which training rule, from which start: frozen, validated, TOML in and out."""

from dimfree.problem.activation import Hermite, PiecewiseLinear, Polynomial
from dimfree.onepass.sections.data import MultiIndex, Teacher
from dimfree.dataset.problem import (
    AlignedStart,
    DataSetProblem,
    LinearTeacher,
    MultiPass,
    PhaseRetrieval,
    SignTeacher,
    ThreeClusters,
    TwoClusters,
)
from dimfree.onepass.gaussians_problem import Neurons, NoisyOnePass, TwoGaussians, TwoGaussiansProblem
from dimfree.onepass.sections.network import TwoLayer
from dimfree.onepass.problem import Problem
from dimfree.problem.run import Run
from dimfree.onepass.sections.start import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.problem.toml import dumps, load, loads
from dimfree.onepass.sections.training import ExponentialDecay, OnePass, PowerDecay, Steps

__all__ = [
    "AlignedStart",
    "DataSetProblem",
    "ExponentialDecay",
    "GaussianStart",
    "Hermite",
    "LinearTeacher",
    "MultiIndex",
    "MultiPass",
    "Neurons",
    "NoisyOnePass",
    "OnePass",
    "OverlapStart",
    "PhaseRetrieval",
    "PiecewiseLinear",
    "Polynomial",
    "PowerDecay",
    "Problem",
    "Run",
    "SignTeacher",
    "SphereStart",
    "Steps",
    "Teacher",
    "ThreeClusters",
    "TwoClusters",
    "TwoGaussians",
    "TwoGaussiansProblem",
    "TwoLayer",
    "WeightsStart",
    "dumps",
    "load",
    "loads",
]
