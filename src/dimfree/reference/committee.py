"""Adapters for committee-machine items: the inputs of a reference item, turned into dimfree's answer."""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.description import Dynamics
from dimfree.functions import activation
from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.two_point.ladder import two_point
from dimfree.gaussian.variance.ladder import variance
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.mean_step import mean_step
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.start import Start
from dimfree.problem.network import Part
from dimfree.states.overlaps import Overlaps

Values = dict[str, Any]
_REPLICAS = 40_000
M = TypeVar("M", bound=OnePassModel)
X = TypeVar("X")


def kernel(inputs: Values) -> Values:
    """kappa, A, B at points (q_u, c, q_w)."""
    sigma = activation(inputs["activation"])
    q_u, c, q_w = jnp.asarray(inputs["points_qu_c_qw"]).T
    return eqx.filter_jit(two_point)(sigma, sigma, q_u, c, q_w)._asdict()


def rhs_terms(inputs: Values) -> Values:
    """The separate terms of the right-hand side, and the risk."""
    m, state = _model(inputs), _state(inputs)
    terms, PsiVar = eqx.filter_jit(lambda: (gradient_terms(m, state), variance(m, state)))()
    return terms._asdict() | {"PsiVar": PsiVar}


def rhs(inputs: Values) -> Values:
    """The right-hand side with all options."""
    velocity = eqx.filter_jit(HighDimensional().velocity)(_model(inputs), jnp.zeros(()), _state(inputs))
    return {"dM": velocity.M, "dQ": velocity.Q, "da": velocity.a}


def one_step_mean(inputs: Values) -> Values:
    """The exact mean of one step."""
    step = eqx.filter_jit(mean_step)(_model(inputs), _state(inputs))
    return {"EdM": step.M, "EdQ": step.Q}


def trajectory(inputs: Values) -> Values:
    """Risk along the high-dimensional ODE, and the final state."""
    m, state = _model(inputs), _state(inputs)
    start = Start(state, None, jnp.zeros(m.width))
    observed = run(HighDimensional(rtol=1e-10, atol=1e-12), m, start, jnp.asarray(inputs["t"]))
    last = {f"{name}_final": observed[name][-1, 0] for name in ("M", "Q", "a")}
    return {"risk": observed["risk"][:, 0]} | last


def chain_moments(inputs: Values) -> Values:
    """Moments of the overlaps after a number of steps: half of the replicas on vectors, half in overlap space."""
    W, W_star, d = np.array(inputs["W0"]), np.array(inputs["Wstar"]), inputs["d"]
    overlaps = {"Q": W @ W.T / d, "M": W @ W_star.T / d, "P": W_star @ W_star.T / d}
    m = _model(inputs | overlaps)
    start = Start(_state(inputs | overlaps), jnp.asarray(np.concatenate([W, W_star])), jnp.zeros(m.width))
    times = jnp.asarray([inputs["steps"] * float(m.time_step)])
    halves = [run(VectorSGD(), m, start, times, _REPLICAS // 2), run(OverlapChain(), m, start, times, _REPLICAS // 2)]
    p = len(W)
    upper = np.triu_indices(p)
    columns = [
        np.concatenate([np.asarray(half["M"])[0, :, :, 0], np.asarray(half["Q"])[0][:, *upper]], axis=1)
        for half in halves
    ]
    return moments(np.concatenate(columns))


def moments(samples: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> Values:
    """Means and variances over replicas, with standard errors."""
    centred, count = samples - samples.mean(axis=0), len(samples)
    variance, fourth = (centred**2).mean(axis=0), (centred**4).mean(axis=0)
    return {
        "mean": samples.mean(axis=0),
        "mean_se": np.sqrt(variance / count),
        "var": variance * count / (count - 1),
        "var_se": np.sqrt((fourth - variance**2) / count),
    }


@eqx.filter_jit
def run(one: Dynamics[M, Start, X], m: M, start: Start, times: jax.Array, replicas: int = 1) -> dict[str, jax.Array]:
    """What a description observes from this start, as one program."""
    return one.run(m, start, times, jax.random.key(7), replicas)


def _model(inputs: Values) -> TeacherModel:
    name = inputs.get("activation") or inputs["s"]
    p, k = len(inputs["Q"] if "Q" in inputs else inputs["Q0"]), len(inputs["P"])
    return teacher_model(
        OnePassProblem(
            dimension=inputs.get("d", 1000),
            data=Teacher(
                units=k,
                activation=name,
                second_layer=inputs.get("astar", 1.0),
                overlap=_rows(inputs["P"]),
                noise=inputs.get("Delta", 0.0),
            ),
            network=TwoLayer(width=p, activation=name, trained=trained(inputs)),
            training=OnePass(
                learning_rate=inputs.get("gamma", 1.0),
                batch=inputs.get("nb", 1),
                second_layer_rate=inputs.get("eta_a", 0.0),
                weight_decay=inputs.get("decay", 0.0),
                second_layer_decay=inputs.get("decay_a", 0.0),
                spherical=inputs.get("spherical", False),
            ),
        )
    )


def trained(inputs: Values) -> tuple[Part, ...]:
    """Both layers where the second has a rate."""
    return ("first-layer", "second-layer") if inputs.get("eta_a") else ("first-layer",)


def _state(inputs: Values) -> Overlaps:
    Q, M = (jnp.asarray(inputs.get(name, inputs.get(f"{name}0"))) for name in ("Q", "M"))
    a = jnp.asarray(inputs.get("a", inputs.get("a0", jnp.ones(len(Q)))))
    return Overlaps(Q, M, a)


def _rows(matrix: Any) -> list[list[float]]:
    rows: list[list[float]] = np.asarray(matrix).tolist()
    return rows
