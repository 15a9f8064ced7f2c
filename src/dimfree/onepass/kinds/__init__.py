"""Kinds of data: one folder for each, and one line in the table below."""

from dimfree.onepass.kinds.clusters import KIND as _CLUSTERS
from dimfree.onepass.kinds.gaussians import KIND as _GAUSSIANS
from dimfree.onepass.kinds.hypercube import KIND as _HYPERCUBE
from dimfree.onepass.kinds.manifold import KIND as _MANIFOLD
from dimfree.onepass.kinds.projection import KIND as _PROJECTION
from dimfree.onepass.kinds.teacher import KIND as _TEACHER

OWN = (_TEACHER, _GAUSSIANS, _HYPERCUBE, _MANIFOLD, _CLUSTERS, _PROJECTION)
