"""Inputs in Gaussian clusters, whose labels are classes of the clusters."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.clusters.section import Clusters

KIND = Kind(
    sections=(Clusters,),
    model="dimfree.onepass.kinds.clusters.model:cluster_model",
    start="dimfree.onepass.start:directions_start",
    recipe="dimfree.onepass.recipe:directions_recipe",
    figure="dimfree.onepass.kinds.clusters.figure:draw_clusters",
    notes="dimfree.onepass.kinds.clusters.notes:said_of_clusters",
)
