"""Where full-batch training ends: the minimum of a convex cost (docs/theory/dmft.md, section 6, and docs/theory/static.md).

For two clusters the cost is sum Lambda + (lambda/2ab)|w|². With b = 1 this is the end of gradient descent at any stable step;
vanilla SGD with the square loss moves around the same point. Teachers and covariates are learning curves.
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.dataset.dataset_model import DataSetModel, in_words
from dimfree.dataset.ends.diagnosis import misfits
from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.solve import SETTLED, solved
from dimfree.dataset.ends.task import Task
from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.dataset.spectrum import resolvent
from dimfree.description import Cost, Stationary, Values
from dimfree.errors import DimfreeError, DivergenceError, RefusalError
from dimfree.functions.loss import Square
from dimfree.problem import Problem

_REACH, _PANELS, _ORDER = 10.0, 80, 20  # of integrals over a standard normal variable
_KEEP, _TOLERANCE, _ITERATIONS = 0.3, 1e-13, 20_000
_NOT_UNIQUE = "with lambda = 0 and alpha <= 1 the minimum is not unique; raise lambda or alpha."
NO_DESCENT = (
    "training ends at the minimum with the full batch and without noise only; "
    "set training.batch_fraction = 1 and training.temperature = 0."
)


_LAST: list[tuple[EndModel, Mapping[str, Float[Array, ""]]]] = []  # the last model that was solved, and its minimum


class StaticLimit(NamedTuple):
    """The minimum; V is the response of the weights to a constant field."""

    m: Float[Array, ""]
    C: Float[Array, ""]
    V: Float[Array, ""]
    train_loss: Float[Array, ""]
    generalisation_error: Float[Array, ""]


class Static(Stationary[EndModel, None]):
    """The account of where training with the full batch ends."""

    name: ClassVar[str] = "static"
    summary: ClassVar[str] = "where full-batch training ends: the minimum of the cost in infinite dimension"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020", "aubin2020", "loureiro2021")
    models: ClassVar[type[EndModel]] = EndModel

    def refuses(self, problem: Problem, model: EndModel) -> str | None:
        """Refuse mini-batches and temperature, which move around the minimum, and minima that are not known or do not exist."""
        if not model.descends:
            return NO_DESCENT
        try:
            with in_words():
                self.solve(model)
        except DimfreeError as failure:
            return str(failure)
        return None

    def cost(self, problem: Problem, model: EndModel) -> Cost:
        """The cost is that of a fixed point of three numbers."""
        return Cost(1.5, 1, 0.0)

    def accuracy(self, problem: Problem, model: EndModel) -> float:
        """Allow for the fluctuations of one data set in the dimension of the simulation."""
        return float(problem.dimension) ** -0.5

    def leaves_open(self, problem: Problem, model: EndModel) -> str:
        """The dimension."""
        return f"at dimension {problem.dimension:,}"

    def warns(self, problem: Problem, model: EndModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Say which assumptions of the theory the data violate."""
        return misfits(model)

    def solve(self, model: EndModel) -> Mapping[str, Float[Array, ""]]:
        """The minimum; of the model that was solved last it is remembered, because `refuses` has solved it before."""
        for known, end in _LAST:
            if known is model:
                return end
        found = self._solved(model)
        if not any(isinstance(x, jax.core.Tracer) for x in found.values()):
            _LAST[:] = [(model, found)]
        return found

    def _solved(self, model: EndModel) -> Mapping[str, Float[Array, ""]]:
        if model.task is not None:
            return _learned(model.task)
        if not isinstance(model, DataSetModel):
            raise RefusalError("no theory says where training on the sphere ends; set spherical = false.")
        end = static_limit(model.limit)
        return {"risk": end.generalisation_error, "m": end.m, "norm": end.C, "train_loss": end.train_loss}


def _learned(task: Task) -> Mapping[str, Float[Array, ""]]:
    """The end of a learning curve."""
    if task.loss.of_residual and float(task.lambda_) == 0 and float(task.alpha) <= 1:
        raise RefusalError(_NOT_UNIQUE)
    end = solved(task)
    if not float(end.left) <= SETTLED:
        way_out = (
            "raise lambda, or ask 'max-margin' where there is none: separable data have no minimum then."
            if task.labels == "sign"
            else "raise lambda or label_noise: without them weights may fit most labels exactly."
        )
        raise DivergenceError(f"the equations did not settle at lambda = {float(task.lambda_):g}; {way_out}")
    found = {"risk": end.risk, "m": end.m, "norm": end.norm, "train_loss": end.train_loss}
    return found | ({"train_accuracy": end.train_accuracy} if task.labels == "sign" else {})


class _State(NamedTuple):
    m: Float[Array, ""]
    C: Float[Array, ""]
    V: Float[Array, ""]


def static_limit(model: MultiPassModel) -> StaticLimit:
    """The minimum for two clusters: in closed form for the square loss, else by the fixed point (E1)-(E4)."""
    if model.task != "two-clusters" or model.spherical:
        raise RefusalError(
            "the static limit is for two clusters without the sphere; use two-clusters, spherical = false."
        )
    if isinstance(model.loss, Square):
        if float(model.lambda_) == 0 and float(model.alpha) <= 1:
            raise RefusalError(_NOT_UNIQUE)
        return ridge(model)
    limit, change = fixed_point(model)
    if not float(change) <= _TOLERANCE:
        raise DivergenceError(
            f"the static equations did not settle at lambda = {float(model.lambda_):g}; raise lambda: without it, "
            "separable data have no minimum."
        )
    return limit


def ridge(model: MultiPassModel) -> StaticLimit:
    """The square loss in closed form."""
    alpha, Delta = model.alpha, model.Delta
    V = jnp.real(resolvent(model, -_regularisation(model) + 0j))
    m = alpha * V / (1 + Delta * V + alpha * V)
    phi = alpha * Delta * V**2 / (1 + Delta * V) ** 2
    C = (m**2 + phi * (1 - m) ** 2) / (1 - Delta * phi)
    A = ((1 - m) ** 2 + Delta * C) / (1 + Delta * V) ** 2
    return StaticLimit(m, C, V, A / 2, model.generalisation_error(m, C))


@eqx.filter_jit
def fixed_point(model: MultiPassModel) -> tuple[StaticLimit, Float[Array, ""]]:
    """Damped iteration of (E2)-(E4) for any convex loss, and the last relative change."""

    def step(carry: tuple[_State, Array, Array]) -> tuple[_State, Array, Array]:
        old, _, count = carry
        new = jax.tree.map(lambda x, y: _KEEP * x + (1 - _KEEP) * y, old, _updated(model, old))
        change = jnp.max(jnp.abs(jnp.stack(new) / jnp.stack(old) - 1))
        return new, change, count + 1

    def moving(carry: tuple[_State, Array, Array]) -> Array:
        return (carry[1] > _TOLERANCE) & (carry[2] < _ITERATIONS)

    one = jnp.ones(())
    begin = (_State(0.5 * one, one, one), jnp.inf * one, jnp.zeros((), dtype=int))
    state, change, _ = jax.lax.while_loop(moving, step, begin)
    _, weight, h = _preactivations(model, state)
    error = model.generalisation_error(state.m, state.C)
    return StaticLimit(*state, weight @ model.loss(h), error), change


def _updated(model: MultiPassModel, state: _State) -> _State:
    """The right-hand sides; <ell''/(1 + Delta V ell'')> of (E2) by Stein's lemma, which no kink disturbs."""
    g, weight, h = _preactivations(model, state)
    force = model.loss.derivative(h)
    if not model.loss.smooth:  # at the kink only the proximal map knows the subgradient
        force = (state.m + jnp.sqrt(model.Delta * state.C) * g - h) / (model.Delta * state.V)
    stiffness = weight @ (g * force) / jnp.sqrt(model.Delta * state.C)
    V = 1 / (_regularisation(model) + model.alpha * model.Delta * stiffness)
    m = -model.alpha * V * weight @ force
    return _State(m, m**2 + model.alpha * model.Delta * V**2 * weight @ force**2, V)


def _preactivations(
    model: MultiPassModel, state: _State
) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
    """Nodes g of a standard normal, their weights, and h(g) of (E1); the panels end where h bends."""
    spread, V = jnp.sqrt(model.Delta * state.C), model.Delta * state.V
    kinks = [jnp.clip((kink - state.m) / spread, -_REACH, _REACH) for kink in model.loss.prox_kinks(V)]
    ends = jnp.stack([jnp.asarray(-_REACH), *kinks, jnp.asarray(_REACH)])
    panels = ends[:-1, None] + jnp.diff(ends)[:, None] * jnp.arange(_PANELS) / _PANELS
    x, w = (jnp.asarray(values) for values in np.polynomial.legendre.leggauss(_ORDER))
    half = jnp.diff(ends)[:, None, None] / (2 * _PANELS)
    g = (panels[..., None] + half * (1 + x)).ravel()
    weight = (half * w * jnp.ones_like(panels)[..., None]).ravel() * jnp.exp(-0.5 * g**2) / np.sqrt(2 * np.pi)
    return g, weight, model.loss.prox(state.m + spread * g, V)


def _regularisation(model: MultiPassModel) -> Float[Array, ""]:
    return model.lambda_ / (model.gradient_scale * model.b)
