"""How long training stays at mediocrity: exit times of real SGD, of its limits on the same starts, and of the formulas.

The exit time is the first t at which the risk has lost the part `threshold` of its value at the start, averaged over starts
(docs/theory/committee.md, section 6).
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from rich.console import Console
from rich.table import Table

from dimfree.comparison.budget import LeftOut, duration, machine_factor
from dimfree.questions.exit_times.first_passage import Times, as_problem, chain_exits, description_exits
from dimfree.errors import ProblemError, RefusalError
from dimfree.functions import activation
from dimfree.onepass.model import Model, model
from dimfree.gaussian.links import information_exponent
from dimfree.gaussian.overlaps import Overlaps
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import MultiIndex, SphereStart, Teacher
from dimfree.problem.activation import Hermite, Written
from dimfree.registry import description, names
from dimfree.results.store import save
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.passages import draw_starts
from dimfree.theory import exit_times as formulas
from dimfree.questions.exit_times.event import check_threshold, exit_events
from dimfree.onepass.limits.ode import HighDimensional

Watcher = Callable[[str, float], None]  # is told which account reached which time

_PATIENCE = 5.0  # SGD is followed for so many times the slowest exit of the ODE
_LOOKS = 100  # looks at the risk during a typical exit
_FEWEST = 16  # starts of the ODE, however expensive


class Account(NamedTuple):
    """One account of the exit: its mean over the starts that left, the standard error, and how many did not leave."""

    name: str
    mean: float
    standard_error: float
    stayed: int
    times: Times  # of every start, infinite where it did not leave; empty for a formula


class Exits(NamedTuple):
    """Exit times of one problem, account by account."""

    problem: OnePassProblem
    threshold: float
    horizon: float
    accounts: tuple[Account, ...]
    left_out: tuple[LeftOut, ...]

    def account(self, name: str) -> Account:
        """The account of this name."""
        return next(one for one in self.accounts if one.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Real SGD first, then what claims to describe it."""
        return tuple(one.name for one in self.accounts)

    def excess(self, name: str) -> tuple[float, float]:
        """How much later than real SGD an account leaves, and the standard error; starts are compared one by one if shared."""
        chain, other = self.account("chain"), self.account(name)
        shared = min(len(chain.times), len(other.times))
        if not shared:
            return other.mean - chain.mean, float(np.hypot(other.standard_error, chain.standard_error))
        both = np.isfinite(chain.times[:shared]) & np.isfinite(other.times[:shared])
        late = (other.times[:shared] - chain.times[:shared])[both]
        if len(late) < 2:
            return float("nan"), float("nan")
        return float(late.mean()), float(late.std(ddof=1) / np.sqrt(len(late)))

    def __rich__(self) -> Table:
        """The summary table."""
        table = Table(title=f"Time to lose {100 * self.threshold:g} % of the risk", title_justify="left")
        for heading in ("account", "mean exit time", "samples", "did not leave", "% from SGD", "σ from SGD"):
            table.add_column(heading, justify="left" if heading == "account" else "right")
        for one in self.accounts:
            error = f" ± {one.standard_error:.2g}" if one.standard_error else ""
            samples = one.mean / self.problem.time_step * self.problem.training.batch
            stayed = f"{one.stayed} of {len(one.times)}" if len(one.times) else ""
            table.add_row(one.name, f"{one.mean:.4g}{error}", f"{samples:.3g}", stayed, *self._deviation(one.name))
        return table

    def _deviation(self, name: str) -> tuple[str, str]:
        if name == "chain":
            return "", ""
        late, error = self.excess(name)
        if not np.isfinite(late):
            return "", ""
        return f"{100 * late / self.account('chain').mean:+.2g}", f"{late / error:+.1f}" if error else ""

    def summary(self) -> str:
        """The table and what was left out, as text."""
        console = Console(file=io.StringIO(), width=110)
        console.print(self)
        for left in self.left_out:
            console.print(f"left out: {left.name}: {left.reason}", soft_wrap=True, highlight=False)
        text: str = console.file.getvalue()  # type: ignore[attr-defined]
        return text

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, for --json."""
        return {
            "problem": self.problem.model_dump(mode="json"),
            "threshold": self.threshold,
            "horizon": self.horizon,
            "accounts": {
                one.name: {
                    "mean": one.mean if np.isfinite(one.mean) else None,
                    "standard_error": one.standard_error if np.isfinite(one.standard_error) else None,
                    "starts": len(one.times),
                    "stayed": one.stayed,
                }
                for one in self.accounts
            },
            "left_out": {left.name: left.reason for left in self.left_out},
        }

    def to_tree(self) -> xr.DataTree:
        """Every exit time, one dataset per account with a replica axis where starts were followed."""
        return xr.DataTree.from_dict(
            {
                one.name: xr.Dataset(
                    {"exit_time": ("replica", one.times)} if len(one.times) else {},
                    attrs={"mean": one.mean, "standard_error": one.standard_error, "stayed": one.stayed},
                )
                for one in self.accounts
            }
        )

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file."""
        save(self.to_tree(), Path(path))
        return Path(path)

    def plot(self, path: str | Path) -> Path:
        """Draw the histogram of real SGD's exits with the other accounts as lines."""
        from dimfree.questions.exit_times.figure import draw_exits

        return draw_exits(self, Path(path))


def exit_times(
    problem: OnePassProblem | str | Path | None = None,
    threshold: float = 0.1,
    replicas: int = 600,
    *,
    seed: int | None = None,
    horizon: float | None = None,
    resolution: float | None = None,
    budget: float = 300.0,
    watch: Watcher = lambda name, reached: None,
) -> Exits:
    """Measure the exit with one replica of the overlap chain per start, and put every other account beside it.

    SGD is followed until all replicas have left, or up to `horizon` (by default five times the slowest exit of the ODE, and
    at most run.until). `resolution` is the time between two looks at the risk, by default a hundredth of the ODE's mean exit.
    """
    problem = as_problem(problem, seed)
    check_threshold(threshold)
    if replicas < 2:
        raise ProblemError(f"replicas = {replicas} was given; an error bar needs at least 2.")
    refusal = OverlapChain().refusal(problem)
    if refusal:
        raise RefusalError(f"chain refuses: {refusal}")
    check_link(problem)
    closed, left_out = _formulas(problem, threshold)
    m, key = model(problem), jax.random.key(problem.run.seed)
    starts = draw_starts(problem, jax.random.fold_in(key, 0), replicas)
    by_ode, ode_left_out = _ode(problem, m, starts.overlaps, threshold, horizon or problem.run.until)
    slowest, typical = _scale(by_ode, horizon or problem.run.until)
    end, fine = horizon or min(problem.run.until, _PATIENCE * slowest), resolution or typical / _LOOKS
    _afford(problem, min(slowest, end), replicas, budget)
    by_chain = chain_exits(problem, starts, threshold, end, fine, jax.random.fold_in(key, 1), watch)
    accounts = [_account("chain", by_chain), *([_account("ode", by_ode)] if len(by_ode) else [])]
    absence = _diffusion_refusal(problem)
    if absence is None:
        sampled = description_exits(
            description("diffusion"), problem, starts, threshold, end, fine, jax.random.fold_in(key, 2), watch
        )
        accounts.append(_account("diffusion", sampled))
    refused = [LeftOut("diffusion", absence)] if absence else []
    return Exits(problem, threshold, end, (*accounts, *closed), (*ode_left_out, *refused, *left_out))


def check_link(problem: OnePassProblem) -> None:
    """On the sphere a single direction is found only if link and activation share a Hermite component."""
    network, data = problem.network, problem.data
    if problem.training.spherical and network.second_layer == "fixed" and data.units == 1:
        information_exponent(link_of(data), activation(network.activation))


def link_of(data: Teacher | MultiIndex) -> Written:
    """The link of a single-index target."""
    if isinstance(data, Teacher):
        return data.activation
    terms, coefficients = data.expansion
    weights = np.zeros(max(term[0] for term in terms) + 1)
    for (degree,), weight in zip(terms, coefficients, strict=True):
        weights[degree] += weight
    return Hermite(hermite=tuple(weights.tolist()))


def _account(name: str, times: Times) -> Account:
    left = times[np.isfinite(times)]
    mean = float(left.mean()) if len(left) else float("nan")
    error = float(left.std(ddof=1) / np.sqrt(len(left))) if len(left) > 1 else float("nan")
    return Account(name, mean, error, len(times) - len(left), times)


def _formulas(problem: OnePassProblem, threshold: float) -> tuple[list[Account], list[LeftOut]]:
    """Annealed and quenched times where they apply; a learning rate that never escapes is an error, not an absence."""
    reason = _not_phase_retrieval(problem)
    if reason:
        return [], [LeftOut("annealed", reason), LeftOut("quenched", reason)]
    rule = (threshold, problem.training.learning_rate, problem.network.width, problem.data.noise, problem.dimension)
    none = np.zeros(0)
    annealed = Account("annealed", formulas.annealed(*rule), 0.0, 0, none)
    try:
        return [annealed, Account("quenched", *formulas.quenched(*rule), 0, none)], []
    except ProblemError as failure:
        return [annealed], [LeftOut("quenched", str(failure))]


def _not_phase_retrieval(problem: OnePassProblem) -> str | None:
    data, network, training = problem.data, problem.network, problem.training
    squares = isinstance(data, Teacher) and data.activation == network.activation == "square" and data.units == 1
    plain = network.second_layer_start == 1.0 == getattr(data, "second_layer", None) and network.scaling == "mean"
    if not (squares and plain and network.second_layer == "fixed" and (problem.teacher_overlap == 1).all()):
        return "the formulas are for phase retrieval: square activations, one teacher unit, second layers fixed at 1."
    if not training.spherical or problem.start != SphereStart():
        return 'the formulas are for the unit sphere: set training.spherical = true and start.kind = "sphere" with scale 1.'
    if training.batch > 1 or training.schedule is not None:
        return "the formulas are for one sample a step at a constant rate: set training.batch = 1 and no schedule."
    return None


def _ode(
    problem: OnePassProblem, m: Model, starts: Overlaps, threshold: float, horizon: float
) -> tuple[Times, tuple[LeftOut, ...]]:
    """Exits of the ODE from as many of the same starts as are cheap."""
    ode = HighDimensional(rtol=1e-6, atol=1e-9)
    refusal = ode.refusal(problem) or _stuck(m, starts)
    if refusal:
        return np.zeros(0), (LeftOut("ode", refusal),)
    seconds = ode.cost(problem.replace(**{"run.until": 10.0})).seconds - 4.0
    count = min(len(starts.a), max(_FEWEST, int(30.0 / seconds)))
    some = jax.tree.map(lambda x: x[:count], starts)
    return np.asarray(exit_events(m, some, threshold, horizon, ode)), ()


def _stuck(m: Model, starts: Overlaps) -> str | None:
    if np.any(np.asarray(starts.M)):
        return None
    first = jax.tree.map(lambda x: x[0], starts)
    if jnp.any(eqx.filter_jit(HighDimensional().velocity)(m, jnp.zeros(()), first).M):
        return None
    return (
        "a start exactly at M = 0 never escapes by the ODE, only by the noise of the steps; "
        "start at a positive overlap to see it leave."
    )


def _scale(by_ode: Times, horizon: float) -> tuple[float, float]:
    """The slowest and the mean exit that the ODE predicts; the horizon when it predicts none."""
    left = by_ode[np.isfinite(by_ode)]
    return (float(left.max()), float(left.mean())) if len(left) else (horizon, horizon)


def _afford(problem: OnePassProblem, until: float, replicas: int, budget: float) -> None:
    cost = OverlapChain().cost(problem.replace(**{"run.until": until, "run.replicas": replicas}))
    seconds = cost.seconds * machine_factor()
    if seconds > budget:
        raise RefusalError(
            f"{replicas} replicas need {cost.steps:.3g} steps each, about {duration(seconds)}, and the budget is "
            f"{duration(budget)}; lower the replicas or the dimension, or raise the budget."
        )


def _diffusion_refusal(problem: OnePassProblem) -> str | None:
    return description("diffusion").refusal(problem) if "diffusion" in names() else "it is not installed."
