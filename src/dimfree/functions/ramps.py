"""The piecewise-linear activations of the two-Gaussians problem, by name (docs/theory/mean-field.md, section b)."""

from dimfree.functions.activation import PiecewiseLinear

RAMP = PiecewiseLinear(-2.5, 0.0, (10.0, -10.0), kinks=(0.5, 1.5), name="ramp")
DIP_RAMP = PiecewiseLinear(-2.5, 0.0, (-3.0, 14.5, -11.5), kinks=(0.0, 0.5, 1.5), name="dip-ramp")
TRUNCATED_RELU = PiecewiseLinear(0.0, 0.0, (1.0, -1.0), kinks=(0.0, 1.0), name="truncated-relu")

RAMPS = {ramp.name: ramp for ramp in (RAMP, DIP_RAMP, TRUNCATED_RELU)}
