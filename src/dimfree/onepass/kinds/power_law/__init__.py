"""Inputs and a target of power laws, seen through a random projection."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.power_law.section import PowerLaw

KIND = Kind(
    sections=(PowerLaw,),
    model="dimfree.onepass.kinds.power_law.model:power_law_model",
    start="dimfree.onepass.kinds.power_law.model:zero_start",
    figure="dimfree.onepass.kinds.power_law.figure:draw_projected",
    notes="dimfree.onepass.kinds.power_law.notes:said_of_power_law",
)
