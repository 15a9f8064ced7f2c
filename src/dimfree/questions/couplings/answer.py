"""Five dynamics from one start, followed neuron by neuron: which step from the mean-field limit to SGD causes which error.

docs/theory/mean-field.md, section a: PDE, nonlinear dynamics (ND), particle dynamics (PD), gradient descent (GD) and SGD. Two
neighbours differ by one thing only: finite width twice (PDE-ND, ND-PD), the step (PD-GD), the noise of single samples (GD-SGD).
Risks are canonical, half of the sheet's; distances are max_i |w_i - w_i'|/sqrt(d), the sheet's. Only the start and
SGD's samples are random, and sweeps use the same samples at every width and step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Key
from rich.table import Table

from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.gaussian.moments import risk
from dimfree.gaussian.two_point.ladder import two_point_seconds
from dimfree.machine import duration
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.fields.cloud import (
    Cloud,
    NetworkField,
    Neurons,
    cloud_seconds,
    gaussian_cloud,
    gradient_descent,
    joined,
    nonlinear_dynamics,
    particle_dynamics,
    split,
)
from dimfree.onepass.limits.scope import not_derived
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.blocked import AtBlock
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.rule import second_layer
from dimfree.onepass.sections import GaussianStart
from dimfree.onepass.start import Start, draw_start
from dimfree.onepass.weights import Network
from dimfree.problem import Problem
from dimfree.programs.compiled import counted
from dimfree.questions.answer import Answer
from dimfree.questions.couplings.question import QUESTION
from dimfree.questions.question import check_count
from dimfree.results.record import price_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DYNAMICS = ("PDE", "ND", "PD", "GD", "SGD")
GAPS = tuple(f"{one}-{other}" for one, other in pairwise(DYNAMICS))
QUANTITIES = (*(f"risk {gap}" for gap in GAPS), *(f"distance {gap}" for gap in GAPS[1:]))
_CAUSES = ("neurons instead of their law", "neurons feel each other", "steps instead of a flow", "one sample a step")
_STEP = 0.05  # the Runge-Kutta step of PDE, ND and PD; its error is below 1e-7
_EVALUATIONS = 4  # how often such a step evaluates the field
_COMPILING = 10.0  # seconds


@dataclass(frozen=True, eq=False, repr=False)
class Couplings(Answer[OnePassProblem]):
    """The five dynamics of several starts: risks, and the largest distance of a neuron between neighbours."""

    times: Float[np.ndarray, " t"]
    risks: Float[np.ndarray, "5 s t"]  # in the order of DYNAMICS; PDE is the same for every start
    distances: Float[np.ndarray, "3 s t"]  # in the order of GAPS without the first: PDE has no neurons
    rise: float  # the largest rise of the risk of PDE or PD between two times: zero up to rounding

    @property
    def errors(self) -> Float[np.ndarray, "7 s t"]:
        """All errors, in the order of QUANTITIES."""
        return np.concatenate([np.abs(np.diff(self.risks, axis=0)), self.distances])

    def said(self) -> Iterator[Table]:
        """One row per step from the limit to SGD."""
        p, seeds = self.problem, self.risks.shape[1]
        table = Table(
            title=f"From the mean-field limit to SGD at t = {self.times[-1]:.3g}: width {p.network.width}, "
            f"step {p.time_step:.3g}, dimension {p.dimension}, mean of {seeds} starts",
            title_justify="left",
        )
        for heading in ("from - to", "what changes"):
            table.add_column(heading)
        for heading in ("error of the risk", "largest distance of a neuron"):
            table.add_column(heading, justify="right")
        risks, distances = (part[:, :, -1] for part in np.split(self.errors, [len(GAPS)]))
        for gap, cause, *row in zip(GAPS, _CAUSES, risks, [None, *distances], strict=True):
            table.add_row(gap, cause, *("" if values is None else _in_words(values) for values in row))
        yield table

    def values(self) -> dict[str, object]:
        """Risks and errors at the last time."""
        last = self.errors[:, :, -1]
        return {
            "until": float(self.times[-1]),
            "seeds": last.shape[1],
            "risks": dict(zip(DYNAMICS, self.risks[:, :, -1].mean(axis=1).tolist(), strict=True)),
            "errors": dict(zip(QUANTITIES, last.mean(axis=1).tolist(), strict=True)),
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """A single dataset with all dynamics."""
        everything = xr.Dataset(
            {
                "risk": (("dynamics", "seed", "time"), self.risks),
                "error": (("quantity", "seed", "time"), self.errors),
            },
            {"dynamics": list(DYNAMICS), "quantity": list(QUANTITIES), "time": self.times},
        )
        return {"couplings": everything}

    def draw(self, figure: "Figure") -> None:
        """Risks, and distances between neighbours, against time."""
        from dimfree.questions.couplings.figure import draw_couplings

        draw_couplings(self, figure)


@counted()
def couplings(
    problem: Problem | str | Path | None = None,
    until: float | None = None,
    *,
    seeds: int = 4,
    points: int = 8,
    seed: int | None = None,
    law: GaussianStart | None = None,
    sgd: VectorSGD = VectorSGD(),  # noqa: B008
    budget: float = 300.0,
) -> Couplings:
    """Run the five dynamics from SGD to its mean-field limit from the same starts, and compare neighbours.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the one of docs/couplings.md
        until, seed: instead of the problem's own
        seeds: number of starts; all five dynamics run from each
        points: number of equidistant times at which the dynamics are compared
        law: the law of a neuron at the start of the PDE; by default the law that the starts are drawn from
        sgd: the description that runs SGD, with settings of its own
        budget: CPU seconds that all may take together

    The step of GD and SGD is that of the problem, eps = learning_rate/(width * dimension).

        print(df.couplings(seeds=4).summary())
    """
    chosen = QUESTION.settled(problem, seed)
    refusal = _refusal(chosen)
    if refusal:
        raise RefusalError(refusal)
    if seeds < 1:
        raise ProblemError(f"seeds = {seeds} was given; at least one start is needed.")
    start = law or chosen.start
    assert isinstance(start, GaussianStart)
    end, eps = until or chosen.run.until, chosen.time_step
    check_count("points", points)
    steps = np.unique(np.rint(np.linspace(0, end, points + 1)[1:] / eps))
    if steps[0] < 1:
        raise ProblemError(f"until = {end:g} is too short for {points} times between steps of {eps:g}; raise until.")
    cloud = gaussian_cloud(chosen.teacher_overlap, chosen.dimension, start.scale)
    _afford(chosen, cloud, end, seeds, budget)
    keys = jax.random.split(jax.random.key(chosen.run.seed), seeds)
    starts, parts = _starts(chosen, keys)
    m, times = teacher_model(chosen), jnp.asarray(steps * eps)
    pde, rise, nd = _limit(m, cloud, starts.overlaps.a[0, 0], parts.neurons, times)
    risks, distances, rises = _networks(m, starts, parts, nd, keys, times, sgd)
    every = np.concatenate([np.broadcast_to(pde, (1, seeds, len(steps))), np.moveaxis(np.asarray(risks), 1, 0)])
    highest = max(float(rise), float(np.max(rises)))
    found = Couplings(chosen, np.asarray(times), every, np.moveaxis(np.asarray(distances), 1, 0), highest)
    if not np.isfinite(found.errors).all():
        rate = chosen.training.learning_rate
        raise DivergenceError(
            f"a dynamics diverges before t = {end:.3g} with learning rate {rate:g}; "
            f"lower training.learning_rate (try {rate / 4:.2g})."
        )
    return found


class _Parts(eqx.Module):
    """Starts in the coordinates of the mean field: the part that it moves, the directions that it does not, and the teacher."""

    neurons: Neurons
    directions: Float[Array, "*s p d"]
    teachers: Float[Array, "*s k d"]


def _starts(problem: OnePassProblem, keys: Key[Array, " s"]) -> tuple[Start, _Parts]:
    p, P = problem.network.width, jnp.asarray(problem.teacher_overlap)

    def one(key: Array) -> tuple[Start, _Parts]:
        start = draw_start(problem, jax.random.fold_in(key, 0), vectors=True)
        assert start.weights is not None
        weights, teachers = start.weights[:p], start.weights[p:]
        return start, _Parts(*split(weights, teachers, P), teachers)

    drawn: tuple[Start, _Parts] = jax.vmap(one)(keys)
    return drawn


@eqx.filter_jit
def _limit(
    model: TeacherModel, cloud: Cloud, a: Float[Array, ""], neurons: Neurons, times: Float[Array, " t"]
) -> tuple[Float[Array, " t"], Float[Array, ""], Neurons]:
    """The risk of the PDE, its largest rise, and ND; all test particles of all seeds share one cloud."""
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), neurons)
    both = nonlinear_dynamics(model, cloud, a, flat, times, _STEP)
    tests = jax.tree.map(lambda x, y: x[:, cloud.weights.size :].reshape(-1, *y.shape), both.particles, neurons)
    return both.risk, jnp.max(both.rise), tests


@eqx.filter_jit
def _networks(
    model: TeacherModel,
    starts: Start,
    parts: _Parts,
    nd: Neurons,
    keys: Key[Array, " s"],
    times: Float[Array, " t"],
    sgd: VectorSGD,
) -> tuple[Float[Array, "s 4 t"], Float[Array, "s 3 t"], Float[Array, " s"]]:
    """Risks of ND, PD, GD, SGD, the distances between neighbours, and the largest rise of PD's risk."""
    P = model.target.P

    def of_seed(start: Start, part: _Parts, tests: Neurons, key: Array) -> tuple[Array, Array, Array]:
        field = NetworkField(model, start.overlaps.a, part.teachers)
        W = joined(part.neurons, part.directions, part.teachers, P)
        pd = particle_dynamics(field, W, times, _STEP)
        nd = joined(tests, part.directions, part.teachers, P)
        samples = _sgd(sgd, model, start, jax.random.fold_in(key, 1), times)
        networks = jnp.stack([nd, pd.particles, gradient_descent(field, W, times), samples])
        risks = jax.lax.map(lambda V: risk(model, field.overlaps(V)), networks.reshape(-1, *W.shape))
        moved = jnp.linalg.norm(jnp.diff(networks, axis=0), axis=-1) / jnp.sqrt(1.0 * W.shape[1])
        return risks.reshape(networks.shape[:2]), jnp.max(moved, axis=-1), jnp.max(pd.rise)

    return jax.vmap(of_seed, in_axes=(0, 0, 1, 0))(starts, parts, nd, keys)


def _sgd(
    sgd: VectorSGD, model: TeacherModel, start: Start, key: Key[Array, ""], times: Float[Array, " t"]
) -> Float[Array, "t p d"]:
    """The weights of SGD after exactly t/eps steps: full blocks, and the beginning of the next one."""

    def to_next(now: AtBlock[Network], time: Array) -> tuple[AtBlock[Network], Array]:
        now, _ = sgd.advance(model, now, time[None])
        rest = jnp.rint(time / model.time_step).astype(int) - now.block * sgd.steps_per_block(model)
        block_key = jax.random.fold_in(now.key, now.block)
        return now, sgd.through_block(model, now.network, now.block, block_key, rest).students[0]

    return jax.lax.scan(to_next, sgd.begin(model, start, 1, key), times)[1]


def _refusal(problem: OnePassProblem) -> str | None:
    """Why the five dynamics are not defined: neurons need one rotation-invariant law, which only the gradient moves."""
    training, k, d = problem.training, problem.data.units, problem.dimension
    if not isinstance(problem.start, GaussianStart):
        return f"the start is of kind {problem.start.kind!r}; the cloud of the PDE is that of a Gaussian start."
    if problem.network.second_layer == "trained" or np.ptp(np.asarray(second_layer(problem))) > 0:
        return "the coupled dynamics move the first layer only; fix the second layer, equal for all neurons."
    if training.spherical or training.weight_decay or training.schedule is not None:
        return "the coupled dynamics follow the plain gradient; use no sphere, no weight decay and no schedule."
    if k > 2 or d < k + 2:
        return f"{k} teacher directions in dimension {d} were given; the cloud needs at most 2, and 2 dimensions more."
    reason = not_derived(teacher_model(problem))
    return f"the coupled dynamics refuse: {reason}" if reason else None


def _afford(problem: OnePassProblem, cloud: Cloud, end: float, seeds: int, budget: float) -> None:
    """Refuse before anything runs: evaluations of the field for cloud and test particles, for PD and for GD, and SGD."""
    p, n, model = problem.network.width, problem.network.width + problem.data.units, teacher_model(problem)
    flow = _EVALUATIONS * end / _STEP
    network = p * n * (two_point_seconds(model.activation) + 1e-9 * problem.dimension)
    sgd = price_of(VectorSGD(), problem.replace(**{"run.until": end, "run.replicas": seeds})).seconds
    limit = flow * cloud_seconds(model, cloud, p * seeds)
    seconds = _COMPILING + limit + seeds * network * (flow + end / problem.time_step) + sgd
    if seconds > budget:
        raise RefusalError(
            f"five dynamics from {seeds} starts up to t = {end:g} need about {duration(seconds)}, and the budget is "
            f"{duration(budget)}; lower until or the seeds, raise training.learning_rate, or raise the budget."
        )


def _in_words(values: Float[np.ndarray, " s"]) -> str:
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{error}"
