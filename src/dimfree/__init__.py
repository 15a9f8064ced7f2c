"""dimfree: what will SGD do? Real training of two-layer networks beside every limit theory that applies.

    import dimfree as df
    problem = df.Problem(data=df.Teacher(units=2), network=df.TwoLayer(width=4))
    comparison = df.compare(problem, until=5)
    print(comparison.summary())

What happens in training
    compare      real SGD and every theory that applies, side by side
    solve        one theory                                    (which one: dimfree.theories)
    simulate     one experiment, real SGD unless you name another   (dimfree.experiments)
    sweep        a grid of problems; open_sweep, plot_sweep
    open         a results file as a Comparison
    crossing_times, plateau    when a curve falls to a level, how long it stands still
    descriptions, settings     everything that can be run

Questions about a problem
    regime, exit_times, sample_complexity, spectral, fluctuations, band, couplings, temperature, stopping, laziness, curve,
    scaling (the best size and samples for a budget of compute),
    optimise (the best schedule of learning rates), schedule_table (a schedule for PyTorch or optax),
    plan (width, rate, batch and schedule for a table of your own)

The course (docs/learn)
    check                      whether a number is the right answer to an exercise

Problems
    load, loads, dumps         TOML in and out
    Problem, Run               a whole problem, and how long and how often it runs
    data, fresh samples        Teacher, MultiIndex, HiddenManifold, TwoGaussians, Hypercube, Clusters,
                               PowerLaw, Projected; Covariance
    data, a finite data set    TwoClusters, ThreeClusters, LinearTeacher, SignTeacher, PhaseRetrieval;
                               Covariates, RandomFeatures, Table, Outliers; DataSetTeacher,
                               DataSetMultiIndex for networks
    data, given points         GivenPoints, DrawnPoints
    network                    TwoLayer, ScaledTwoLayer
    training                   OnePass, MultiPass, NetworkMultiPass, FullGradientFlow
    start                      GaussianStart, SphereStart, OverlapStart, WeightsStart, AlignedStart, PairedStart
    schedules                  PowerDecay, ExponentialDecay, Steps, LinearKnots, WarmUpCosine, HoldThenPower
    activations                a name such as "erf", a function of jax.numpy, Hermite, Polynomial, PiecewiseLinear

Errors and warnings
    DimfreeError (all of them), ProblemError, RefusalError, DivergenceError, OutputError
    DimfreeWarning, LeftBehindWarning, PluginWarning, DimfreeDeprecation

More
    dimfree.theories, dimfree.experiments    the descriptions as classes, to change a tolerance or a number of particles
    dimfree.extend                           to write a description, a setting or a kind of data

`help(df.Teacher)` explains a single name.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from dimfree._version import __version__
from dimfree.errors import deprecated
from dimfree.former_names import FORMER

# float64 is part of the contract (docs/conventions). An environment variable switches it on without importing jax here.
os.environ["JAX_ENABLE_X64"] = "1"
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)

if TYPE_CHECKING:
    from dimfree import experiments as experiments
    from dimfree import extend as extend
    from dimfree import theories as theories
    from dimfree.comparison.compare import compare as compare
    from dimfree.comparison.comparison import Comparison as Comparison
    from dimfree.comparison.comparison import opened as open
    from dimfree.comparison.run import simulate as simulate
    from dimfree.comparison.run import solve as solve
    from dimfree.course.check import check as check
    from dimfree.dataset.committee.problem import DataSetMultiIndex as DataSetMultiIndex
    from dimfree.dataset.committee.problem import DataSetTeacher as DataSetTeacher
    from dimfree.dataset.committee.problem import NetworkMultiPass as NetworkMultiPass
    from dimfree.dataset.features import Covariates as Covariates
    from dimfree.dataset.features import Outliers as Outliers
    from dimfree.dataset.features import RandomFeatures as RandomFeatures
    from dimfree.dataset.features import Table as Table
    from dimfree.dataset.problem import AlignedStart as AlignedStart
    from dimfree.dataset.problem import LinearTeacher as LinearTeacher
    from dimfree.dataset.problem import MultiPass as MultiPass
    from dimfree.dataset.problem import PhaseRetrieval as PhaseRetrieval
    from dimfree.dataset.problem import SignTeacher as SignTeacher
    from dimfree.dataset.problem import ThreeClusters as ThreeClusters
    from dimfree.dataset.problem import TwoClusters as TwoClusters
    from dimfree.errors import DimfreeDeprecation as DimfreeDeprecation
    from dimfree.errors import DimfreeError as DimfreeError
    from dimfree.errors import DimfreeWarning as DimfreeWarning
    from dimfree.errors import DivergenceError as DivergenceError
    from dimfree.errors import LeftBehindWarning as LeftBehindWarning
    from dimfree.errors import OutputError as OutputError
    from dimfree.errors import PluginWarning as PluginWarning
    from dimfree.errors import ProblemError as ProblemError
    from dimfree.errors import RefusalError as RefusalError
    from dimfree.lazy.problem import DrawnPoints as DrawnPoints
    from dimfree.lazy.problem import FullGradientFlow as FullGradientFlow
    from dimfree.lazy.problem import GivenPoints as GivenPoints
    from dimfree.lazy.problem import PairedStart as PairedStart
    from dimfree.lazy.problem import ScaledTwoLayer as ScaledTwoLayer
    from dimfree.onepass.inputs.covariance import Covariance as Covariance
    from dimfree.onepass.kinds.clusters.section import Clusters as Clusters
    from dimfree.onepass.kinds.gaussians.section import TwoGaussians as TwoGaussians
    from dimfree.onepass.kinds.hypercube.section import Hypercube as Hypercube
    from dimfree.onepass.kinds.manifold.section import HiddenManifold as HiddenManifold
    from dimfree.onepass.kinds.projection.section.own import Projected as Projected
    from dimfree.onepass.kinds.projection.section.power_law import PowerLaw as PowerLaw
    from dimfree.onepass.kinds.teacher.section import MultiIndex as MultiIndex
    from dimfree.onepass.kinds.teacher.section import Teacher as Teacher
    from dimfree.onepass.limits.band import band as band
    from dimfree.onepass.sections import GaussianStart as GaussianStart
    from dimfree.onepass.sections import OnePass as OnePass
    from dimfree.onepass.sections import OverlapStart as OverlapStart
    from dimfree.onepass.sections import SphereStart as SphereStart
    from dimfree.onepass.sections import TwoLayer as TwoLayer
    from dimfree.onepass.sections import WeightsStart as WeightsStart
    from dimfree.problem import ExponentialDecay as ExponentialDecay
    from dimfree.problem import Hermite as Hermite
    from dimfree.problem import HoldThenPower as HoldThenPower
    from dimfree.problem import LinearKnots as LinearKnots
    from dimfree.problem import PiecewiseLinear as PiecewiseLinear
    from dimfree.problem import Polynomial as Polynomial
    from dimfree.problem import PowerDecay as PowerDecay
    from dimfree.problem import Problem as Problem
    from dimfree.problem import Run as Run
    from dimfree.problem import Steps as Steps
    from dimfree.problem import WarmUpCosine as WarmUpCosine
    from dimfree.problem import dumps as dumps
    from dimfree.problem import load as load
    from dimfree.problem import loads as loads
    from dimfree.questions.bounds.fluctuations import fluctuations as fluctuations
    from dimfree.questions.couplings.answer import couplings as couplings
    from dimfree.questions.curves.answer import curve as curve
    from dimfree.questions.escape.answer import sample_complexity as sample_complexity
    from dimfree.questions.exit_times.answer import exit_times as exit_times
    from dimfree.questions.laziness.answer import laziness as laziness
    from dimfree.questions.plan.answer import plan as plan
    from dimfree.questions.regimes.answer import regime as regime
    from dimfree.questions.scaling.answer import scaling as scaling
    from dimfree.questions.schedules.export import schedule_table as schedule_table
    from dimfree.questions.schedules.optimise import optimise as optimise
    from dimfree.questions.spectral.answer import spectral as spectral
    from dimfree.questions.stopping.answer import stopping as stopping
    from dimfree.questions.temperature.answer import temperature as temperature
    from dimfree.readings.landmarks import crossing_times as crossing_times
    from dimfree.readings.landmarks import plateau as plateau
    from dimfree.registry import descriptions as descriptions
    from dimfree.registry import settings as settings
    from dimfree.sweeps.figure import plot_sweep as plot_sweep
    from dimfree.sweeps.run import sweep as sweep
    from dimfree.sweeps.status import open_sweep as open_sweep

# Where each public name lives: imported on first use, so that `import dimfree` and `dimfree --help` stay fast.
_HOMES = {
    "dimfree.comparison.compare": ("compare",),
    "dimfree.comparison.comparison": ("Comparison", "opened"),
    "dimfree.comparison.run": ("simulate", "solve"),
    "dimfree.course.check": ("check",),
    "dimfree.dataset.committee.problem": ("DataSetMultiIndex", "DataSetTeacher", "NetworkMultiPass"),
    "dimfree.dataset.features": ("Covariates", "Outliers", "RandomFeatures", "Table"),
    "dimfree.dataset.problem": (
        "AlignedStart",
        "LinearTeacher",
        "MultiPass",
        "PhaseRetrieval",
        "SignTeacher",
        "ThreeClusters",
        "TwoClusters",
    ),
    "dimfree.errors": (
        "DimfreeDeprecation",
        "DimfreeError",
        "DimfreeWarning",
        "DivergenceError",
        "LeftBehindWarning",
        "OutputError",
        "PluginWarning",
        "ProblemError",
        "RefusalError",
    ),
    "dimfree.lazy.problem": ("DrawnPoints", "FullGradientFlow", "GivenPoints", "PairedStart", "ScaledTwoLayer"),
    "dimfree.onepass.inputs.covariance": ("Covariance",),
    "dimfree.onepass.kinds.clusters.section": ("Clusters",),
    "dimfree.onepass.kinds.gaussians.section": ("TwoGaussians",),
    "dimfree.onepass.kinds.hypercube.section": ("Hypercube",),
    "dimfree.onepass.kinds.manifold.section": ("HiddenManifold",),
    "dimfree.onepass.kinds.projection.section.own": ("Projected",),
    "dimfree.onepass.kinds.projection.section.power_law": ("PowerLaw",),
    "dimfree.onepass.kinds.teacher.section": ("MultiIndex", "Teacher"),
    "dimfree.onepass.limits.band": ("band",),
    "dimfree.onepass.sections": ("GaussianStart", "OnePass", "OverlapStart", "SphereStart", "TwoLayer", "WeightsStart"),
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
    "dimfree.questions.plan.answer": ("plan",),
    "dimfree.questions.regimes.answer": ("regime",),
    "dimfree.questions.scaling.answer": ("scaling",),
    "dimfree.questions.schedules.export": ("schedule_table",),
    "dimfree.questions.schedules.optimise": ("optimise",),
    "dimfree.questions.spectral.answer": ("spectral",),
    "dimfree.questions.stopping.answer": ("stopping",),
    "dimfree.questions.temperature.answer": ("temperature",),
    "dimfree.readings.landmarks": ("crossing_times", "plateau"),
    "dimfree.registry": ("descriptions", "settings"),
    "dimfree.sweeps.figure": ("plot_sweep",),
    "dimfree.sweeps.run": ("sweep",),
    "dimfree.sweeps.status": ("open_sweep",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("experiments", "extend", "theories")

# The functions, which `help(dimfree)` prints in full. A class would add about 500 lines, most of them pydantic's.
__all__ = ["__version__", *(name for name in _HOME if name.islower() and name != "opened")]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    name = "opened" if name == "open" else name  # `open` is not in __all__, so that `import *` keeps Python's own
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"dimfree.{name}")
    if name not in FORMER:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    deprecated(f"dimfree.{name}", f"dimfree.{FORMER[name]}.{name}")
    found = getattr(importlib.import_module(f"dimfree.{FORMER[name]}"), name)
    globals()[name] = found  # so that it warns once
    return found


def __dir__() -> list[str]:
    return sorted(["__version__", "open", *(_HOME.keys() - {"opened"}), *_MODULES])
