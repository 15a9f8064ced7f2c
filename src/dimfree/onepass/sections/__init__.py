"""The sections of a one-pass problem that know no kind of data: network, training rule, start."""

from dimfree.onepass.sections.network import TwoLayer
from dimfree.onepass.sections.start import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.onepass.sections.training import OnePass

__all__ = ["GaussianStart", "OnePass", "OverlapStart", "SphereStart", "TwoLayer", "WeightsStart"]
