"""What is learned, by what network, by which training rule, from which start: frozen, validated, TOML in and out."""

from dimfree.problem.activation import Hermite, PiecewiseLinear, Polynomial
from dimfree.problem.data import MultiIndex, Teacher
from dimfree.problem.dataset import (
    AlignedStart,
    DataSetProblem,
    LinearTeacher,
    MultiPass,
    PhaseRetrieval,
    SignTeacher,
    ThreeClusters,
    TwoClusters,
)
from dimfree.problem.gaussians import Neurons, NoisyOnePass, TwoGaussians, TwoGaussiansProblem
from dimfree.problem.network import TwoLayer
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.start import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.problem.toml import dumps, load, loads
from dimfree.problem.training import ExponentialDecay, OnePass, PowerDecay, Steps

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
