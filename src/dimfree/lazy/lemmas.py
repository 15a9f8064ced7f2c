"""Lemmas 1 to 3 of the notes as inequalities that every run of gradient flow must obey, and a sufficient condition of laziness.

docs/theory/mean-field.md, (h.3) to (h.5). With lambda-, lambda+ the extreme eigenvalues of K = J J^T over the saved times:
1. L(t) <= L(0) exp(-2 gamma² lambda- t); 2. |J_t - J_0| <= beta |theta_t - theta_0|, in operator norm; 3. |theta_t - theta_0| <=
sqrt(lambda+)/(gamma lambda-) |e_0|. It is lazy for certain where the radius of 3 times beta is below sigma_min(J_0)/2.

A constant of 2 that holds for all weights, from neuron to neuron: with S1, S2 the largest |sigma'|, |sigma''|, r the longest
input and A the largest |a| at the start, |J_t - J_0| is at most |X| times the norm of [S1 dw, S1 da + A S2 r dw].
"""

from collections.abc import Mapping
from functools import lru_cache
from math import inf, sqrt
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from dimfree.description import Values
from dimfree.functions.activation import Activation
from dimfree.lazy.model import LazyModel
from dimfree.lazy.network import Shape, Weights

_ROUNDING = 1e-7  # relative error of the solver; lemma 1 is an equality where the loss follows one eigenvalue
_REACH, _NODES = 30.0, 60_001  # the grid on which the largest slope and curvature are searched


class Inequality(NamedTuple):
    """One inequality, at the time where it is nearest to failing."""

    name: str
    statement: str
    left: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether left <= right, up to the error of the solver."""
        return bool(self.left <= self.right * (1 + _ROUNDING))


class Lemmas(NamedTuple):
    """The three lemmas, their condition, and the constants in them."""

    lemmas: tuple[Inequality, Inequality, Inequality]
    condition: Inequality  # sufficient: if it does not hold, nothing follows
    beta: float  # a Lipschitz constant of J that holds for all weights
    measured_beta: float  # the largest |J_t - J_0|/|theta_t - theta_0| of the run
    radius: float  # of lemma 3

    @property
    def holds(self) -> bool:
        """Whether no lemma is violated."""
        return all(one.holds for one in self.lemmas)


def check_lemmas(model: LazyModel, start: Weights, times: Values, seen: Mapping[str, Values]) -> Lemmas:
    """Check the lemmas for one network, from its start and its observables along `times`, without an axis of replicas."""
    gamma, t = float(model.gamma), np.asarray(times) / float(model.clock)
    smallest, largest = float(seen["smallest_eigenvalue"].min()), float(seen["largest_eigenvalue"].max())
    loss, moved, change = seen["train_loss"], seen["movement"], seen["jacobian_change"]
    bound = loss[0] * np.exp(-2 * gamma**2 * max(smallest, 0.0) * t)
    beta = lipschitz(model, start)
    measured = float(np.max(change[1:] / np.maximum(moved[1:], 1e-300)))
    radius = sqrt(largest) / (gamma * smallest) * float(seen["residual_norm"][0]) if smallest > 0 else inf
    nearest = int(np.argmax(loss[1:] / bound[1:])) + 1
    lazy = sqrt(max(float(seen["smallest_eigenvalue"][0]), 0.0)) / 2
    lemmas = (
        Inequality("lemma 1", "L(t) <= L(0) exp(-2 gamma² lambda t)", float(loss[nearest]), float(bound[nearest])),
        Inequality("lemma 2", "|J_t - J_0| <= beta |theta_t - theta_0|", measured, beta),
        Inequality("lemma 3", "|theta_t - theta_0| <= sqrt(lambda+)/(gamma lambda-) |e_0|", float(moved.max()), radius),
    )
    condition = Inequality("lazy", "radius of lemma 3 times beta <= sigma_min(J_0)/2", radius * beta, lazy)
    return Lemmas(lemmas, condition, beta, measured, radius)


def lipschitz(model: LazyModel, start: Weights) -> float:
    """A Lipschitz constant beta that holds for all weights; infinite where sigma' jumps or is not bounded."""
    steepest, most_curved = steepness(model.shape.activation)
    if not np.isfinite(steepest * most_curved):
        return inf
    return float(jnp.linalg.norm(model.X, 2)) * sqrt(_per_neuron(model.shape, start, model, steepest, most_curved))


def _per_neuron(shape: Shape, start: Weights, model: LazyModel, steepest: float, most_curved: float) -> float:
    """The largest |S1 dw|² + (S1 da + A S2 r dw)² for da² + dw² = 1; layers that are not trained have no part."""
    A, r = float(jnp.max(jnp.abs(start.a))), float(jnp.max(jnp.linalg.norm(model.X, axis=1)))
    rows = []
    if shape.second:
        rows.append((0.0, steepest))
    if shape.first:
        rows.append((steepest if shape.second else 0.0, A * most_curved * r))
    columns = [column for column, trained in enumerate((shape.second, shape.first)) if trained]
    return float(np.linalg.norm(np.array(rows)[:, columns], 2) ** 2)


@lru_cache(maxsize=64)
def steepness(sigma: Activation) -> tuple[float, float]:
    """The largest |sigma'| and |sigma''|; infinite where they still grow far out, or where the slope jumps."""
    x = jnp.linspace(-_REACH, _REACH, _NODES)
    found = []
    for values in (np.abs(sigma.derivative(x)), np.abs(sigma.second_derivative(x))):
        inner = values[np.abs(x) <= _REACH / 2].max()
        found.append(inf if values.max() > 1.01 * inner else (1 + 1e-6) * float(values.max()))
    return found[0], inf if sigma.kinks else found[1]
