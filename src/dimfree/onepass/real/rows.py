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
from dimfree.gaussian.any_loss.sampled import expected_loss
from dimfree.onepass.directions import StructuredModel, level_overlaps, structured_observables
from dimfree.onepass.pool import GAUSSIAN, says_of_rows
from dimfree.onepass.real.blocked import AtBlock, BlockedSGD
from dimfree.onepass.real.vectors import VectorSGD, walker
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start
from dimfree.onepass.weights import Network
from dimfree.problem import Problem


class RowsSGD(BlockedSGD[StructuredModel, Network]):
    """Rows drawn with replacement; the population is the pool of all rows."""

    name: ClassVar[str] = "rows"
    summary: ClassVar[str] = (
        "real SGD on the rows of your own data, drawn with replacement; its risk is that on all rows"
    )
    cites: ClassVar[tuple[str, ...]] = ("goldt2022",)
    models: ClassVar[type[StructuredModel]] = StructuredModel
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    def refuses(self, problem: Problem, model: StructuredModel) -> str | None:
        """Rows are needed, and labels that are functions of them."""
        if model.hidden_labels:
            return model.hidden_labels
        if model.pool is None:
            return "there are no rows to draw; set data.covariance = {kind = 'features', file = 'X.npy'}, or use sgd."
        return None

    def cost(self, problem: Problem, model: StructuredModel) -> Cost:
        """That of vectors, and one look at all rows at every time."""
        assert model.pool is not None
        drawn, looks = VectorSGD().cost(problem, model), len(problem.times) * problem.run.replicas
        n = model.width + model.units
        return drawn._replace(seconds=drawn.seconds + 1e-9 * looks * model.pool.rows.size * n)

    def warns(self, problem: Problem, model: StructuredModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """What makes rows different from Gaussian inputs."""
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
        """Overlaps, which are those of Gaussian inputs, and the risk on all rows."""
        return level_overlaps(model, network), network.scalars.bias.T, self.risks(model, network)

    def risks(self, model: StructuredModel, network: Network) -> Float[Array, " r"]:
        """Averages over all rows: of the square loss of values without the noise floor."""
        assert model.pool is not None
        rows, labels = model.pool
        teachers = model.target(rows @ network.teachers.T)

        def one(inputs: tuple[Array, Array, Array]) -> Array:
            W, bias, a = inputs
            f = jnp.mean(a * model.activation(rows @ W.T + bias), axis=1)
            if not model.excess:
                return jnp.mean(expected_loss(model, f, teachers) if labels is None else model.loss(f, labels))
            if labels is None:
                return jnp.mean((teachers - f) ** 2) / 2
            return (jnp.mean((labels - f) ** 2) - model.Delta) / 2

        return jax.lax.map(one, (network.students, network.scalars.bias.T, network.scalars.a.T))

    def observe(self, model: StructuredModel, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        """The risk that was measured, beside that of Gaussian inputs at the same overlaps."""
        blocks, bias, risk = looks
        seen = structured_observables(model, blocks, bias)
        seen.pop("components", None)  # those of Gaussian inputs
        gaussian = {} if model.rows_only else {GAUSSIAN: seen["risk"]}
        return seen | {"risk": risk} | gaussian
