"""Linearised flow in closed form, with the kernel of the network's own start or with that of infinite width.

docs/theory/mean-field.md, equation (h.2), in the problem's time s = gamma² N t and with Theta = K_0/N = V diag(theta) V^T:
e(s) = exp(-Theta s) e_0, g(x) = g_0(x) - Theta(x, X) Phi e_0 and |theta - theta_0|² = e_0^T Phi Theta Phi e_0/(gamma² N), where
Phi = Theta^{-1}(1 - exp(-Theta s)), which a singular kernel has as well.
"""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dimfree.description import Cost, Evolution, Observed
from dimfree.gaussian.two_point.ladder import two_point_seconds
from dimfree.lazy.flow import starts
from dimfree.lazy.kernel import infinite_width_kernel
from dimfree.lazy.model import LazyModel
from dimfree.lazy.network import Weights, jacobian, output, product
from dimfree.lazy.observe import Errors, errors, size
from dimfree.problem import Problem


class Spectral(eqx.Module):
    """A solved linear flow: eigenvalues and eigenvectors of Theta, the components of e_0 along them, and the held-out points."""

    eigenvalues: Float[Array, "*r n"]
    vectors: Float[Array, "*r n n"]
    along: Float[Array, "*r n"]  # V^T e_0
    to_held: Float[Array, "*r m n"]  # Theta(held out, X) V
    g_held: Float[Array, "*r m"]  # g_0 there
    size: Float[Array, "*r"]  # |theta_0|


def spectral(
    Theta: Float[Array, "n n"],
    Theta_held: Float[Array, "m n"],
    e: Float[Array, " n"],
    g_held: Float[Array, " m"],
    size: Float[Array, ""],
) -> Spectral:
    """The solved flow, from the kernel per unit, the residual and the outputs at time 0."""
    eigenvalues, V = jnp.linalg.eigh(Theta)
    return Spectral(jnp.maximum(eigenvalues, 0.0), V, V.T @ e, Theta_held @ V, g_held, size)


class _LinearFlow(Evolution[LazyModel, Key[Array, ""], Spectral]):
    models: ClassVar[type[LazyModel]] = LazyModel
    cites: ClassVar[tuple[str, ...]] = ("jacot2018", "chizat2019")
    chunk: ClassVar[int] = 64

    @abstractmethod
    def _kernel_seconds(self, model: LazyModel) -> float:
        """The predicted seconds for the kernel of one replica."""

    def cost(self, problem: Problem, model: LazyModel) -> Cost:
        """An eigendecomposition, and products with it at the saved times."""
        (n, d), m = model.X.shape, model.X_held.shape[0]
        replicas, width = (problem.run.replicas, model.width) if self.stochastic else (1, 0)
        seconds = self._kernel_seconds(model) + 1e-8 * n**3 + 4e-9 * len(problem.times) * n * (n + m)
        memory = 8.0 * replicas * (n * (3 * n + 2 * m) + width * (4 * (d + 1) + 4 * (n + m)))
        return Cost(3.0 + replicas * seconds, len(problem.times), memory)

    def advance(self, model: LazyModel, state: Spectral, times: Float[Array, " t"]) -> tuple[Spectral, Observed]:
        """Observe at all times at once, in closed form."""

        def at(time: Float[Array, ""]) -> dict[str, Array]:
            return jax.vmap(lambda one: at_time(model, one, time)[0]._asdict())(state)

        return state, jax.vmap(at)(times)


class Linearised(_LinearFlow):
    """The network's own first-order expansion around its start."""

    name: ClassVar[str] = "linearised"
    summary: ClassVar[str] = "lazy limit: the network linearised at its start, in closed form"
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True

    def _kernel_seconds(self, model: LazyModel) -> float:
        (n, d), m = model.X.shape, model.X_held.shape[0]
        return 2e-9 * n * (n + m) * (model.width + d)

    def begin(self, model: LazyModel, start: Key[Array, ""], replicas: int, key: Key[Array, ""]) -> Spectral:
        """The kernels of the networks that real gradient flow starts from."""
        return jax.lax.map(lambda theta: linearised(model, theta), starts(model, start, replicas))


class InfiniteWidth(_LinearFlow):
    """The same with the kernel that all networks of this start share at infinite width: kernel regression by gradient flow."""

    name: ClassVar[str] = "infinite-width"
    summary: ClassVar[str] = "lazy limit at infinite width: gradient flow with the neural tangent kernel"

    def accuracy(self, problem: Problem, model: LazyModel) -> float:
        """The kernel of a finite network scatters around that of infinite width."""
        return float(model.width**-0.5)

    def leaves_open(self, problem: Problem, model: LazyModel) -> str:
        """The width."""
        return f"at width {model.width}"

    def _kernel_seconds(self, model: LazyModel) -> float:
        n, m = model.X.shape[0], model.X_held.shape[0]
        return n * (n / 2 + m) * two_point_seconds(model.shape.activation)

    def begin(self, model: LazyModel, start: Key[Array, ""], replicas: int, key: Key[Array, ""]) -> Spectral:
        """Begin with one kernel for all replicas, and with outputs that vanish."""
        shape, (N, d) = model.shape, (model.width, model.X.shape[1])
        Theta, Theta_held = infinite_width_kernel(shape, model.X), infinite_width_kernel(shape, model.X_held, model.X)
        typical = jnp.sqrt(N * (shape.second_scale**2 + d * shape.scale**2))
        solved = spectral(Theta, Theta_held, -model.y, jnp.zeros_like(model.y_held), typical)
        return jax.tree.map(lambda x: x[None], solved)


def linearised(model: LazyModel, theta: Weights) -> Spectral:
    """The linear flow that begins at this network."""
    rows, held = (jacobian(model.shape, theta, X) for X in (model.X, model.X_held))
    g, g_held = (model.gamma * output(model.shape, theta, X) for X in (model.X, model.X_held))
    N = model.width
    return spectral(product(rows, rows) / N, product(held, rows) / N, g - model.y, g_held, size(theta))


def at_time(model: LazyModel, one: Spectral, time: Float[Array, ""]) -> tuple[Errors, Float[Array, " m"]]:
    """What is seen of a linear flow, and its outputs on the held-out points."""
    x = one.eigenvalues * time
    phi = time * jnp.where(x > 0, -jnp.expm1(-x) / jnp.where(x > 0, x, 1.0), 1.0)
    e = one.vectors @ (jnp.exp(-x) * one.along)
    moved = jnp.sqrt(jnp.sum(one.eigenvalues * (phi * one.along) ** 2) / model.clock)
    g_held = one.g_held - one.to_held @ (phi * one.along)
    return errors(model, e, g_held, moved, one.size), g_held
