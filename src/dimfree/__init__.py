"""dimfree: what will SGD do? Real training of two-layer networks beside every limit theory that applies."""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from dimfree._version import __version__

# float64 is part of the contract (docs/conventions). Setting the variable keeps `import dimfree` free of jax.
os.environ["JAX_ENABLE_X64"] = "1"
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)

if TYPE_CHECKING:
    from dimfree.comparison.compare import Comparison, compare
    from dimfree.comparison.couplings import couplings
    from dimfree.comparison.exits import exit_times
    from dimfree.comparison.temperature import temperature
    from dimfree.description import Cost, Description
    from dimfree.errors import DimfreeError, DivergenceError, OutputError, ProblemError, RefusalError
    from dimfree.functions import activation, model
    from dimfree.gaussian.overlaps import Overlaps
    from dimfree.gaussian.start import Start, draw_start
    from dimfree.problem import (
        AlignedStart,
        DataSetProblem,
        ExponentialDecay,
        GaussianStart,
        Hermite,
        LinearTeacher,
        MultiIndex,
        MultiPass,
        Neurons,
        NoisyOnePass,
        OnePass,
        OverlapStart,
        PhaseRetrieval,
        PiecewiseLinear,
        Polynomial,
        PowerDecay,
        Problem,
        Run,
        SignTeacher,
        SphereStart,
        Steps,
        Teacher,
        ThreeClusters,
        TwoClusters,
        TwoGaussians,
        TwoGaussiansProblem,
        TwoLayer,
        WeightsStart,
        dumps,
        load,
        loads,
    )
    from dimfree.registry import descriptions
    from dimfree.results.record import record
    from dimfree.simulate.chain import OverlapChain
    from dimfree.simulate.vectors import VectorSGD
    from dimfree.theory.band import band
    from dimfree.theory.diffusion import Diffusion
    from dimfree.theory.high_dimensional import GradientFlow, HighDimensional
    from dimfree.theory.mean_field import Dimensionless, MeanField

# Where each public name lives: imported on first use, so that `import dimfree` and `dimfree --help` stay fast.
_HOMES = {
    "dimfree.comparison.compare": ("Comparison", "compare"),
    "dimfree.comparison.couplings": ("couplings",),
    "dimfree.comparison.exits": ("exit_times",),
    "dimfree.comparison.temperature": ("temperature",),
    "dimfree.description": ("Cost", "Description"),
    "dimfree.errors": ("DimfreeError", "DivergenceError", "OutputError", "ProblemError", "RefusalError"),
    "dimfree.functions": ("activation", "model"),
    "dimfree.gaussian.overlaps": ("Overlaps",),
    "dimfree.gaussian.start": ("Start", "draw_start"),
    "dimfree.problem": (
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
    ),
    "dimfree.registry": ("descriptions",),
    "dimfree.results.record": ("record",),
    "dimfree.simulate.chain": ("OverlapChain",),
    "dimfree.simulate.vectors": ("VectorSGD",),
    "dimfree.theory.band": ("band",),
    "dimfree.theory.diffusion": ("Diffusion",),
    "dimfree.theory.high_dimensional": ("GradientFlow", "HighDimensional"),
    "dimfree.theory.mean_field": ("Dimensionless", "MeanField"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
