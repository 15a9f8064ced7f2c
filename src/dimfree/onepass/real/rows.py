"""SGD on the rows of your own data, beside Gaussian inputs of the same covariance (docs/theory/structured.md, section 3).

What `sgd` and `rows` differ by is that the data are not Gaussian; what `sgd` and `ode` differ by is that dimensions are finite.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from dimfree.description import Cost, Observed, Values
from dimfree.functions.label_law import Argmax, Classes, OutputClasses
from dimfree.gaussian.any_loss.sampled import expected_loss
from dimfree.gaussian.outputs.averages import Head, Seen, mean_loss, wrong_share
from dimfree.onepass.pool import GAUSSIAN, says_of_rows
from dimfree.onepass.real.blocked import AtBlock, BlockedSGD
from dimfree.onepass.real.vectors import VectorSGD, walker
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel, level_overlaps, structured_observables
from dimfree.onepass.weights import Network
from dimfree.problem import Problem

_OF_GAUSSIANS = ("risk", "components", "test_error", "clean_error", "bayes_error")


class RowsSGD(BlockedSGD[StructuredModel, Network]):
    """Rows drawn with replacement; the population is the pool of all rows, or of those that are held out."""

    name: ClassVar[str] = "rows"
    summary: ClassVar[str] = (
        "real SGD on the rows of your own data, drawn with replacement; its risk is that on all rows, or on held-out ones"
    )
    cites: ClassVar[tuple[str, ...]] = ("goldt2022",)
    models: ClassVar[type[StructuredModel]] = StructuredModel
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    def refuses(self, problem: Problem, model: StructuredModel) -> str | None:
        """Refuse problems without rows, or whose labels are not functions of rows."""
        if model.hidden_labels:
            return model.hidden_labels
        if model.pool is None:
            return "there are no rows to draw; set data.covariance = {kind = 'features', file = 'X.npy'}, or use sgd."
        return None

    def cost(self, problem: Problem, model: StructuredModel) -> Cost:
        """Count SGD on vectors, and one look at all rows at every saved time."""
        assert model.pool is not None
        drawn, looks = VectorSGD().cost(problem, model), len(problem.times) * problem.run.replicas
        n = model.width + model.units
        return drawn._replace(seconds=drawn.seconds + 1e-9 * looks * model.pool.rows.size * n)

    def warns(self, problem: Problem, model: StructuredModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Say what makes the rows different from Gaussian inputs."""
        return (*super().warns(problem, model, seen), *says_of_rows(problem, model, seen))

    def begin(self, model: StructuredModel, start: Start, replicas: int, key: Key[Array, ""]) -> AtBlock[Network]:
        """Every replica starts from the same network."""
        return walker(model).begin(model, start, replicas, key)

    def through_block(
        self,
        model: StructuredModel,
        network: Network,
        block: Int[Array, ""],
        key: Key[Array, ""],
        active: Int[Array, ""],
    ) -> Network:
        """SGD on vectors, with rows as inputs."""
        drawing: OnePassModel = replace(model, on_rows=True)
        return walker(model).through_block(drawing, network, block, key, active)

    def look(self, model: StructuredModel, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Overlaps, which are those of Gaussian inputs, and what is measured on all rows."""
        return level_overlaps(model, network), network.scalars.bias.T, _on_rows(model, network)

    def risks(self, model: StructuredModel, network: Network) -> Float[Array, " r"]:
        """Averages over all rows, or those held out: of the square loss of values without the noise floor."""
        return _on_rows(model, network)["risk"]

    def observe(self, model: StructuredModel, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        """Risk and errors that were measured, beside the risk of Gaussian inputs at the same overlaps."""
        blocks, bias, measured = looks
        seen = structured_observables(model, blocks, bias)
        gaussian = {} if model.rows_only else {GAUSSIAN: seen["risk"]}
        overlaps = {name: values for name, values in seen.items() if name not in _OF_GAUSSIANS}
        return overlaps | measured | gaussian


def _on_rows(model: StructuredModel, network: Network) -> dict[str, Float[Array, " r"]]:
    """The risk on all rows; of classes how often the sign of f is wrong, and of those of a teacher the clean and best errors."""
    assert model.pool is not None
    rows, labels = model.pool.seen
    f_star = model.target(rows @ network.teachers.T)
    if isinstance(model.labels, OutputClasses):
        return _outputs_on_rows(model, network, rows, model.labels.chances(f_star), f_star)

    def one(inputs: tuple[Array, Array, Array]) -> dict[str, Array]:
        W, bias, a = inputs
        f = jnp.mean(a * model.activation(rows @ W.T + bias), axis=1)
        found = {"risk": _risk(model, f, f_star, labels)}
        if not isinstance(model.labels, Classes):
            return found
        if labels is not None:
            return found | {"test_error": _wrong(f, 0.5 * (1 + labels))}
        plus = model.labels.P_plus(f_star, model.Delta)
        found |= {"test_error": _wrong(f, plus), "clean_error": _wrong(f, 0.5 * (1 + jnp.sign(f_star)))}
        return found | {"bayes_error": jnp.mean(jnp.minimum(plus, 1 - plus))}

    found: dict[str, Array] = jax.lax.map(one, (network.students, network.scalars.bias.T, network.scalars.a.T))
    return found


def _outputs_on_rows(
    model: StructuredModel,
    network: Network,
    rows: Float[Array, "n d"],
    chances: Float[Array, "n c"],
    f_star: Float[Array, "n c"],
) -> dict[str, Float[Array, " r"]]:
    """The same for several outputs, whose labels are classes of a teacher: rows are points of equal weight."""
    right = Argmax(jnp.zeros(())).chances(f_star)

    def one(inputs: tuple[Array, Array, Array]) -> dict[str, Array]:
        W, bias, A = inputs
        weights, nothing = jnp.full(rows.shape[0], 1 / rows.shape[0]), jnp.zeros((*chances.shape, 0))
        seen = Seen(weights, rows @ W.T + bias, chances, nothing, jnp.ones(()))
        head = Head(model.activation, A, model.loss)
        errors = wrong_share(head, seen), wrong_share(head, seen._replace(chances=right))
        best = 1 - jnp.mean(jnp.max(chances, axis=1))
        return {
            "risk": mean_loss(head, seen),
            "test_error": errors[0],
            "clean_error": errors[1],
            "bayes_error": best,
        }

    layers = jnp.moveaxis(network.scalars.a, -1, 0)
    found: dict[str, Array] = jax.lax.map(one, (network.students, network.scalars.bias.T, layers))
    return found


def _risk(
    model: StructuredModel, f: Float[Array, " n"], f_star: Float[Array, " n"], labels: Float[Array, " n"] | None
) -> Float[Array, ""]:
    if not model.excess:
        return jnp.mean(expected_loss(model, f, f_star) if labels is None else model.loss(f, labels))
    if labels is None:
        return jnp.mean((f_star - f) ** 2) / 2
    return (jnp.mean((labels - f) ** 2) - model.Delta) / 2


def _wrong(f: Float[Array, " n"], plus: Float[Array, " n"]) -> Float[Array, ""]:
    """How often the sign of f is wrong where +1 has these probabilities; f = 0 is half wrong."""
    up = 0.5 * (1 + jnp.sign(f))
    return jnp.mean(plus * (1 - up) + (1 - plus) * up)
