"""The high-dimensional limit: ODEs for the overlaps (d to infinity at fixed width; docs/theory/committee.md, section 2).

The canonical convention is the one of this limit, so there is nothing to convert. Its reductions are coefficients of the
same equations: without the variance term it is gradient flow on the population risk, which is also the classical limit
of a vanishing learning rate at fixed d and p.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Cost, Dynamics, Observed, Values
from dimfree.functions.activation import Erf, PiecewiseLinear, Polynomial
from dimfree.gaussian.moments import GradientTerms
from dimfree.onepass.inputs.quadrature import MOST_LEVELS, reduction_cost
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.limits.caution import (
    APART,
    exposure,
    large_eigenvalue,
    risk_apart,
    too_few_dimensions,
)
from dimfree.onepass.limits.exactness import average_details, inexact_averages, inexact_kernels, inexact_variance
from dimfree.onepass.limits.integration import Equations
from dimfree.onepass.limits.mean_step import mean_growth
from dimfree.onepass.limits.momentum import A_RATE, MomentumEquations
from dimfree.onepass.limits.scope import infinite_mean, infinite_variance
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start
from dimfree.problem import Problem
from dimfree.programs.compiled import quick_program
from dimfree.states.overlaps import Overlaps

_MOST_VECTORS = 200_000  # nodes are found for at most this many distinct eigenvalues


class OverlapEquations(Equations[DirectionsModel, Overlaps]):
    """Adaptive integration of the overlap equations (2.1), spherical version (2.2)."""

    models: ClassVar[type[DirectionsModel]] = DirectionsModel  # type: ignore[type-abstract]  # both of them
    any_loss: ClassVar[bool] = True
    variance_on: eqx.AbstractClassVar[bool]

    def cost(self, problem: Problem, model: DirectionsModel) -> Cost:
        """Evaluations of the right-hand side; their number is a guess from typical runs."""
        m, n = model, model.width + model.units
        evaluations = 7 * (150 + 2 * problem.run.until)
        per_call = m.seconds(variance_on=self.variance_on)
        levels, blocks = model.levels, 0
        if levels is not None:  # linear equations for every block, and steps that the largest eigenvalue bounds
            blocks = levels.s.size if levels.s.size <= MOST_LEVELS else 20 * n
            per_call += 4e-9 * blocks * n**3
            fastest = float(np.asarray(levels.s).max()) + (
                float(m.theta) if m.momentum and float(m.theta) < A_RATE else 0.0
            )
            evaluations += 3 * problem.run.until * fastest
        nodes = (0.0, 0.0)
        if levels is not None and levels.s.size > MOST_LEVELS:  # the nodes are found before the first evaluation
            nodes = reduction_cost(float(np.asarray(levels.s).max()), n, problem.dimension, problem.run.until)
        seconds, memory = compiling(m) + evaluations * per_call, 8.0 * 20 * n * n * (1 + blocks)
        return Cost(seconds + nodes[0], evaluations, memory + nodes[1])

    def accuracy(self, problem: Problem, model: DirectionsModel) -> float:
        """The fluctuations of SGD."""
        return model.fluctuation

    def leaves_open(self, problem: Problem, model: DirectionsModel) -> str:
        """The accuracy depends on the dimension."""
        return f"at dimension {problem.dimension:,}"

    def warns(self, problem: Problem, model: DirectionsModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """The warnings of all equations, too few dimensions for the overlaps, and averages that are not exact."""
        variances, taught = np.diagonal(seen["Q"], axis1=-2, axis2=-1), model.taught
        return (
            *super().warns(problem, model, seen),
            *too_few_dimensions(model),
            *model.cautions(),
            *(inexact_kernels(taught, variances, problem.times) if taught and taught.plain else ()),
            *(inexact_variance(taught, seen, problem.times) if taught and taught.plain and self.variance_on else ()),
            *inexact_averages(model, seen, problem.times),
        )

    def details(
        self, problem: Problem, model: DirectionsModel, seen: Mapping[str, Values]
    ) -> Mapping[str, str | int | float]:
        """How averages of other losses are computed."""
        return average_details(model, seen, problem.times)

    def refuses(self, problem: Problem, model: DirectionsModel) -> str | None:
        """Refuse very many eigenvalues whose vectors, from which nodes are found, do not fit into memory."""
        if model.levels is not None and model.levels.s.size > _MOST_VECTORS:
            return (
                f"the covariance has {model.levels.s.size} distinct eigenvalues, and nodes that stand for them are found for at "
                f"most {_MOST_VECTORS}; round the eigenvalues, or lower dimension."
            )
        return super().refuses(problem, model)

    def initial(self, model: DirectionsModel, start: Start) -> Overlaps:
        """The measured overlaps."""
        return start.overlaps

    def fields(self, model: DirectionsModel, state: Overlaps) -> Overlaps:
        return state

    def observe(self, model: DirectionsModel, states: Overlaps) -> Observed:
        return model.observables(states)

    def size(self, state: Overlaps) -> Float[Array, ""]:
        """The largest overlap."""
        return jnp.max(jnp.abs(state.Q))

    def growth(self, model: DirectionsModel, state: Overlaps, terms: GradientTerms) -> Float[Array, "p p"]:
        """What the squares of the steps add to Q, at leading order in 1/d; zero, without computing it, if the rate vanishes."""
        weight, nothing = model.gamma / (model.width * model.batch), jnp.zeros_like(state.Q)
        if terms.Var is not None:  # which may be infinite
            return jnp.where(weight > 0, weight * terms.Var, nothing)
        return jax.lax.cond(weight > 0, lambda: weight * model.variance(state), lambda: nothing)

    def velocity(self, model: DirectionsModel, t: Float[Array, ""], state: Overlaps) -> Overlaps:
        """The right-hand side of equation (2.1)."""
        return decayed(model, state, self.drift(model, t, state))

    def drift(self, model: DirectionsModel, t: Float[Array, ""], state: Overlaps) -> Overlaps:
        """What learning does to the overlaps, before weights decay; a symmetric Q stays symmetric to the last bit.

        Projections to the sphere would let a difference between Q and Qᵀ grow wherever gradients shorten the weights.
        """
        state = state.symmetric
        rate, terms = model.schedule(t), model.terms(state)
        Phi = rate * terms.PsiGF
        if self.variance_on:
            Phi = Phi + rate**2 * self.growth(model, state, terms)
        da = rate * model.eta_a * terms.Psia if model.train_a else jnp.zeros_like(state.a)
        dM = rate * terms.PsiM
        if not model.spherical:
            return Overlaps(Phi, dM, da)
        shrink = jnp.diagonal(Phi) / (2 * jnp.diagonal(state.Q))
        return Overlaps(Phi - (shrink[:, None] + shrink) * state.Q, dM - shrink[:, None] * state.M, da)


def decayed(model: DirectionsModel, state: Overlaps, drift: Overlaps) -> Overlaps:
    """The drift with weight decay, which a projection to the sphere undoes for the first layer."""
    da = drift.a - model.omega_a * state.a if model.train_a else drift.a
    if model.spherical:
        return Overlaps(drift.Q, drift.M, da)
    return Overlaps(drift.Q - 2 * model.omega * state.Q, drift.M - model.omega * state.M, da)


class HighDimensional(OverlapEquations):
    """The full equations of Saad and Solla, with the variance term of weight gamma/(p batch)."""

    name: ClassVar[str] = "ode"
    summary: ClassVar[str] = "high-dimensional limit: ODEs for the overlaps, variance of the steps included"
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "goldt2019", "veiga2022")
    variance_on: ClassVar[bool] = True

    def refuses(self, problem: Problem, model: DirectionsModel) -> str | None:
        """Refuse steps that are not small, by their noise or by their mean (docs/theory/committee.md, section 4)."""
        assert isinstance(problem, OnePassProblem)
        if model.taught is not None and (why := infinite_variance(problem, model.taught)):
            return why
        rate, p, d, batch = float(model.effective_rate), model.width, problem.dimension, model.batch
        # a step adds (rate/p)²/(d batch) to the norms by its noise, and rate/(p d) by its mean
        largest = p * min((d * batch) ** 0.5, float(d))
        if rate < largest:
            return super().refuses(problem, model)
        bound = "sqrt(dimension * batch)" if batch < d else "dimension"
        more = ", or raise training.batch" if batch < d else ""
        return (
            f"one step is as large as the network: learning_rate/width = {float(model.gamma) / p:.3g} is not below "
            f"{'(1 - momentum) * ' if rate > float(model.gamma) else ''}{bound}, so no deterministic limit exists; lower "
            f"training.learning_rate below {largest * float(model.gamma) / rate:.3g}{more}."
        )

    def twin(self, model: DirectionsModel) -> tuple[Dynamics[Any, Start, Any], DirectionsModel]:
        """Name the equations for every eigenvalue on structured inputs, and with momentum."""
        return _program(self, model, variance_on=True)

    def warns(self, problem: Problem, model: DirectionsModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Warn near the edge of stability, where terms of order 1/d matter: they are computed to see it (docs/choose.md)."""
        if model.levels is not None:  # these terms are not worked out here, but the size of steps is known
            return (*super().warns(problem, model, seen), *large_eigenvalue(model.levels))
        return (*super().warns(problem, model, seen), *_corrected(problem, model, seen))


class _WithNextOrder(HighDimensional):
    """The same with all of the mean step at finite d, equation (1.5); for free norms."""

    rtol: float = 1e-6
    atol: float = 1e-8

    def twin(self, model: DirectionsModel) -> tuple[Dynamics[Any, Start, Any], DirectionsModel]:
        """Run its own program: that of the parent class does not have the terms of order 1/d."""
        return self, model

    def growth(self, model: DirectionsModel, state: Overlaps, terms: GradientTerms) -> Float[Array, "p p"]:
        """The growth of Q, with the terms of order 1/d."""
        return mean_growth(model, state, terms.J)


def compiling(model: DirectionsModel) -> float:
    """CPU seconds to compile a program of these equations, and the one that computes their warnings."""
    match model.activation:
        case Erf() | Polynomial():
            return 5.0
        case PiecewiseLinear():
            return 9.0
        case _:
            return 6.0


@quick_program
def _next_order(model: DirectionsModel, start: Start, times: Float[Array, " t"]) -> Observed:
    return _WithNextOrder().run(model, start, times, jax.random.key(0))


def _corrected(problem: Problem, model: DirectionsModel, seen: Mapping[str, Values]) -> Iterator[str]:
    """Solve once more where the order 1/d could matter; on a sphere norms cannot run away."""
    times = problem.times
    taught = model.taught
    if model.spherical or taught is None or not taught.plain or exposure(taught, seen, times) <= np.log(APART):
        return
    first = Overlaps(*jax.device_put([seen[name][0, 0] for name in ("Q", "M", "a")]))
    start = Start(first, None, jax.device_put(np.zeros(model.width)))
    found = _next_order(model, start, jax.device_put(times))
    yield from risk_apart(problem.dimension, seen["risk"][:, 0], np.asarray(found["risk"])[:, 0], times)


def _still(model: DirectionsModel) -> DirectionsModel:
    """The model at learning rate 0, which removes the variance term and nothing else."""
    return eqx.tree_at(lambda m: m.gamma, model, jax.device_put(0.0))


def _program(
    one: OverlapEquations, model: DirectionsModel, *, variance_on: bool
) -> tuple[Dynamics[Any, Start, Any], DirectionsModel]:
    """The program that solves the equations: of overlaps, of overlaps for every eigenvalue, or with velocities, too."""
    levels = model.levels
    if levels is None:
        return one, model
    if model.momentum and float(model.theta) < A_RATE:
        return MomentumEquations(one.rtol, one.atol, variance_on), levels.gaussian
    # momentum that forgets fast is only another rate
    rate = replace(levels.gaussian, gamma=model.effective_rate, momentum=False, nesterov=False)
    return BlockEquations(one.rtol, one.atol), rate if variance_on else _still(rate)


class GradientFlow(OverlapEquations):
    """The same equations without the variance term: gradient flow on the population risk."""

    name: ClassVar[str] = "gradient-flow"
    summary: ClassVar[str] = (
        "the same without the variance of the steps: vanishing learning rate, or many samples a step"
    )
    cites: ClassVar[tuple[str, ...]] = ("robbins1951", "veiga2022")
    variance_on: ClassVar[bool] = False

    def refuses(self, problem: Problem, model: DirectionsModel) -> str | None:
        """Refuse errors without a mean."""
        if model.taught is not None and (why := infinite_mean(model.taught)):
            return why
        return super().refuses(problem, model)

    def twin(self, model: DirectionsModel) -> tuple[Dynamics[Any, Start, Any], DirectionsModel]:
        """The full equations, in which the learning rate is the weight of the variance and nothing else."""
        if model.levels is not None:
            return _program(self, model, variance_on=False)
        return HighDimensional(self.rtol, self.atol), _still(model)
