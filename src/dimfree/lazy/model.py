"""The problem in letters: the points and their labels, gamma, the width, and the law of the start."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.arrays import read_archive
from dimfree.description import Model
from dimfree.errors import ProblemError
from dimfree.functions.named import activation
from dimfree.lazy.kernel import coinciding
from dimfree.lazy.network import Shape
from dimfree.lazy.problem import DrawnPoints, GivenPoints, LazyProblem
from dimfree.machine import refuse_above_memory

Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_COPIES, _PAIRS = 4, 4  # how many arrays of all coordinates, and of all pairs, exist at once


class LazyModel(Model):
    """Structure and numbers of gradient flow on n points, and m held-out ones."""

    about: ClassVar[str] = "given points"
    shape: Shape
    width: int = eqx.field(static=True)
    gamma: Float[Array, ""]
    X: Float[Array, "n d"]
    y: Float[Array, " n"]
    X_held: Float[Array, "m d"]
    y_held: Float[Array, " m"]

    @property
    def clock(self) -> Float[Array, ""]:
        """gamma² N: how much of the problem's time passes in a unit of time of the gradient flow."""
        return self.gamma**2 * self.width


class _Labelled(NamedTuple):
    X: Values
    y: Values
    held: int


def lazy_model(problem: LazyProblem) -> LazyModel:
    """Structure and numbers of a problem; points that a network cannot tell apart are refused."""
    network, start = problem.network, problem.start
    shape = Shape(
        activation(network.activation),
        "first-layer" in network.trained,
        "second-layer" in network.trained,
        jnp.asarray(start.scale),
        jnp.asarray(start.second_layer_scale),
    )
    if isinstance(problem.data, DrawnPoints):
        _refuse_too_many(problem.data.samples, problem.data.held_out, problem.dimension)
    data = (
        _drawn(problem.data, problem.dimension)
        if isinstance(problem.data, DrawnPoints)
        else _given(problem, problem.data)
    )
    n = len(data.y) - data.held
    _refuse_too_many(n, data.held, problem.dimension)
    empty = np.flatnonzero(~data.X.any(axis=1))
    if empty.size:
        raise ProblemError(
            f"point {empty[0]} of the data is 0, which no first layer sees; leave it out (counted from 0)."
        )
    if not data.y[:n].any():
        raise ProblemError(
            "all labels to train on are 0, and so is the network at its start: there is nothing to learn; give other labels."
        )
    pair = coinciding(shape, data.X[:n])
    if pair is not None:
        i, j = pair
        why = (
            "coincide" if (data.X[i] == data.X[j]).all() else f"coincide for a network of {shape.activation.name} units"
        )
        raise ProblemError(
            f"points {i} and {j} of the data {why}, so that the kernel is singular; leave one of them out (counted from 0)."
        )
    arrays = (data.X[:n], data.y[:n], data.X[n:], data.y[n:])
    return LazyModel(shape, network.width, jnp.asarray(network.gamma), *(jnp.asarray(one) for one in arrays))


def _refuse_too_many(n: int, held: int, d: int) -> None:
    """Refuse more points than fit into memory, where all coordinates and the cosines of all pairs are held at once."""
    needed = 8.0 * (_COPIES * (n + held) * d + _PAIRS * n**2)
    refuse_above_memory(
        needed, f"{n} points and {held} held-out ones in dimension {d}", "lower data.samples or data.held_out"
    )


def the_key(problem: LazyProblem, key: Key[Array, ""], needs: frozenset[str]) -> Key[Array, ""]:
    """The key from which networks are drawn: network number r with the key folded with r, in every description."""
    return key


def _drawn(data: DrawnPoints, d: int) -> _Labelled:
    """Draw the points; the target's direction is the first axis, which these rotation-invariant laws allow."""
    inputs, noise = jax.random.split(jax.random.key(data.seed))
    n, m = data.samples, data.held_out
    Z = np.array(jax.random.normal(inputs, (n + m, d)))
    if data.law == "sphere":
        Z *= np.sqrt(d) / np.linalg.norm(Z, axis=1, keepdims=True)
    y = np.array(activation(data.link)(jnp.asarray(Z[:, 0])))
    y[:n] += np.sqrt(data.noise) * np.asarray(jax.random.normal(noise, (n,)))
    return _Labelled(Z / np.sqrt(d), y, m)


def _given(problem: LazyProblem, data: GivenPoints) -> _Labelled:
    arrays = {"X": np.array(data.inputs), "y": np.array(data.labels)}
    if data.file is not None:
        arrays = read_archive(data.file, ("X", "y"), "[data]")
    X, y = arrays["X"], arrays["y"]
    whose = "[data]" if data.file is None else f"the file {str(data.file)!r}"
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ProblemError(
            f"{whose} has X of shape {X.shape} and y of shape {y.shape}; X must be points x dimension, y one label a point."
        )
    if X.shape[1] != problem.dimension:
        raise ProblemError(f"{whose} has points of dimension {X.shape[1]}; set dimension = {X.shape[1]}.")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ProblemError(f"{whose} has points or labels that are not finite; leave them out.")
    if data.held_out >= len(y):
        raise ProblemError(
            f"{whose} has {len(y)} points, of which held_out = {data.held_out} leaves none to train on; lower data.held_out."
        )
    return _Labelled(X, y, data.held_out)
