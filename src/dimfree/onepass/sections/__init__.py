"""The sections of a one-pass problem: data, network, training rule, start."""

from dimfree.onepass.sections.data import MultiIndex, Teacher, TwoGaussians
from dimfree.onepass.sections.hypercube import Hypercube
from dimfree.onepass.sections.network import TwoLayer
from dimfree.onepass.sections.start import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.onepass.sections.training import OnePass

__all__ = [
    "GaussianStart",
    "Hypercube",
    "MultiIndex",
    "OnePass",
    "OverlapStart",
    "SphereStart",
    "Teacher",
    "TwoGaussians",
    "TwoLayer",
    "WeightsStart",
]
