"""Adapters for sparse functions on the hypercube (docs/theory/mean-field.md, section d); coordinates are counted from 0."""

import re
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.errors import ProblemError
from dimfree.functions import Activation, activation
from dimfree.functions.fourier import FourierSum, all_signs, all_supports, fourier_coefficients
from dimfree.functions.leap import staircase
from dimfree.gaussian.even_orders import EvenOrders, from_slopes
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.onepass.fields.field import solve
from dimfree.onepass.fields.subspace import Plane, SubspaceField, SubspaceNeurons
from dimfree.onepass.fields.trained import Trained
from dimfree.reference.expression import expression

Values = dict[str, Any]
_STEP = 0.05  # of the faster layer
_START = re.compile(r"a_j=2\(j-1/2\)/n-1, u=0, s=s0")


class _OnNodes(SubspaceField):
    """The dynamics with averages over G on the nodes that a file lists, however few these are."""

    nodes: Float[Array, " q"]
    weights: Float[Array, " q"]

    def seen(self, particles: SubspaceNeurons, z: Float[Array, "g k"]) -> EvenOrders:
        """The average by a Gauss-Hermite rule."""
        at = (z @ particles.s.T + particles.b)[..., None] + particles.r[:, None] * self.nodes
        slope = self.sigma.derivative(at)
        d = jnp.stack([slope @ self.weights, slope @ (self.weights * self.nodes)])
        return from_slopes(self.sigma(at) @ self.weights, d, jnp.broadcast_to(particles.r, at.shape[:-1]))


def dfpde(inputs: Values) -> Values:
    """Risk R = E(h - f)², all Fourier coefficients and mean weights along the dimension-free dynamics."""
    if not _START.fullmatch(inputs.get("init", "a_j=2(j-1/2)/n-1, u=0, s=s0")):
        raise ProblemError(f"the start {inputs['init']!r} was given; the schema has a at quantiles, u = 0 and s = s0.")
    P, n, times = int(inputs["P"]), int(inputs["n_particles"]), jnp.asarray(inputs["times"], dtype=float)
    supports = tuple(tuple(support) for support, _ in inputs["terms"])
    z, target = all_signs(P), FourierSum(P, supports, jnp.asarray([float(c) for _, c in inputs["terms"]]))
    nodes, weights = gauss_hermite(int(inputs["nG"]), 1)
    plane, mass = Plane(z, jnp.full(len(z), 1 / len(z))), jnp.full(n, 1 / n)
    rule = (jnp.asarray(nodes[:, 0]), jnp.asarray(weights))
    field = _OnNodes(_activation(inputs["activation"]), plane, target(z), jnp.ones(1), None, True, False, True, *rule)
    start = SubspaceNeurons(
        (2 * jnp.arange(n) + 1) / n - 1, jnp.zeros(n), jnp.zeros((n, P)), jnp.full(n, float(inputs["s0"]))
    )
    xi_a, xi_w = float(inputs["xi_a"]), float(inputs["xi_w"])
    trained = Trained(field, _kinds(xi_a, xi_w), _kinds(0.0, 0.0), mass)
    found = solve(trained, start, times, _STEP / max(1.0, xi_a, xi_w)).particles
    every = all_supports(P)
    rows = [SubspaceNeurons(found.a[i], found.b[i], found.s[i], found.r[i]) for i in range(len(times))]
    outputs = jnp.stack([field.output(row) for row in rows])
    coefficients = np.asarray(fourier_coefficients(outputs, P, every)).T
    return {
        "risk": jnp.mean((target(z) - outputs) ** 2, axis=1),
        **{f"fourier[{','.join(map(str, one))}]": row for one, row in zip(every, coefficients, strict=True)},
        "mean_abs_u": jnp.mean(jnp.abs(found.s), axis=1),
        "mean_s": jnp.mean(found.r, axis=1),
    }


def msp(inputs: Values) -> Values:
    """Leap, whether it is a merged staircase, and what single steps reach."""
    found = staircase(inputs["supports"])
    return {
        "leap": found.leap,
        "msp": found.merged,
        "reachable_L1": list(found.reached),
        "unreachable_supports_L1": [list(support) for support in found.unreached],
    }


def _activation(written: str) -> Activation:
    """An expression in x."""
    return activation(expression(re.sub(r"\bx\b", "z", written)))


def _kinds(a: float, w: float) -> SubspaceNeurons:
    return SubspaceNeurons(jnp.full(1, a), jnp.zeros(1), jnp.full((1, 1), w), jnp.full(1, w))
