"""The theories as classes. Pass one to `df.solve` as `by`, instead of its name, to change one of its settings.

df.solve(problem, df.theories.HighDimensional(rtol=1e-8))    # df.solve(problem, "ode") has the default tolerance
"""

from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.ends.static import Static
from dimfree.dataset.ends.yardsticks import BayesOptimal, MaxMargin
from dimfree.lazy.linear import InfiniteWidth, Linearised
from dimfree.onepass.limits.diffusion import Diffusion
from dimfree.onepass.limits.linear import LinearNetwork
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
from dimfree.onepass.limits.pde import DistributionalDynamics, OwnStart
from dimfree.onepass.limits.projected import Equivalent, ProjectedMean
from dimfree.onepass.limits.wide import Dimensionless, MeanField

__all__ = [
    "DMFT",
    "BayesOptimal",
    "Diffusion",
    "Dimensionless",
    "DistributionalDynamics",
    "Equivalent",
    "GradientFlow",
    "HighDimensional",
    "InfiniteWidth",
    "LinearNetwork",
    "Linearised",
    "MaxMargin",
    "MeanField",
    "OwnStart",
    "ProjectedMean",
    "Static",
]
