"""What the labels are made of: functions of the teacher's preactivations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.polynomial import hermite_e

from dimfree.functions.activation import Activation, Polynomial


class Committee(eqx.Module):
    """f* = (1/k) sum_r a*_r activation(lambda*_r), with teacher overlaps P (docs/theory/committee.md, section 0).

    A second layer of several rows makes as many outputs, along the last axis of f* (docs/theory/losses.md, section 1.2).
    """

    activation: Activation
    second_layer: Float[Array, "*outputs k"]
    P: Float[Array, "k k"]

    def __call__(self, teacher: Float[Array, "... k"]) -> Float[Array, "..."]:
        return self.activation(teacher) @ (self.second_layer / self.units).T

    @property
    def units(self) -> int:
        """How many directions the label depends on."""
        return self.P.shape[0]

    @property
    def functions(self) -> tuple[Activation, ...]:
        """The functions of single directions that labels are made of."""
        return (self.activation,)


class UnlikeUnits(eqx.Module):
    """f* = constant + (1/k) sum_r a*_r activation_r(lambda*_r + b*_r): units with functions and offsets of their own."""

    activations: tuple[Activation, ...]
    with_offset: tuple[bool, ...] = eqx.field(static=True)  # which units have one; of the others b is 0
    second_layer: Float[Array, " k"]
    bias: Float[Array, " k"]
    constant: Float[Array, ""]
    P: Float[Array, "k k"]

    def __call__(self, teacher: Float[Array, "... k"]) -> Float[Array, "..."]:
        fields = teacher + self.bias
        each = [one(fields[..., r]) for r, one in enumerate(self.activations)]
        return self.constant + jnp.stack(each, axis=-1) @ (self.second_layer / self.units)

    @property
    def units(self) -> int:
        """How many directions the label depends on."""
        return len(self.activations)

    @property
    def functions(self) -> tuple[Activation, ...]:
        """The functions of single directions that labels are made of."""
        return tuple(dict.fromkeys(self.activations))

    @property
    def groups(self) -> tuple[tuple[Activation, bool, tuple[int, ...]], ...]:
        """Units of one function, with or without offsets, whose averages are computed together."""
        kinds = dict.fromkeys(zip(self.activations, self.with_offset, strict=True))
        every = tuple(zip(self.activations, self.with_offset, strict=True))
        return tuple((*kind, tuple(r for r, one in enumerate(every) if one == kind)) for kind in kinds)


class HermiteLink(eqx.Module):
    """f* = sum_n c_n prod_r He_{S_nr}(z_r) of orthonormal directions."""

    terms: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    coefficients: Float[Array, " n"]
    P: Float[Array, "k k"]

    def __call__(self, teacher: Float[Array, "... k"]) -> Float[Array, "..."]:
        total = jnp.zeros(teacher.shape[:-1], teacher.dtype)
        for n, term in enumerate(self.terms):
            product = jnp.ones(teacher.shape[:-1], teacher.dtype)
            for r, degree in enumerate(term):
                product = product * hermite(degree)(teacher[..., r])
            total = total + self.coefficients[n] * product
        return total

    @property
    def units(self) -> int:
        """How many directions the label depends on."""
        return len(self.terms[0])

    @property
    def functions(self) -> tuple[Activation, ...]:
        """None of them bends or has no closed averages: labels are a polynomial."""
        return ()


Target = Committee | UnlikeUnits | HermiteLink


def hermite(degree: int) -> Polynomial:
    """He_degree, unnormalised."""
    return Polynomial(tuple(float(c) for c in hermite_e.herme2poly([0.0] * degree + [1.0])), name=f"he{degree}")
