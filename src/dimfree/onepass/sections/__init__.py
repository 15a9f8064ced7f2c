"""The sections of a one-pass problem: data, network, training rule, start."""

from dimfree.onepass.sections.covariance import Covariance, Features, Isotropic, Levels, MatrixFile, Power, SpectrumFile
from dimfree.onepass.sections.data import HiddenManifold, MultiIndex, Teacher, TwoGaussians
from dimfree.onepass.sections.hypercube import Hypercube
from dimfree.onepass.sections.network import TwoLayer
from dimfree.onepass.sections.start import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.onepass.sections.training import OnePass

__all__ = [
    "Covariance",
    "Features",
    "GaussianStart",
    "HiddenManifold",
    "Hypercube",
    "Isotropic",
    "Levels",
    "MatrixFile",
    "MultiIndex",
    "OnePass",
    "OverlapStart",
    "Power",
    "SpectrumFile",
    "SphereStart",
    "Teacher",
    "TwoGaussians",
    "TwoLayer",
    "WeightsStart",
]
