"""Adapters for items of networks with several outputs (docs/theory/losses.md, section 1.2)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.functions.cross_entropy import CrossEntropyLoss
from dimfree.functions.label_law import Argmax, OutputClasses, SoftmaxClasses
from dimfree.functions.named import activation
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.outputs.averages import Driving, driving, mean_loss
from dimfree.gaussian.outputs.ladder import head_of
from dimfree.gaussian.outputs.points import Rule, lattice
from dimfree.gaussian.outputs.taught import bends, fields_left, seen_at
from dimfree.onepass.kinds.clusters.model import ClusterModel, cluster_model
from dimfree.onepass.kinds.clusters.outputs import outputs_driving, outputs_judged
from dimfree.onepass.kinds.clusters.points import Rule as ClusterRule
from dimfree.onepass.kinds.clusters.section import Clusters
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.states.overlaps import Overlaps

Values = dict[str, Any]
_FINE = ClusterRule(24)
_STEPS = {
    1: 0.05,
    2: 0.1,
    3: 0.2,
    4: 0.3,
}  # of lattices, by how many fields are integrated: finer than a solver can afford
_NODES = {1: 60, 2: 36, 3: 18, 4: 10}  # of panels, where activations bend
_TOGETHER = 2**14  # points of a lattice that are there at once


class _Given(Rule):
    """Points that are given."""

    x: jax.Array | None = None
    weights: jax.Array | None = None

    def points(self, L: jax.Array, bends: tuple[tuple[float, ...], ...]) -> tuple[jax.Array, jax.Array]:
        """The given points."""
        assert self.x is not None
        assert self.weights is not None
        return self.x, self.weights


def rhs(inputs: Values) -> Values:
    """Time derivatives of the overlaps and the second layer, and the risk."""
    state = Overlaps(*(jnp.asarray(inputs[name], dtype=float) for name in ("Q", "M", "A")))
    if "mixture" in inputs:
        found, risk = _on_clusters(_clusters(inputs), state)
    else:
        found, risk = _of_teacher(_task(inputs), state)
    p = state.Q.shape[0]
    H = found.D[:, :p]
    dQ = H + H.T + inputs["gamma"] / (p * inputs["nb"]) * found.Var
    return {"dQ": dQ, "dM": found.D[:, p:], "dA": inputs["eta_a"] * found.PsiA, "risk": risk}


def _of_teacher(task: Task, state: Overlaps) -> tuple[Driving, jax.Array]:
    p = state.Q.shape[0]
    fields = fields_left(task, p)
    if any(bends(task, p, task.units)) or fields not in _STEPS:
        return _averages(task, state, Rule(nodes=_NODES[fields]))
    x, weights = lattice(fields, _STEPS[fields])
    missing = -len(x) % _TOGETHER
    pieces = np.pad(x, ((0, missing), (0, 0))).reshape(-1, _TOGETHER, fields)
    return _in_pieces(task, state, *jax.device_put((pieces, np.pad(weights, (0, missing)).reshape(-1, _TOGETHER))))


@eqx.filter_jit
def _averages(task: Task, state: Overlaps, rule: Rule) -> tuple[Driving, jax.Array]:
    head, seen = head_of(task, state), seen_at(task, state, rule)
    return driving(head, seen), mean_loss(head, seen)


@eqx.filter_jit
def _in_pieces(task: Task, state: Overlaps, x: jax.Array, weights: jax.Array) -> tuple[Driving, jax.Array]:
    one = lambda piece: _averages(task, state, _Given(x=piece[0], weights=piece[1]))  # noqa: E731
    parts: tuple[Driving, jax.Array] = jax.lax.map(one, (x, weights))
    return jax.tree.map(lambda part: jnp.sum(part, axis=0), parts)


@eqx.filter_jit
def _on_clusters(m: ClusterModel, state: Overlaps) -> tuple[Driving, jax.Array]:
    return outputs_driving(m, state, _FINE), outputs_judged(m, state, None, _FINE).risk


def _task(inputs: Values) -> Task:
    """Labels of outputs B lambda*, without the 1/k of a committee."""
    labels, P = inputs["labels"], jnp.asarray(inputs["P"], dtype=float)
    target = Committee(
        activation(labels.get("activation", "linear")), P.shape[0] * jnp.asarray(labels["B"], dtype=float), P
    )
    law: OutputClasses = SoftmaxClasses(jnp.asarray(labels.get("beta", 1.0), dtype=float))
    if labels["kind"] == "argmax":
        law = Argmax(jnp.asarray(labels.get("flip", 0.0), dtype=float))
    return Task(activation(inputs["activation"]), target, CrossEntropyLoss(), law, jnp.zeros(()))


def _clusters(inputs: Values) -> ClusterModel:
    mixture, A = inputs["mixture"], np.asarray(inputs["A"], dtype=float)
    return cluster_model(
        OnePassProblem(
            dimension=1000,
            data=Clusters(
                weights=mixture["weights"],
                means=mixture["means"],
                variances=mixture["variances"],
                classes=mixture["labels"],
                overlap=np.asarray(inputs["P"], dtype=float).tolist(),
                flip=inputs["labels"].get("flip", 0.0),
            ),
            network=TwoLayer(
                width=A.shape[1],
                activation=inputs["activation"],
                outputs=A.shape[0],
                second_layer_start=A.tolist(),
                trained=("first-layer", "second-layer"),
            ),
            training=OnePass(learning_rate=inputs["gamma"], batch=inputs["nb"], loss="cross-entropy"),
        )
    )
