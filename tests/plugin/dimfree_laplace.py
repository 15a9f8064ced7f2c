"""Inputs with heavy tails: a kind of data for one-pass SGD in one file, brought by another package."""

from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
from pydantic import NonNegativeFloat

from dimfree.drawing import draw_account, legend_label, looks
from dimfree.onepass.kind import DataSection, Kind
from dimfree.onepass.law import Law
from dimfree.onepass.rule import OnePassModel, rule_of

TEST_INPUTS = 4096


class LaplaceInputs(DataSection):
    """Independent coordinates with a Laplace law of variance 1/dimension; the label is their sum, plus noise."""

    kind: Literal["laplace"] = "laplace"
    noise: NonNegativeFloat = 0.0
    units: ClassVar[int] = 0


class LaplaceLaw(Law):
    Delta: jax.Array

    def draw(self, key, replicas, count, dimension):
        """Inputs times sqrt(d), and labels, which are drawn with them."""
        input_key, noise_key = jax.random.split(key)
        X = jax.random.laplace(input_key, (replicas, count, dimension), jnp.float32) / jnp.float32(2**0.5)
        noise = jnp.sqrt(self.Delta) * jax.random.normal(noise_key, (count, replicas))
        return X, X.sum(axis=-1).T / jnp.sqrt(1.0 * dimension) + noise

    def label(self, teachers, hidden):
        return hidden


class LaplaceModel(OnePassModel):
    """What the rule does not say: the law, and what is seen of a network."""

    about: ClassVar[str] = "fresh samples of Laplace inputs"
    Delta: jax.Array

    @property
    def law(self):
        return LaplaceLaw(self.Delta)

    def risks(self, network):
        """E(f* - f)²/2 on test inputs that are the same at all times."""
        d = network.students.shape[-1]
        X, y = LaplaceLaw(jnp.zeros(())).draw(jax.random.key(1), 1, TEST_INPUTS, d)

        def one(inputs):
            W, bias, a = inputs
            fields = X[0].astype(float) @ W.T / jnp.sqrt(1.0 * d) + bias
            return jnp.mean((y[:, 0] - jnp.mean(a * self.activation(fields), axis=1)) ** 2) / 2

        return jax.lax.map(one, (network.students, network.scalars.bias.T, network.scalars.a.T))

    def look(self, network):
        return {"risk": self.risks(network)}

    def look_seconds(self, replicas):
        return 1e-9 * replicas * TEST_INPUTS * self.width * float(self.dimension)


def laplace_model(problem):
    return LaplaceModel(**rule_of(problem), Delta=jax.device_put(problem.data.noise))


def draw(figure, problem, accounts):
    """The figure of a comparison: experiments as markers, theories as lines."""
    axes, shown = figure.subplots(), looks(accounts)
    for title, data in accounts.items():
        draw_account(axes, shown[title], data["time"].values, data["risk"].values, legend_label(title, data))
    axes.set(xlabel="time", ylabel="population risk")


KIND = Kind(
    sections=(LaplaceInputs,),
    model="dimfree_laplace:laplace_model",
    start="dimfree.onepass.start:weights_start",
    figure="dimfree_laplace:draw",
)
