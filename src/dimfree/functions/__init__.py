"""Scalar functions with all that is known of them, and the model they make up."""

from dimfree.functions.activation import Activation, Erf, General, PiecewiseLinear, Polynomial
from dimfree.onepass.model import Model, model, second_layer
from dimfree.functions.named import activation
from dimfree.functions.target import Committee, HermiteLink, Target

__all__ = [
    "Activation",
    "Committee",
    "Erf",
    "General",
    "HermiteLink",
    "Model",
    "PiecewiseLinear",
    "Polynomial",
    "Target",
    "activation",
    "model",
    "second_layer",
]
