"""Linear regression through a random projection in the letters of its sheet (docs/theory/scaling.md, section 0).

A network of one linear unit sees xi = Wᵀ x, d random mixtures of v inputs x; weights are held in the eigenbasis of the
covariance of xi. With `hidden` inputs are genuine: x is drawn, labelled and projected. Without it xi is drawn in its eigenbasis,
and what no weights reach becomes label noise: the same in law, at a cost of d numbers a sample instead of a matrix.
"""

from dataclasses import replace
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int, Key

from dimfree.onepass.law import Law
from dimfree.onepass.projected.measures import Measures, on_eigenvalues
from dimfree.onepass.projected.population import Population
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.weights import Network
from dimfree.random_numbers import normals


class Hidden(NamedTuple):
    """How genuine inputs are made from standard normal z: features xi = z mixed, and labels z.target plus noise."""

    mixed: Float32[Array, "v d"]
    target: Float[Array, " v"]


class Rows(NamedTuple):
    """Rows of the user's own as the network sees them, in the eigenbasis, and their labels."""

    xi: Float32[Array, "n d"]
    labels: Float[Array, " n"]


class Spectrum(NamedTuple):
    """The population as arrays: eigenvalues, counts, energies, and the last nodes of groups."""

    h: Float[Array, " n"]
    counts: Float[Array, " n"]
    e: Float[Array, " n"]
    lasts: Int[Array, " g"]


class ProjectedLaw(Law):
    """Inputs drawn and projected, rows drawn with replacement, or inputs drawn in the eigenbasis of the projection."""

    hidden_inputs: Hidden | Rows | None
    roots: Float32[Array, " d"]  # of the eigenvalues
    best: Float[Array, " d"]
    unreached: Float[Array, ""]
    Delta: Float[Array, ""]

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Inputs times sqrt(d), and labels."""
        input_key, noise_key = jax.random.split(key)
        if isinstance(self.hidden_inputs, Rows):
            which = jax.random.randint(input_key, (replicas, count), 0, len(self.hidden_inputs.labels))
            return self.hidden_inputs.xi[which] * jnp.float32(dimension**0.5), self.hidden_inputs.labels[which].T
        noise = normals(noise_key, count * replicas).reshape(count, replicas)
        if self.hidden_inputs is None:
            z = normals(input_key, replicas * count * dimension).reshape(replicas, count, dimension)
            xi = jax.lax.map(lambda one: one * self.roots, z)
            seen = jax.lax.map(lambda one: one.astype(float) @ self.best, xi)
            label = seen.T + jnp.sqrt(self.Delta + self.unreached) * noise
        else:
            mixed, target = self.hidden_inputs
            z = normals(input_key, replicas * count * len(target)).reshape(replicas, count, len(target))
            xi = jax.lax.map(lambda one: one @ mixed, z)
            seen = jax.lax.map(lambda one: one.astype(float) @ target, z)
            label = seen.T + jnp.sqrt(self.Delta) * noise
        return xi * jnp.float32(dimension**0.5), label

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        """Drawn with the input."""
        return hidden


class ProjectedModel(OnePassModel):
    """One linear unit behind a random projection."""

    about: ClassVar[str] = "fresh samples seen through a random projection"
    instead_of_pde: ClassVar[str] = "equivalent or sgd"
    Delta: Float[Array, ""]  # variance of the label noise
    unreached: Float[Array, ""]  # Delta_W
    eigenvalues: Float[Array, " d"]
    best: Float[Array, " d"]  # theta*, the best weights after the projection
    spectrum: Spectrum  # before the projection
    hidden: Hidden | Rows | None
    rows: Rows | None

    @property
    def law(self) -> ProjectedLaw:
        """The law of genuine inputs, or of inputs in the eigenbasis."""
        roots = jnp.sqrt(self.eigenvalues).astype(jnp.float32)
        return ProjectedLaw(self.hidden, roots, self.best, self.unreached, self.Delta)

    @property
    def projected(self) -> "ProjectedModel":
        """This model itself."""
        return self

    @property
    def in_eigenbasis(self) -> "ProjectedModel":
        """The same law of features and labels, without drawing the inputs that are projected."""
        return replace(self, hidden=None)

    @property
    def on_rows(self) -> "ProjectedModel":
        """The same with rows drawn with replacement: their mean of (y - f)²/2 is the risk of Gaussian inputs plus Delta/2."""
        return replace(self, hidden=self.rows)

    @property
    def draw_seconds(self) -> float:
        """Predict the cost of drawing inputs and projecting them by a product with a matrix."""
        if not isinstance(self.hidden, Hidden):
            return 0.0
        v, d = self.hidden.mixed.shape
        return v * (9e-9 + 6e-11 * d)

    def measures(self) -> Measures:
        """Signal and noise on the eigenvalues of the projection."""
        return on_eigenvalues(np.asarray(self.eigenvalues), np.asarray(self.best), float(self.unreached))

    def population(self) -> Population:
        """The population before the projection."""
        return Population(*map(np.asarray, self.spectrum))

    def risks(self, network: Network) -> Float[Array, " r"]:
        """E[(b.x - f)²]/2, exactly."""
        missed = (self.best - network.scalars.a[0][:, None] * network.students[:, 0]) ** 2 @ self.eigenvalues
        return (self.unreached + missed) / 2

    def look(self, network: Network) -> dict[str, Float[Array, " r"]]:
        """The risk."""
        return {"risk": self.risks(network)}

    def look_seconds(self, replicas: int) -> float:
        """Count one product with the eigenvalues."""
        return 1e-9 * replicas * self.eigenvalues.size
