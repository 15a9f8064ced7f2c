"""A network as SGD on vectors keeps it: the weights of every replica, and what neurons have beside their weights."""

from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float


class Scalars(NamedTuple):
    """What a neuron has beside its weights, and the Q_ii at the start, which the spherical rule keeps."""

    a: Float[Array, "*outputs p r"]
    bias: Float[Array, "p r"]
    norms: Float[Array, "p r"]


class Network(eqx.Module):
    """Students of every replica, the teachers they share, and what neurons have beside their weights."""

    students: Float[Array, "r p d"]
    teachers: Float[Array, "k d"]
    scalars: Scalars
