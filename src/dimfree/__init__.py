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
    from dimfree.comparison.compare import compare
    from dimfree.comparison.comparison import Comparison, opened
    from dimfree.comparison.comparison import opened as open
    from dimfree.comparison.run import simulate, solve
    from dimfree.dataset.dmft.description import DMFT
    from dimfree.dataset.ends.static import Static
    from dimfree.dataset.ends.yardsticks import BayesOptimal, MaxMargin
    from dimfree.dataset.features import Covariates, Outliers, RandomFeatures, Table
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
    from dimfree.dataset.real.fitted import Fitted
    from dimfree.dataset.real.multi_pass import MultiPassSGD
    from dimfree.description import Ask, Cost, Description, Evolution, Memory, Model, Piece, Stationary
    from dimfree.errors import (
        DimfreeError,
        DimfreeWarning,
        DivergenceError,
        LeftBehindWarning,
        OutputError,
        PluginWarning,
        ProblemError,
        RefusalError,
    )
    from dimfree.functions import activation
    from dimfree.lazy.flow import NetworkFlow
    from dimfree.lazy.linear import InfiniteWidth, Linearised
    from dimfree.lazy.problem import (
        DrawnPoints,
        FullGradientFlow,
        GivenPoints,
        LazyProblem,
        PairedStart,
        ScaledTwoLayer,
    )
    from dimfree.onepass.binned_chain import BinnedChain
    from dimfree.onepass.directions import StructuredModel, TeacherModel
    from dimfree.onepass.inputs.covariance import Covariance
    from dimfree.onepass.kinds.clusters.section import Clusters
    from dimfree.onepass.kinds.gaussians.model import TwoGaussiansModel
    from dimfree.onepass.kinds.gaussians.section import TwoGaussians
    from dimfree.onepass.kinds.hypercube.model import HypercubeModel
    from dimfree.onepass.kinds.hypercube.section import Hypercube
    from dimfree.onepass.kinds.manifold.section import HiddenManifold
    from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
    from dimfree.onepass.limits.band import band
    from dimfree.onepass.limits.diffusion import Diffusion
    from dimfree.onepass.limits.linear import LinearNetwork
    from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
    from dimfree.onepass.limits.pde import DistributionalDynamics, OwnStart
    from dimfree.onepass.limits.wide import Dimensionless, MeanField
    from dimfree.onepass.model import model
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.onepass.real.chain import OverlapChain
    from dimfree.onepass.real.rows import RowsSGD
    from dimfree.onepass.real.vectors import VectorSGD
    from dimfree.onepass.rule import OnePassModel
    from dimfree.onepass.sections import GaussianStart, OnePass, OverlapStart, SphereStart, TwoLayer, WeightsStart
    from dimfree.onepass.start import Start, draw_start
    from dimfree.problem import (
        ExponentialDecay,
        Hermite,
        HoldThenPower,
        LinearKnots,
        PiecewiseLinear,
        Polynomial,
        PowerDecay,
        Problem,
        Run,
        Steps,
        WarmUpCosine,
        dumps,
        load,
        loads,
    )
    from dimfree.questions.bounds.fluctuations import fluctuations
    from dimfree.questions.couplings.answer import couplings
    from dimfree.questions.curves.answer import curve
    from dimfree.questions.escape.answer import sample_complexity
    from dimfree.questions.exit_times.answer import exit_times
    from dimfree.questions.laziness.answer import laziness
    from dimfree.questions.regimes.answer import regime
    from dimfree.questions.schedules.export import schedule_table
    from dimfree.questions.schedules.optimise import optimise
    from dimfree.questions.spectral.answer import spectral
    from dimfree.questions.temperature.answer import temperature
    from dimfree.readings.landmarks import crossing_times, plateau
    from dimfree.registry import descriptions, settings
    from dimfree.results.record import record
    from dimfree.setting import Setting, Variable
    from dimfree.states.overlaps import Overlaps
    from dimfree.sweeps.figure import plot_sweep
    from dimfree.sweeps.run import sweep
    from dimfree.sweeps.status import open_sweep

# Where each public name lives: imported on first use, so that `import dimfree` and `dimfree --help` stay fast.
_HOMES = {
    "dimfree.comparison.compare": ("compare",),
    "dimfree.comparison.comparison": (
        "Comparison",
        "opened",
    ),
    "dimfree.comparison.run": (
        "simulate",
        "solve",
    ),
    "dimfree.dataset.dmft.description": ("DMFT",),
    "dimfree.dataset.ends.yardsticks": (
        "BayesOptimal",
        "MaxMargin",
    ),
    "dimfree.dataset.features": (
        "Covariates",
        "Outliers",
        "RandomFeatures",
        "Table",
    ),
    "dimfree.dataset.problem": (
        "AlignedStart",
        "DataSetProblem",
        "LinearTeacher",
        "MultiPass",
        "PhaseRetrieval",
        "SignTeacher",
        "ThreeClusters",
        "TwoClusters",
    ),
    "dimfree.dataset.real.fitted": ("Fitted",),
    "dimfree.dataset.real.multi_pass": ("MultiPassSGD",),
    "dimfree.dataset.ends.static": ("Static",),
    "dimfree.description": (
        "Ask",
        "Cost",
        "Description",
        "Evolution",
        "Memory",
        "Model",
        "Piece",
        "Stationary",
    ),
    "dimfree.errors": (
        "DimfreeError",
        "DimfreeWarning",
        "DivergenceError",
        "LeftBehindWarning",
        "OutputError",
        "PluginWarning",
        "ProblemError",
        "RefusalError",
    ),
    "dimfree.functions": ("activation",),
    "dimfree.states.overlaps": ("Overlaps",),
    "dimfree.lazy.flow": ("NetworkFlow",),
    "dimfree.lazy.linear": (
        "InfiniteWidth",
        "Linearised",
    ),
    "dimfree.lazy.problem": (
        "DrawnPoints",
        "FullGradientFlow",
        "GivenPoints",
        "LazyProblem",
        "PairedStart",
        "ScaledTwoLayer",
    ),
    "dimfree.onepass.directions": (
        "StructuredModel",
        "TeacherModel",
    ),
    "dimfree.onepass.inputs.covariance": ("Covariance",),
    "dimfree.onepass.limits.band": ("band",),
    "dimfree.onepass.limits.diffusion": ("Diffusion",),
    "dimfree.onepass.limits.linear": ("LinearNetwork",),
    "dimfree.onepass.limits.ode": (
        "GradientFlow",
        "HighDimensional",
    ),
    "dimfree.onepass.limits.pde": (
        "DistributionalDynamics",
        "OwnStart",
    ),
    "dimfree.onepass.limits.wide": (
        "Dimensionless",
        "MeanField",
    ),
    "dimfree.onepass.kinds.clusters.section": ("Clusters",),
    "dimfree.onepass.kinds.gaussians.model": ("TwoGaussiansModel",),
    "dimfree.onepass.kinds.gaussians.section": ("TwoGaussians",),
    "dimfree.onepass.kinds.hypercube.model": ("HypercubeModel",),
    "dimfree.onepass.kinds.hypercube.section": ("Hypercube",),
    "dimfree.onepass.kinds.manifold.section": ("HiddenManifold",),
    "dimfree.onepass.kinds.teacher.section": ("MultiIndex", "Teacher"),
    "dimfree.onepass.model": ("model",),
    "dimfree.onepass.problem": ("OnePassProblem",),
    "dimfree.onepass.binned_chain": ("BinnedChain",),
    "dimfree.onepass.real.chain": ("OverlapChain",),
    "dimfree.onepass.real.rows": ("RowsSGD",),
    "dimfree.onepass.real.vectors": ("VectorSGD",),
    "dimfree.onepass.rule": ("OnePassModel",),
    "dimfree.onepass.sections": (
        "GaussianStart",
        "OnePass",
        "OverlapStart",
        "SphereStart",
        "TwoLayer",
        "WeightsStart",
    ),
    "dimfree.onepass.start": (
        "Start",
        "draw_start",
    ),
    "dimfree.problem": (
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
    ),
    "dimfree.questions.bounds.fluctuations": ("fluctuations",),
    "dimfree.questions.couplings.answer": ("couplings",),
    "dimfree.questions.curves.answer": ("curve",),
    "dimfree.questions.escape.answer": ("sample_complexity",),
    "dimfree.questions.exit_times.answer": ("exit_times",),
    "dimfree.questions.laziness.answer": ("laziness",),
    "dimfree.questions.regimes.answer": ("regime",),
    "dimfree.questions.schedules.export": ("schedule_table",),
    "dimfree.questions.schedules.optimise": ("optimise",),
    "dimfree.questions.spectral.answer": ("spectral",),
    "dimfree.questions.temperature.answer": ("temperature",),
    "dimfree.registry": (
        "descriptions",
        "settings",
    ),
    "dimfree.readings.landmarks": (
        "crossing_times",
        "plateau",
    ),
    "dimfree.results.record": ("record",),
    "dimfree.setting": (
        "Setting",
        "Variable",
    ),
    "dimfree.sweeps.figure": ("plot_sweep",),
    "dimfree.sweeps.run": ("sweep",),
    "dimfree.sweeps.status": ("open_sweep",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    name = "opened" if name == "open" else name  # `open` is not in __all__, so that `import *` keeps Python's own
    if name not in _HOME:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])
