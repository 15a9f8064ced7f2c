"""Adapters for items of Gaussian mixtures as inputs (docs/theory/losses.md, section 3)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.onepass.kinds.clusters.averages import Driving, Judged, driving, judged
from dimfree.onepass.kinds.clusters.bayes import bayes_error
from dimfree.onepass.kinds.clusters.model import ClusterModel, cluster_model
from dimfree.onepass.kinds.clusters.points import Rule
from dimfree.onepass.kinds.clusters.section import Clusters
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.start import Start
from dimfree.reference.committee import run
from dimfree.states.overlaps import Overlaps

Values = dict[str, Any]
_FINE = Rule(24)


def rhs(inputs: Values) -> Values:
    """Time derivatives of the overlaps, the risk and the test error."""
    m, state = _model(inputs), _state(inputs)
    found, seen = _averages(m, state, False)
    moved = _moved(m, found)
    return {**moved, "da": m.eta_a * found.Psia, "risk": seen.risk, "test_error": seen.test_error}


def step_mean(inputs: Values) -> Values:
    """The mean of one step at finite d, equation (3.3)."""
    m, state = _model(inputs), _state(inputs)
    found, _ = _averages(m, state, True)
    J = np.linalg.lstsq(np.asarray(state.covariance(m.P)), np.asarray(found.D).T, rcond=None)[0]
    descent = m.gamma / (m.width * m.dimension) * (1 - 1 / m.batch) * found.D @ J
    moved = _moved(m, found)
    return {
        "dQ": m.time_step * (moved["dQ"] + descent),
        "dM": m.time_step * moved["dM"],
        "da": m.time_step * m.eta_a * found.Psia,
    }


def trajectory(inputs: Values) -> Values:
    """Overlaps, risk and test error along the equations, or along gradient flow."""
    m, state = _model(inputs), _state(inputs)
    one, same = (GradientFlow() if inputs.get("flow") else HighDimensional()).twin(m)
    seen = run(one, same, Start(state, None, jnp.zeros(m.width)), jnp.asarray([0.0, *inputs["times"]]))
    return {name: seen[name][1:, 0] for name in ("Q", "M", "a", "risk", "test_error")}


def best_error(inputs: Values) -> Values:
    """The lowest test error of XOR."""
    data = Clusters(separation=inputs["separation"], variance=inputs["variance"])
    return {"bayes_error": bayes_error(data, 1000)}


@eqx.filter_jit
def _averages(m: ClusterModel, state: Overlaps, finite: bool) -> tuple[Driving, Judged]:
    return driving(m, state, _FINE, finite=finite), judged(m, state, None, _FINE)


def _moved(m: ClusterModel, found: Driving) -> dict[str, jax.Array]:
    """The right-hand side without decay."""
    H, PsiM = found.D[:, : m.width], found.D[:, m.width :]
    return {"dQ": H + H.T + m.gamma / (m.width * m.batch) * found.Var, "dM": PsiM}


def _model(inputs: Values) -> ClusterModel:
    mixture, p = inputs["mixture"], len(inputs["Q"])
    loss, clip = inputs["loss"], inputs.get("norm_clip")
    own = dict(loss) if isinstance(loss, dict) else {"kind": loss}
    error = own.pop("clip", None)
    written = own if len(own) > 1 else own["kind"]
    clipped = {"norm": clip} if clip else {"error": error} if error else "none"
    names = {"weights": "weights", "means": "means", "variances": "variances", "classes": "labels"}
    trains = inputs.get("train_a", True) and inputs.get("eta_a", 0.0) > 0
    return cluster_model(
        OnePassProblem(
            dimension=inputs.get("d", 1000),
            data=Clusters(
                **{name: mixture[key] for name, key in names.items()},
                overlap=np.asarray(inputs["P"], dtype=float).tolist(),
                flip=inputs["labels"].get("flip", 0.0),
            ),
            network=TwoLayer(
                width=p,
                activation=inputs["activation"],
                trained=("first-layer", "second-layer") if trains else ("first-layer",),
            ),
            training=OnePass(
                learning_rate=inputs["gamma"],
                batch=inputs["nb"],
                second_layer_rate=inputs.get("eta_a", 0.0),
                loss=written,
                clip=clipped,
            ),
        )
    )


def _state(inputs: Values) -> Overlaps:
    return Overlaps(*(jnp.asarray(inputs[name], dtype=float) for name in ("Q", "M", "a")))
