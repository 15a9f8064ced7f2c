"""The sections of a one-pass problem that know no kind of data; network and start are those of all two-layer networks."""

from dimfree.onepass.sections.training import OnePass
from dimfree.problem.network import TwoLayer
from dimfree.problem.start import GaussianStart, OverlapStart, SphereStart, WeightsStart

__all__ = ["GaussianStart", "OnePass", "OverlapStart", "SphereStart", "TwoLayer", "WeightsStart"]
