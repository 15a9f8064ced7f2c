"""Inputs with heavy tails: a kind of data for SGD on fresh samples in one file, brought by another package."""

from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
from pydantic import NonNegativeFloat

import dimfree as df
from dimfree.drawing import draw_account, legend_label, looks


class LaplaceInputs(df.extend.DataSection):
    """Independent coordinates with a Laplace law of variance 1/dimension; the label is their sum, plus noise."""

    kind: Literal["laplace"] = "laplace"
    noise: NonNegativeFloat = 0.0
    units: ClassVar[int] = 0


class LaplaceLaw(df.extend.Law):
    """Draws inputs and their labels."""

    Delta: jax.Array

    def draw(self, key, replicas, count, dimension):
        input_key, noise_key = jax.random.split(key)
        X = jax.random.laplace(input_key, (replicas, count, dimension), jnp.float32) / jnp.float32(2**0.5)
        noise = jnp.sqrt(self.Delta) * jax.random.normal(noise_key, (count, replicas))
        return X, X.sum(axis=-1).T / jnp.sqrt(1.0 * dimension) + noise

    def label(self, teachers, hidden):
        return hidden


TEST_INPUTS = 4096


class LaplaceModel(df.extend.OnePassModel):
    """The law of the samples, and what is observed of a network."""

    about: ClassVar[str] = "fresh samples of Laplace inputs"
    Delta: jax.Array

    @property
    def law(self):
        return LaplaceLaw(self.Delta)

    def risks(self, network):
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
    return LaplaceModel(**df.extend.rule_of(problem), Delta=jnp.asarray(problem.data.noise))


def draw(figure, problem, accounts):
    """The figure of a comparison: experiments as markers, theories as lines."""
    axes, shown = figure.subplots(), looks(accounts)
    for title, data in accounts.items():
        draw_account(axes, shown[title], data["time"].values, data["risk"].values, legend_label(title, data))
    axes.set(xlabel="time", ylabel="population risk", yscale="log")


KIND = df.extend.Kind(
    sections=(LaplaceInputs,),
    model="dimfree_laplace:laplace_model",
    start="dimfree.onepass.start:weights_start",
    figure="dimfree_laplace:draw",
)


class LaplaceFlow(df.extend.Evolution[LaplaceModel, jax.Array, jax.Array]):
    """Gradient flow of one linear unit."""

    name: ClassVar[str] = "laplace-flow"
    summary: ClassVar[str] = "gradient flow of one linear unit on Laplace inputs"
    cites: ClassVar[tuple[str, ...]] = ()
    models: ClassVar[type[df.extend.Model]] = LaplaceModel
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    def refuses(self, problem, model):
        unit, rule = df.TwoLayer(width=1, activation="linear"), df.OnePass(learning_rate=problem.training.learning_rate)
        if problem.network == unit and problem.training == rule:
            return None
        return "it is derived for plain SGD of a linear unit; set network.width = 1 and network.activation = 'linear'."

    def cost(self, problem, model):
        return df.extend.Cost(seconds=0.5, steps=1, memory=1e5)

    def begin(self, model, start, replicas, key):
        return jnp.mean((start.weights[0] - 1) ** 2) / 2

    def advance(self, model, state, times):
        return state, {"risk": state * jnp.exp(-2 * times)[:, None]}
