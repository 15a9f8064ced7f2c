"""The experiments as classes. Pass one to `df.simulate` as `by`, instead of its name, to change one of its settings.

df.simulate(problem, df.experiments.OverlapChain())    # the same as df.simulate(problem, "chain")
"""

from dimfree.dataset.real.fitted import Fitted
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.lazy.flow import NetworkFlow
from dimfree.onepass.binned_chain import BinnedChain
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.projected import EigenbasisSGD, ProjectedRows
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.real.vectors import VectorSGD

__all__ = [
    "BinnedChain",
    "EigenbasisSGD",
    "Fitted",
    "MultiPassSGD",
    "NetworkFlow",
    "OverlapChain",
    "ProjectedRows",
    "RowsSGD",
    "VectorSGD",
]
