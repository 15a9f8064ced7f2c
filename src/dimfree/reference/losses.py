"""Adapters for items of any loss, label law and clipping on Gaussian inputs (docs/theory/losses.md)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from dimfree.functions.activation import Activation
from dimfree.functions.label_law import Classes, GaussianValues, LabelLaw, LogisticClasses, Signs, StudentValues
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import SampleLoss
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.gaussian.any_loss.averages import averages, error_over_noise, errors, lengthened, noise_of, sensitivity
from dimfree.gaussian.any_loss.ladder import bayes_error as lowest_error
from dimfree.gaussian.any_loss.ladder import quadrature, with_clean_labels
from dimfree.gaussian.any_loss.points import Rule
from dimfree.gaussian.any_loss.task import Task
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional, OverlapEquations
from dimfree.onepass.loss import sample_loss
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.start import Start
from dimfree.reference.committee import run
from dimfree.states.overlaps import Overlaps

Values = dict[str, Any]
_NODES = {
    1: 60,
    2: 36,
    3: 18,
    4: 10,
}  # of each panel, by how many fields are integrated: finer than a solver can afford


def loss_rhs(inputs: Values) -> Values:
    """The right-hand side, risk and test error."""
    task, state, p = _task(inputs), _state(inputs), len(inputs["a"])
    rule = _rule(task, p)
    found, seen = _averages(task, state, rule), _errors(task, state, rule)
    if isinstance(task.labels, Classes):
        clean = with_clean_labels(task)
        seen = seen._replace(clean_error=_errors(clean, state, _rule(clean, p)).clean_error)
    H = found.D[:, :p]
    dQ = H + H.T + inputs["gamma"] / (p * inputs["nb"]) * found.Var
    return {
        "dQ": dQ,
        "dM": found.D[:, p:],
        "da": inputs["eta_a"] * found.Psia,
        "risk": seen.risk,
        "test_error": seen.test_error,
        "clean_error": seen.clean_error,
    }


def loss_step_mean(inputs: Values) -> Values:
    """The exact mean of one step at finite d, equation (1.4)."""
    task, state, p = _task(inputs), _state(inputs), len(inputs["a"])
    d, n_b, gamma = inputs["d"], inputs["nb"], inputs["gamma"]
    found = _averages(task, state, _rule(task, p))
    longer = found.Var + _lengthened(task, state, Rule(_NODES[p + task.units])) / d
    H, Omega = found.D[:, :p], state.covariance(task.target.P)
    descent = found.D @ jnp.linalg.solve(Omega, found.D.T)
    growth = gamma / (p * n_b) * longer + gamma / (p * d) * (1 - 1 / n_b) * descent
    step = gamma / (p * d)
    return {"dQ": step * (H + H.T + growth), "dM": step * found.D[:, p:], "da": step * inputs["eta_a"] * found.Psia}


def loss_traj(inputs: Values) -> Values:
    """Overlaps, risk and test error along the equations."""
    m = _model(inputs)
    one: OverlapEquations = (GradientFlow if inputs.get("flow") else HighDimensional)(rtol=1e-10, atol=1e-12)
    runner, numbers = one.twin(m)
    start = Start(_state(inputs), None, jnp.zeros(m.width))
    observed = run(runner, numbers, start, jnp.asarray(inputs["times"], dtype=float))
    return {name: values[:, 0] for name, values in observed.items()}


def perceptron_curve(inputs: Values) -> Values:
    """Test error, cosine and norm of a linear unit against the number of samples per dimension."""
    gamma = inputs["gamma"]
    start = {"Q": [[inputs["Q0"]]], "M": [[inputs["M0"]]], "P": [[inputs["P"]]]}
    m = _model(inputs | start | {"labels": {"kind": "sign", "flip": inputs["flip"]}, "nb": 1, "eta_a": 1.0})
    one, times = HighDimensional(rtol=1e-13, atol=1e-16), gamma * jnp.asarray(inputs["alpha"], dtype=float)
    seen = run(one, m, Start(_state(inputs | start), None, jnp.zeros(1)), times)
    Q, M = seen["Q"][:, 0, 0, 0], seen["M"][:, 0, 0, 0]
    return {"test_error": seen["test_error"][:, 0], "rho": M / jnp.sqrt(Q * inputs["P"]), "Q": Q}


def bayes_error(inputs: Values) -> Values:
    """The lowest test error that any rule has."""
    if "mixture" in inputs:
        q = ndtr(inputs["separation"] / np.sqrt(2 * inputs["variance"]))
        return {"bayes_error": 2 * q * (1 - q)}
    variance = [[inputs["variance_of_teacher"]]]
    return {"bayes_error": lowest_error(_task(inputs | {"P": variance, "loss": "square", "activation": "linear"}))}


def robust_floor(inputs: Values) -> Values:
    """Where |w - w*|²/d of a linear unit stays, equation (4.3), and the two moments of the error there."""
    task = _task(inputs | {"P": [[1.0]]})
    noise, zero = noise_of(task), jnp.zeros(())
    kappa_1 = sensitivity(task.loss, noise)
    kappa_2 = error_over_noise(task.loss, noise, zero, zero)[1]
    guess = inputs["gamma"] * float(kappa_2) / (2 * float(kappa_1))
    velocity = lambda D: float(_velocity(task, jnp.asarray(D), jnp.asarray(inputs["gamma"])))  # noqa: E731
    D = brentq(velocity, 1e-3 * guess, 1e3 * guess, xtol=1e-14, rtol=1e-13)
    return {"D": D, "kappa1": kappa_1, "kappa2": kappa_2}


def robust_curve(inputs: Values) -> Values:
    """|w - w*|²/d against time: M = P = 1 and Q = 1 + D is one of the states with this distance."""
    start = {"Q": [[1.0 + inputs["D0"]]], "M": [[1.0]], "P": [[1.0]], "a": [1.0], "nb": 1, "eta_a": 1.0}
    m = _model(inputs | start)
    times = jnp.asarray(inputs["times"], dtype=float)
    one = HighDimensional(rtol=1e-10, atol=1e-12)
    seen = run(one, m, Start(_state(inputs | start), None, jnp.zeros(1)), times)
    return {"D": seen["Q"][:, 0, 0, 0] - 2 * seen["M"][:, 0, 0, 0] + 1}


_averages = eqx.filter_jit(averages)
_errors = eqx.filter_jit(errors)
_lengthened = eqx.filter_jit(lengthened)


@eqx.filter_jit
def _velocity(task: Task, D: jax.Array, gamma: jax.Array) -> jax.Array:
    """dD/dt at M = P = 1."""
    found = averages(task, Overlaps((1 + D)[None, None], jnp.ones((1, 1)), jnp.ones(1)), Rule(_NODES[2]))
    return 2 * found.D[0, 0] + gamma * found.Var[0, 0] - 2 * found.D[0, 1]


def _rule(task: Task, width: int) -> Rule:
    fields = quadrature(task, width).fields
    return Rule(_NODES[fields]) if fields in _NODES else quadrature(task, width).rule


def _loss(written: Any) -> SampleLoss:
    """A loss as problems write it, with the clipping that items write beside it."""
    table = {"kind": written} if isinstance(written, str) else dict(written)
    clip = table.pop("clip", None)
    training = OnePass(loss=table, clip="none" if clip is None else {"error": clip})
    return sample_loss(training, classes=True)


def _state(inputs: Values) -> Overlaps:
    return Overlaps(*(jnp.asarray(inputs[name], dtype=float) for name in ("Q", "M", "a")))


def _taught(labels: Values) -> Activation:
    return activation(labels.get("activation", "linear"))


def _task(inputs: Values) -> Task:
    labels, P = inputs["labels"], jnp.asarray(inputs["P"], dtype=float)
    k = P.shape[0]
    target: Target = Committee(_taught(labels), jnp.asarray(labels.get("astar", [1.0] * k), dtype=float), P)
    if labels.get("link") == "product":
        target = HermiteLink(((1,) * k,), jnp.ones(1), P)
    norm = inputs.get("norm_clip")
    return Task(
        activation(inputs["activation"]),
        target,
        _loss(inputs["loss"]),
        _law(labels),
        jnp.asarray(_noise(labels)),
        None if norm is None else jnp.asarray(norm, dtype=float),
    )


def _law(labels: Values) -> LabelLaw:
    match labels["kind"]:
        case "sign":
            return Signs(jnp.asarray(labels.get("flip", 0.0), dtype=float), blurred=False)
        case "probit":
            return Signs(jnp.asarray(labels.get("flip", 0.0), dtype=float), blurred=True)
        case "logistic":
            return LogisticClasses(jnp.asarray(labels["beta"], dtype=float))
        case _ if "student" in labels:
            return StudentValues(jnp.asarray(labels["student"], dtype=float))
        case _:
            return GaussianValues()


def _noise(labels: Values) -> float:
    """The variance of Gaussian noise, the squared scale of Student noise."""
    return float(labels["scale"] ** 2 if "student" in labels else labels.get("noise", 0.0))


def _model(inputs: Values) -> TargetModel:
    """The model of a problem; what an item does not say is as in its convention."""
    labels, P = inputs["labels"], np.asarray(inputs["P"], dtype=float)
    kind = {"noise": "value", "probit": "sign"}.get(labels["kind"], labels["kind"])
    written = {name: labels[name] for name in ("flip",) if labels.get(name)}
    if "beta" in labels:
        written["slope"] = labels["beta"]
    if "student" in labels:
        written["noise_law"] = {"student": labels["student"]}
    table = dict(inputs["loss"]) if isinstance(inputs["loss"], dict) else inputs["loss"]
    clip = table.pop("clip", None) if isinstance(table, dict) else None
    norm = inputs.get("norm_clip")
    clipping = {"error": clip} if clip is not None else {"norm": norm} if norm is not None else "none"
    made = model(
        OnePassProblem(
            dimension=1000,
            data=Teacher(
                units=len(P),
                activation=labels.get("activation", "linear"),
                second_layer=tuple(labels.get("astar", [1.0] * len(P))),
                overlap=P.tolist(),
                labels=kind,
                noise=_noise(labels),
                **written,
            ),
            network=TwoLayer(
                width=len(inputs["a"]),
                activation=inputs["activation"],
                trained=("first-layer", "second-layer") if inputs.get("train_a") else ("first-layer",),
            ),
            training=OnePass(
                learning_rate=inputs["gamma"],
                batch=inputs.get("nb", 1),
                second_layer_rate=inputs.get("eta_a", 1.0),
                loss=table,
                clip=clipping,
            ),
        )
    ).taught
    assert made is not None
    return made
