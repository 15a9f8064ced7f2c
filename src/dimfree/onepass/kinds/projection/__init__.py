"""Inputs and a target seen through a random projection: power laws, any spectrum, or rows of the user's own."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.projection.section.own import Projected
from dimfree.onepass.kinds.projection.section.power_law import PowerLaw

KIND = Kind(
    sections=(PowerLaw, Projected),
    model="dimfree.onepass.kinds.projection.model:projected_model",
    start="dimfree.onepass.kinds.projection.model:zero_start",
    figure="dimfree.onepass.kinds.projection.figure:draw_projected",
    notes="dimfree.onepass.kinds.projection.notes:said_of_projection",
)
