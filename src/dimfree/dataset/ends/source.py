"""Where the data of learning-curve experiments come from: Gaussian covariates, random features, or a pool of real samples.

Learners with a ridge are rotation-invariant, so that covariates are drawn in the eigenbasis of their covariance.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.dataset.ends.task import Labels, Task
from dimfree.dataset.outliers import drawn
from dimfree.functions.activation import Activation

Matrix = Float[np.ndarray, "n d"]
Vector = Float[np.ndarray, " n"]
_TESTED = 10_000  # fresh samples on which random features are tested
_TINY = 1e-300


class Seen(NamedTuple):
    """Averages of weights over fresh samples: risk without label noise, E[z h] and E[h²]."""

    risk: float
    m: float
    q: float


class Drawn(NamedTuple):
    """A data set: rows v, labels y, and a generator of all that is drawn later."""

    v: Matrix
    y: Vector


class Source(eqx.Module):
    """Data sets, and tests of weights that were fitted to one."""

    @abstractmethod
    def draw(self, task: Task, samples: int, d: int, rng: np.random.Generator) -> tuple[Drawn, object]:
        """A data set, and what a test needs to know of it."""

    @abstractmethod
    def test(self, task: Task, w: Vector, drawn: object, rng: np.random.Generator) -> Seen:
        """Average what the weights w give over fresh samples."""


class GaussianSource(Source):
    """Eigenvalues and phi/sqrt(omega), each for an equal part of the directions (or one a direction), and rho."""

    omega: Float[Array, " k"]
    theta: Float[Array, " k"]  # of z = theta.v/sqrt(d) + what no feature sees
    rho: Float[Array, ""]

    def draw(self, task: Task, samples: int, d: int, rng: np.random.Generator) -> tuple[Drawn, object]:
        """Independent coordinates."""
        omega, theta = self._directions(d)
        v = rng.standard_normal((samples, d)) * np.sqrt(omega)
        hidden = max(float(self.rho) - float(theta @ (omega * theta)) / d, 0.0)
        z = v @ theta / np.sqrt(d) + np.sqrt(hidden) * rng.standard_normal(samples)
        return Drawn(v, labelled(task, z, rng)), None

    def test(self, task: Task, w: Vector, drawn: object, rng: np.random.Generator) -> Seen:
        """Exactly, by the covariance."""
        d = len(w)
        omega, theta = self._directions(d)
        m, q = float(theta @ (omega * w)) / d, float(w @ (omega * w)) / d
        return Seen(float(task.risk(jnp.asarray(m), jnp.asarray(q))), m, q)

    def _directions(self, d: int) -> tuple[Vector, Vector]:
        which = np.arange(d) * len(self.omega) // d
        return np.asarray(self.omega)[which], np.asarray(self.theta)[which]


class FeatureSource(Source):
    """Real random features of Gaussian inputs, centred; F is drawn with every data set."""

    sigma: Activation
    mean: Float[Array, ""]
    per_input: Float[Array, ""]

    def draw(self, task: Task, samples: int, d: int, rng: np.random.Generator) -> tuple[Drawn, object]:
        """Inputs seen by the teacher, features by the student."""
        F = rng.standard_normal((d, max(1, round(d / float(self.per_input)))))
        v, z = self._seen(F, samples, rng)
        return Drawn(v, labelled(task, z, rng)), F

    def test(self, task: Task, w: Vector, drawn: object, rng: np.random.Generator) -> Seen:
        assert isinstance(drawn, np.ndarray)
        v, z = self._seen(drawn, _TESTED, rng)
        return tested(task, v @ w / np.sqrt(len(w)), z)

    def _seen(
        self, F: Float[np.ndarray, "features D"], samples: int, rng: np.random.Generator
    ) -> tuple[Matrix, Vector]:
        D = F.shape[1]
        x = rng.standard_normal((samples, D))
        v = np.asarray(self.sigma(jnp.asarray(x @ F.T / np.sqrt(D)))) - float(self.mean)
        return v, x.sum(axis=1) / np.sqrt(D)


class Moments(eqx.Module):
    """Averages of a table over its features and labels, in the eigenbasis of the features' covariance."""

    omega: Float[Array, " d"]
    along: Float[Array, " d"]  # E[y v]
    power: Float[Array, ""]  # E[y²]
    linear: Float[Array, ""]  # R²: the part of E[y²] that is linear in the features
    linear_error: Float[Array, ""]  # its standard error, if the rows are independent draws

    def z_over_y(self, labels: Labels) -> Float[Array, ""]:
        """E[z v] over E[y v], z being the Gaussian field behind a label.

        A real label is that field. A class is the sign of a field of variance 1, for which E[y v] = sqrt(2/pi) E[z v]. Where the
        labels have a larger linear part than any sign of a Gaussian, the field is the nearest one: linear in the features.
        """
        if labels == "linear":
            return jnp.ones_like(self.linear)
        return jnp.minimum(jnp.sqrt(jnp.pi / 2), 1 / jnp.sqrt(jnp.maximum(self.linear, _TINY)))


class Pool(Source):
    """Real samples: subsets are drawn with replacement, and tested on all of them."""

    v: Float[Array, "n d"]
    y: Float[Array, " n"]
    mapped: bool = eqx.field(static=True)  # whether the labels were 0 and 1
    moments: Moments

    def draw(self, task: Task, samples: int, d: int, rng: np.random.Generator) -> tuple[Drawn, object]:
        """Draw rows of the pool."""
        rows = rng.integers(len(self.y), size=samples)
        return Drawn(np.asarray(self.v)[rows], np.asarray(self.y)[rows]), None

    def test(self, task: Task, w: Vector, drawn: object, rng: np.random.Generator) -> Seen:
        """On the whole pool: the risk counts labels as they are, with whatever noise is in them."""
        seen = tested(task, np.asarray(self.v) @ w / np.sqrt(len(w)), np.asarray(self.y))
        return seen._replace(m=seen.m * float(self.moments.z_over_y(task.labels)))


def labelled(task: Task, z: Vector, rng: np.random.Generator) -> Vector:
    """Labels from teacher fields."""
    noise = rng.standard_normal(len(z))
    if task.outliers is not None:
        return np.asarray(drawn(jnp.asarray(z), jnp.asarray(noise), task.Delta, task.outliers))
    noisy = z + np.sqrt(float(task.Delta)) * noise
    return noisy if task.labels == "linear" else np.where(noisy < 0, -1.0, 1.0)


def tested(task: Task, h: Vector, z: Vector) -> Seen:
    """Means over samples."""
    wrong = 0.5 * np.mean((z - h) ** 2) if task.labels == "linear" else np.mean(np.where(h < 0, -1.0, 1.0) * z <= 0)
    return Seen(float(wrong), float(np.mean(z * h)), float(np.mean(h**2)))
