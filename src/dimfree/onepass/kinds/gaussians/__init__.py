"""Two classes of inputs that differ in their variance."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.gaussians.section import TwoGaussians

KIND = Kind(
    sections=(TwoGaussians,),
    model="dimfree.onepass.kinds.gaussians.model:gaussians_model",
    start="dimfree.onepass.start:weights_start",
    figure="dimfree.onepass.kinds.gaussians.figure:draw_laws",
)
