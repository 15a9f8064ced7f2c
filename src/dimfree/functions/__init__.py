"""Scalar functions with all their known properties: activations, losses, links, schedules."""

from dimfree.functions.activation import Activation, Erf, General, PiecewiseLinear, Polynomial
from dimfree.functions.named import activation
from dimfree.functions.target import Committee, HermiteLink, Target, UnlikeUnits

__all__ = [
    "Activation",
    "Committee",
    "Erf",
    "General",
    "HermiteLink",
    "PiecewiseLinear",
    "Polynomial",
    "Target",
    "UnlikeUnits",
    "activation",
]
