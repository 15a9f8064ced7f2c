"""Signs as inputs, of which a few decide the label."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.hypercube.section import Hypercube

KIND = Kind(
    sections=(Hypercube,),
    model="dimfree.onepass.kinds.hypercube.model:hypercube_model",
    start="dimfree.onepass.start:weights_start",
    figure="dimfree.onepass.kinds.hypercube.figure:draw_hypercube",
    notes="dimfree.onepass.kinds.hypercube.staircases:said_of_hypercube",
)
