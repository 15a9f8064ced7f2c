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
    from dimfree.questions.couplings.answer import couplings
    from dimfree.questions.exit_times.answer import exit_times
    from dimfree.questions.temperature.answer import temperature
    from dimfree.description import Cost, Description
    from dimfree.errors import DimfreeError, DivergenceError, OutputError, ProblemError, RefusalError
    from dimfree.functions import activation, model
    from dimfree.gaussian.overlaps import Overlaps
    from dimfree.onepass.start import Start, draw_start
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
    from dimfree.onepass.real.chain import OverlapChain
    from dimfree.onepass.real.vectors import VectorSGD
    from dimfree.onepass.limits.band import band
    from dimfree.onepass.limits.diffusion import Diffusion
    from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
    from dimfree.onepass.limits.wide import Dimensionless, MeanField

# Where each public name lives: imported on first use, so that `import dimfree` and `dimfree --help` stay fast.
_HOMES = {
    "dimfree.comparison.compare": ("Comparison", "compare"),
    "dimfree.questions.couplings.answer": ("couplings",),
    "dimfree.questions.exit_times.answer": ("exit_times",),
    "dimfree.questions.temperature.answer": ("temperature",),
    "dimfree.description": ("Cost", "Description"),
    "dimfree.errors": ("DimfreeError", "DivergenceError", "OutputError", "ProblemError", "RefusalError"),
    "dimfree.functions": ("activation", "model"),
    "dimfree.gaussian.overlaps": ("Overlaps",),
    "dimfree.onepass.start": ("Start", "draw_start"),
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
    "dimfree.onepass.real.chain": ("OverlapChain",),
    "dimfree.onepass.real.vectors": ("VectorSGD",),
    "dimfree.onepass.limits.band": ("band",),
    "dimfree.onepass.limits.diffusion": ("Diffusion",),
    "dimfree.onepass.limits.ode": ("GradientFlow", "HighDimensional"),
    "dimfree.onepass.limits.wide": ("Dimensionless", "MeanField"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
