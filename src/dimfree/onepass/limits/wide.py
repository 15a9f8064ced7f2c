"""Wide networks: the mean-field limit (p to infinity at finite d) and the dimensionless one (d and p to infinity).

docs/theory/committee.md, section 5. The state is one particle (m_i, q_i, a_i) per unit: its overlaps with the teacher and
the squared norm of the rest. Conventions are the canonical ones. The step noise has weight gamma/p, which vanishes, so
batch, label noise and learning rate do not appear: where the width is small this is visibly wrong, and the comparison
shows it. `self_term` keeps the interaction of a unit with itself, of order 1/p: with it the risk of the start is right,
without it (the reading as a density mu(m, q)) late risks are better.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Cost, Dynamics, Observed, Values
from dimfree.gaussian.closure import (
    ClosureTerms,
    dimensionless_terms,
    mean_field_terms,
    truncation,
    uses_series,
)
from dimfree.gaussian.components import has_components, link_coefficients, particle_components
from dimfree.gaussian.even_orders import cosine_moments
from dimfree.gaussian.series import series_size
from dimfree.gaussian.two_point.ladder import two_point_seconds
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.limits.exactness import inexact_kernels
from dimfree.onepass.limits.integration import Equations, Integrated, implicit_steps
from dimfree.onepass.limits.wide_blocks import WideBlocks, without_blocks
from dimfree.onepass.start import Start
from dimfree.problem import Problem
from dimfree.programs.compiled import brief_program
from dimfree.states.particles import MOST_PAIRS, Particles, particles

_NARROW = 8  # up to this width, averages over all pairs and angles take microseconds
_INFINITE = 1e32  # a dimension so large that random directions are orthogonal up to rounding
_CUT_OFF = 1e-6  # the largest term that the series of the dimensionless limit may leave out


class WideNetwork(Equations[TargetModel, Particles]):
    """Adaptive integration of equation (5.2)."""

    self_term: bool = True
    needs: ClassVar[frozenset[str]] = frozenset()

    def remedy(self, model: TargetModel) -> str:
        """What to change when the equations blow up; they have no learning rate to lower."""
        return "stop earlier with run.until, or choose a bounded activation"

    @abstractmethod
    def terms(self, model: TargetModel, state: Particles) -> ClosureTerms:
        """Right-hand sides without decay and schedule, and the risk."""

    @abstractmethod
    def seconds(self, model: TargetModel) -> float:
        """Predict the cost of one evaluation of the right-hand side."""

    def cut_off(self, model: TargetModel, state: Particles) -> float:
        """The size of the terms that the right-hand side leaves out."""
        return 0.0

    @abstractmethod
    def angles(self, model: TargetModel, count: int) -> Float[Array, " count"]:
        """Even moments of the cosine between parts of two units that are orthogonal to the teacher."""

    def cost(self, problem: Problem, model: TargetModel) -> Cost:
        """Evaluations of the right-hand side; their number is a guess from typical runs."""
        p, evaluations = model.width, 7 * (60 + 2 * problem.run.until)
        memory = 1e5 * p if self._is_linear(model) else 8.0 * 12 * p * p
        return Cost(4.0 + evaluations * self.seconds(model), evaluations, memory)

    def accuracy(self, problem: Problem, model: TargetModel) -> float:
        """Allow for finite width, and for the fluctuations of SGD."""
        return 1 / model.width + model.fluctuation

    def leaves_open(self, problem: Problem, model: TargetModel) -> str:
        """The accuracy depends on the width."""
        return f"at width {model.width}"

    def warns(self, problem: Problem, model: TargetModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """The warnings of all equations, and averages that are not exact."""
        inexact = inexact_kernels(model, seen["Q_diagonal"], problem.times)
        return (*super().warns(problem, model, seen), *inexact)

    def initial(self, model: TargetModel, start: Start) -> Particles:
        """The measured particles."""
        measured = start.measured
        return measured if isinstance(measured, Particles) else particles(start.overlaps, model.target.P)

    def size(self, state: Particles) -> Float[Array, ""]:
        """The largest overlap."""
        return jnp.maximum(jnp.max(jnp.abs(state.M)), jnp.max(jnp.abs(state.q)))

    def velocity(self, model: TargetModel, t: Float[Array, ""], state: Particles) -> Particles:
        """Equation (5.2) with the decays and schedule of (2.1)."""
        rate, terms = model.schedule(t), self.terms(model, state)
        da = rate * model.eta_a * terms.Psia - model.omega_a * state.a if model.train_a else jnp.zeros_like(state.a)
        dM, dq = rate * terms.PsiM, rate * terms.Psiq
        if model.spherical:  # the projection undoes decay and any change of norm, as in (2.2)
            P = model.target.P
            growth = 2 * jnp.sum(state.along(P) * Particles(dM, dq, da).along(P), axis=1) + dq
            shrink = growth / (2 * state.norms(P))
            return Particles(dM - shrink[:, None] * state.M, dq - 2 * shrink * state.q, da)
        return Particles(dM - model.omega * state.M, dq - 2 * model.omega * state.q, da)

    def observe(self, model: TargetModel, states: Particles) -> Observed:
        """Observables; this limit does not know Q, but only its diagonal C_ii + q_i."""
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), states)
        risks = jax.lax.map(lambda state: self.terms(model, state).risk, flat).reshape(states.a.shape[:2])
        norms = states.norms(model.target.P)
        seen = {"risk": risks, "M": states.M, "Q_diagonal": norms, "a": states.a}
        if not has_components(model.target):
            return seen
        moments = self.angles(model, link_coefficients(model.target).size // 2 + 1)
        parts = jax.lax.map(lambda state: particle_components(model, state, moments, self.self_term), flat)
        return seen | {"components": parts.reshape(*states.a.shape[:2], -1)}

    def failure(self, model: TargetModel, state: Integrated[Particles]) -> str | None:
        """Where the equations blew up, the solver gave up, or the series lost its accuracy, and what to try."""
        failure = super().failure(model, state)
        if failure or not isinstance(state.state, Particles):  # those for every eigenvalue use all pairs
            return failure
        left_out = self.cut_off(model, state.state)
        if left_out <= _CUT_OFF:
            return None
        return (
            f"the {self.name} limit leaves out terms of size {left_out:.1g} at t = {float(state.time):.3g}: students of width "
            f"{model.width} are too long or too close to the teacher's span for its series; stop earlier with run.until."
        )

    def _is_linear(self, model: TargetModel) -> bool:
        return False


class MeanField(WideNetwork):
    """p to infinity at finite d: pairs of units meet at a random angle, averaged with a Gauss-Jacobi rule of `nodes` nodes."""

    name: ClassVar[str] = "mean-field"
    summary: ClassVar[str] = "infinitely wide network at finite dimension: one particle per unit, no step noise"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023high",)
    nodes: int = 24

    def refuses(self, problem: Problem, model: TargetModel) -> str | None:
        """A direction orthogonal to the teacher must exist, and all pairs must fit into memory."""
        if problem.dimension <= model.units:
            return (
                f"dimension {problem.dimension} leaves no direction orthogonal to the {model.units} teacher units; "
                f"raise dimension to at least {model.units + 1}."
            )
        if model.width > MOST_PAIRS:
            return (
                f"all pairs of {model.width} units do not fit into memory; use dimensionless, which is linear in the "
                f"width, or lower network.width to {MOST_PAIRS}."
            )
        return super().refuses(problem, model)

    def terms(self, model: TargetModel, state: Particles) -> ClosureTerms:
        """Equation (5.2) with the average over Xi."""
        return mean_field_terms(model, state, self.self_term, self.nodes)

    def angles(self, model: TargetModel, count: int) -> Float[Array, " count"]:
        """Moments of the cosine of two random directions."""
        return cosine_moments(model.dimension - model.units, count)

    def seconds(self, model: TargetModel) -> float:
        """Count all pairs, at every node of the angle."""
        m = model
        return 3e-5 + 0.4 * self.nodes * m.width**2 * two_point_seconds(m.activation)


class Dimensionless(WideNetwork):
    """d and p to infinity: orthogonal parts do not meet, and the cost grows linearly with the width."""

    name: ClassVar[str] = "dimensionless"
    summary: ClassVar[str] = "infinite width and dimension: one particle per unit, cost linear in the width"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023high",)
    models: ClassVar[type[TargetModel]] = TargetModel  # both of them

    def refuses(self, problem: Problem, model: TargetModel) -> str | None:
        """The O(p) series needs few teacher directions; all pairs need a moderate width."""
        k, p = model.units, model.width
        if model.levels is not None:
            return without_blocks(problem, model.levels) or super().refuses(problem, model)
        if p > MOST_PAIRS and not self._is_linear(model):
            return (
                f"{k} teacher units are too many for the series that makes width {p} possible; "
                f"lower data.units, or network.width to {MOST_PAIRS}, where all pairs are used."
            )
        return super().refuses(problem, model)

    def terms(self, model: TargetModel, state: Particles) -> ClosureTerms:
        """Equation (5.2) with xi = 0 between units."""
        return dimensionless_terms(model, state, self.self_term, self._is_linear(model))

    def angles(self, model: TargetModel, count: int) -> Float[Array, " count"]:
        """Orthogonal parts do not meet: all moments but the first one are zero."""
        return jnp.zeros(count).at[0].set(1.0)

    def seconds(self, model: TargetModel) -> float:
        """Predict a cost that is linear in the width, unless k is too large for the series."""
        m = model
        if self._is_linear(model):
            return 1e-4 + 2e-8 * m.width * (300 + series_size(m.activation, m.units) / 10)  # the series is mostly short
        blocks = m.levels.s.size * m.units if m.levels is not None else 0
        return 3e-5 + m.width**2 * (two_point_seconds(m.activation) + 2e-9 * blocks)

    def cost(self, problem: Problem, model: TargetModel) -> Cost:
        """On structured inputs the largest eigenvalue bounds the steps, and the start has all pairs for every eigenvalue."""
        once = super().cost(problem, model)
        levels = model.levels
        if levels is None:
            return once
        more = 3 * problem.run.until * float(levels.s.max())
        memory = 8.0 * levels.s.size * (model.width + model.units) ** 2
        return Cost(once.seconds + more * self.seconds(model), once.steps + more, once.memory + memory)

    def cut_off(self, model: TargetModel, state: Particles) -> float:
        """The size of the terms that the series leaves out."""
        return float(_truncation(model, state)) if self._is_linear(model) else 0.0

    def twin(self, model: TargetModel) -> tuple[Dynamics[Any, Start, Any], TargetModel]:
        """Particles for every eigenvalue; or the mean-field limit at infinite dimension, while its angles cost nothing."""
        if model.levels is not None:
            return WideBlocks(self.rtol, self.atol, self.self_term), model
        if model.width > _NARROW or self._is_linear(model):
            return self, model
        infinite = eqx.tree_at(lambda m: m.dimension, model, jax.device_put(_INFINITE))
        return MeanField(self.rtol, self.atol, self.self_term), infinite

    def _is_linear(self, model: TargetModel) -> bool:
        m = model
        if m.levels is not None:
            return False
        implicit = implicit_steps(model, m.width * (m.units + 2))
        return uses_series(m.activation, m.units, m.width) and not implicit


_truncation = brief_program(truncation)


class Density(NamedTuple):
    """The particles as a density mu(m, q): for every time and teacher the mass in cells of (m_r, q), on common edges."""

    m_edges: Float[np.ndarray, " bm"]
    q_edges: Float[np.ndarray, " bq"]
    mass: Float[np.ndarray, "t k m q"]


def density(M: Float[Any, "t p k"], q: Float[Any, "t p"], bins: int = 40) -> Density:
    """Snapshots of mu_t (section 5, PDE reading), ready to be animated: the mass of every snapshot is one."""
    M, q = np.asarray(M), np.asarray(q)
    m_edges, q_edges = (np.histogram_bin_edges(values, bins) for values in (M, q))
    mass = [
        [np.histogram2d(m, q_t, bins=(m_edges, q_edges))[0] / len(q_t) for m in M_t.T]
        for M_t, q_t in zip(M, q, strict=True)
    ]
    return Density(m_edges, q_edges, np.array(mass))
