"""Inputs that are features of hidden variables; the teacher sees the hidden variables."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.manifold.section import HiddenManifold

KIND = Kind(
    sections=(HiddenManifold,),
    model="dimfree.onepass.kinds.manifold.model:manifold_model",
    start="dimfree.onepass.start:directions_start",
    recipe="dimfree.onepass.recipe:directions_recipe",
    figure="dimfree.onepass.figure:draw_directions",
    notes="dimfree.onepass.kinds.manifold.notes:said_of_manifold",
)
