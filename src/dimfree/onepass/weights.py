"""A network in SGD on vectors: the weights of every replica, and the offset and second layer of each neuron."""

from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float


class Scalars(NamedTuple):
    """The offset and second layer of each neuron, and Q_ii at the start, which the spherical rule keeps."""

    a: Float[Array, "*outputs p r"]
    bias: Float[Array, "p r"]
    norms: Float[Array, "p r"]


class Network(eqx.Module):
    """The students of every replica, the teachers they share, and offsets and second layers."""

    students: Float[Array, "r p d"]
    teachers: Float[Array, "k d"]
    scalars: Scalars
