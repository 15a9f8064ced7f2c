"""Wide networks: the mean-field limit (p to infinity at finite d) and the dimensionless one (d and p to infinity).

docs/theory/committee.md, section 5. The state is one particle (m_i, q_i, a_i) per unit: its overlaps with the teacher and
the squared norm of the rest. Conventions are the canonical ones. The step noise has weight gamma/p, which vanishes, so
batch, label noise and learning rate do not appear: where the width is small this is visibly wrong, and the comparison
shows it. `self_term` keeps the interaction of a unit with itself, of order 1/p: with it the risk of the start is right,
without it (the reading as a density mu(m, q)) late risks are better.
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from dimfree.description import Cost, Description
from dimfree.functions.model import Model, model, second_layer
from dimfree.gaussian.closure import (
    ClosureTerms,
    Particles,
    dimensionless_terms,
    mean_field_terms,
    truncation,
    uses_series,
)
from dimfree.gaussian.overlaps import factor
from dimfree.gaussian.series import series_size
from dimfree.gaussian.start import Start
from dimfree.gaussian.two_point import two_point_seconds
from dimfree.problem import GaussianStart, Problem, SphereStart

_BLOW_UP = 1e6  # overlaps beyond this never come back
_PAIRS = 3000  # largest width at which all pairs fit into memory
_CUT_OFF = 1e-6  # largest term that the series of the dimensionless limit may leave out


class ParticleFlow(eqx.Module):
    """The particles at a time, whether the solver got there, whether it stopped at a singularity, what was cut off."""

    particles: Particles
    time: Float[Array, ""]
    alive: Bool[Array, ""]
    diverged: Bool[Array, ""]
    cut_off: Float[Array, ""]


class WideFlow(Description):
    """Adaptive integration of equation (5.2)."""

    self_term: bool = True
    rtol: float = 1e-8
    atol: float = 1e-10
    chunk: ClassVar[int] = 16

    @abstractmethod
    def terms(self, model: Model, state: Particles) -> ClosureTerms:
        """Right-hand sides without decay and schedule, and the risk."""

    @abstractmethod
    def seconds(self, problem: Problem) -> float:
        """What one evaluation of the right-hand side costs."""

    def cut_off(self, model: Model, state: Particles) -> Float[Array, ""]:
        """The size of the terms that the right-hand side leaves out."""
        return jnp.zeros(())

    def refuses(self, problem: Problem) -> str | None:
        """The closure is derived for free norms."""
        if problem.training.spherical:
            return (
                "the closure of wide networks is derived for weights whose norms are free, not for weights kept on a sphere; "
                "set training.spherical = false, or use ode."
            )
        return None

    def cost(self, problem: Problem) -> Cost:
        """Evaluations of the right-hand side; their number is a guess from typical runs."""
        p, evaluations = problem.network.width, 7 * (60 + 2 * problem.run.until)
        matrices = 0.0 if self._is_linear(problem) else 8.0 * 12 * p * p
        return Cost(10.0 + evaluations * self.seconds(problem), evaluations, 4e8 + matrices + 8.0 * 500 * p)

    def begin(self, model: Model, start: Start | Particles, replicas: int, key: Key[Array, ""]) -> ParticleFlow:
        """The measured overlaps of the start: M, and the diagonal of Q - M P^-1 Mᵀ."""
        given = start if isinstance(start, Particles) else _particles(model, start)
        return ParticleFlow(given, jnp.zeros(()), jnp.asarray(True), jnp.asarray(False), self.cut_off(model, given))

    def velocity(self, model: Model, t: Float[Array, ""], state: Particles) -> Particles:
        """Equation (5.2) with the decays and schedule of (2.1)."""
        rate, terms = model.schedule(t), self.terms(model, state)
        da = rate * model.eta_a * terms.Psia - model.omega_a * state.a if model.trained else jnp.zeros_like(state.a)
        return Particles(rate * terms.PsiM - model.omega * state.M, rate * terms.Psiq - 2 * model.omega * state.q, da)

    def advance(self, model: Model, state: ParticleFlow, times: Float[Array, " t"]) -> tuple[ParticleFlow, Any]:
        """Integrate to the last time; what lies beyond a failure is not finite."""
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: self.velocity(args, jnp.asarray(t), y)),
            diffrax.Tsit5() if self.rtol > 1e-7 else diffrax.Dopri8(),
            t0=state.time,
            t1=times[-1],
            dt0=None,
            y0=state.particles,
            args=model,
            saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True))),
            stepsize_controller=self._controller(model, times[-1]),
            event=diffrax.Event(_blown_up),
            max_steps=200_000,
            throw=False,
        )
        at_times, last = solution.ys
        alive = state.alive & (solution.result == diffrax.RESULTS.successful)
        singular = (solution.result == diffrax.RESULTS.event_occurred) | (
            solution.result == diffrax.RESULTS.dt_min_reached
        )
        particles = jax.tree.map(lambda y: y[0], last)
        cut_off = jnp.maximum(state.cut_off, self.cut_off(model, particles))
        flow = ParticleFlow(particles, solution.ts[1][0], alive, state.diverged | singular, cut_off)
        return flow, jax.tree.map(lambda y: y[:, None], at_times)

    def observe(self, model: Model, overlaps: Any) -> dict[str, Float[Array, "t r ..."]]:
        """Q itself is not known to this limit, and would not fit: its diagonal C_ii + q_i is given."""
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), overlaps)
        risks = jax.lax.map(lambda state: self.terms(model, state).risk, flat).reshape(overlaps.a.shape[:2])
        norms = overlaps.norms(model.target.P)
        return {"risk": risks, "M": overlaps.M, "Q_diagonal": norms, "a": overlaps.a}

    def failure(self, model: Model, state: ParticleFlow) -> str | None:
        """Where the equations blew up, the solver gave up, or the series lost its accuracy, and what to try."""
        t, gamma = float(state.time), float(model.gamma)
        if state.diverged:
            return (
                f"the {self.name} limit diverges at t = {t:.3g} with learning rate {gamma:g}; "
                "stop earlier with run.until, or choose a bounded activation."
            )
        if not state.alive:
            return (
                f"the {self.name} limit could not be integrated past t = {t:.3g} within its tolerance "
                f"(rtol = {self.rtol:g}); raise rtol, or stop earlier with run.until."
            )
        if state.cut_off > _CUT_OFF:
            return (
                f"the {self.name} limit leaves out terms of size {float(state.cut_off):.1g} by t = {t:.3g}: students of width "
                f"{model.width} are too long or too close to the teacher's span for its series; stop earlier with run.until."
            )
        return None

    def _is_linear(self, problem: Problem) -> bool:
        return False

    def _controller(self, model: Model, until: Float[Array, ""]) -> diffrax.AbstractStepSizeController[Any, Any]:
        controller = diffrax.PIDController(rtol=self.rtol, atol=self.atol, dtmin=1e-13 * until, force_dtmin=False)
        jumps = model.schedule.jumps
        return diffrax.ClipStepSizeController(controller, jump_ts=jnp.asarray(jumps)) if jumps else controller


class MeanField(WideFlow):
    """p to infinity at finite d: pairs of units meet at a random angle, averaged with a Gauss-Jacobi rule of `nodes` nodes."""

    name: ClassVar[str] = "mean-field"
    summary: ClassVar[str] = "infinitely wide network at finite dimension: one particle per unit, no step noise"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023high",)
    nodes: int = 24

    def refuses(self, problem: Problem) -> str | None:
        """A direction orthogonal to the teacher must exist, and all pairs must fit into memory."""
        if problem.dimension <= problem.data.units:
            return (
                f"dimension {problem.dimension} leaves no direction orthogonal to the {problem.data.units} teacher units; "
                f"raise dimension to at least {problem.data.units + 1}."
            )
        if problem.network.width > _PAIRS:
            return (
                f"all pairs of {problem.network.width} units do not fit into memory; use dimensionless, which is linear in the "
                f"width, or lower network.width to {_PAIRS}."
            )
        return super().refuses(problem)

    def terms(self, model: Model, state: Particles) -> ClosureTerms:
        """Equation (5.2) with the average over Xi."""
        return mean_field_terms(model, state, self.self_term, self.nodes)

    def seconds(self, problem: Problem) -> float:
        """All pairs, at every node of the angle."""
        m = model(problem)
        return 3e-5 + self.nodes * m.width**2 * two_point_seconds(m.activation)


class Dimensionless(WideFlow):
    """d and p to infinity: orthogonal parts do not meet, and the cost grows linearly with the width."""

    name: ClassVar[str] = "dimensionless"
    summary: ClassVar[str] = "infinite width and dimension: one particle per unit, cost linear in the width"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023high",)

    def refuses(self, problem: Problem) -> str | None:
        """The O(p) series needs few teacher directions; all pairs need a moderate width."""
        k, p = problem.data.units, problem.network.width
        if p > _PAIRS and not self._is_linear(problem):
            return (
                f"{k} teacher units are too many for the series that makes width {p} possible; "
                f"lower data.units, or network.width to {_PAIRS}, where all pairs are used."
            )
        return super().refuses(problem)

    def terms(self, model: Model, state: Particles) -> ClosureTerms:
        """Equation (5.2) with xi = 0 between units."""
        return dimensionless_terms(model, state, self.self_term)

    def seconds(self, problem: Problem) -> float:
        """Linear in the width, unless k is too large for the series."""
        m = model(problem)
        if self._is_linear(problem):
            return 1e-4 + 1e-8 * m.width * (300 + series_size(m.activation, m.units) / 10)  # a short series, mostly
        return 3e-5 + m.width**2 * two_point_seconds(m.activation)

    def cut_off(self, model: Model, state: Particles) -> Float[Array, ""]:
        """What the series leaves out."""
        return truncation(model, state)

    def _is_linear(self, problem: Problem) -> bool:
        m = model(problem)
        return uses_series(m.activation, m.units, m.width)


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


def draw_particles(problem: Problem, key: Key[Array, ""]) -> Particles:
    """A Gaussian or spherical start as particles from their exact law, without the p x p overlaps of a `Start`."""
    start = problem.start
    if not isinstance(start, GaussianStart | SphereStart):
        raise TypeError(f"a start of kind {start.kind!r} is given, not drawn; pass its overlaps to begin.")
    p, k, d = problem.network.width, problem.data.units, problem.dimension
    along_key, rest_key = jax.random.split(key)
    along = jax.random.normal(along_key, (p, k))
    rest = jax.random.chisquare(rest_key, d - k, (p,))
    norms = (jnp.sum(along**2, axis=1) + rest) / d if isinstance(start, SphereStart) else jnp.ones(p)
    scale = start.scale / jnp.sqrt(norms * d)
    M = scale[:, None] * along @ factor(jnp.asarray(problem.teacher_overlap), k).T
    return Particles(M, scale**2 * rest, second_layer(problem))


def _particles(model: Model, start: Start) -> Particles:
    measured = start.overlaps
    bare = Particles(measured.M, jnp.zeros(model.width), measured.a)
    q = jnp.maximum(jnp.diagonal(measured.Q) - bare.norms(model.target.P), 0.0)  # rounding may leave it below zero
    return Particles(measured.M, q, measured.a)


def _blown_up(t: Any, y: Particles, args: Any, **_: Any) -> Bool[Array, ""]:
    size = jnp.maximum(jnp.max(jnp.abs(y.M)), jnp.max(jnp.abs(y.q)))
    return ~(size < _BLOW_UP)
