"""How long training stays at mediocrity: exit times of real SGD, of its limits on the same starts, and of the formulas.

The exit time is the first t at which the risk has lost the part `threshold` of its value at the start, averaged over starts
(docs/theory/committee.md, section 6).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from rich.table import Table

from dimfree.comparison.budget import LeftOut
from dimfree.errors import ProblemError, RefusalError
from dimfree.machine import duration
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.diffusion import Diffusion
from dimfree.onepass.limits.ode import HighDimensional, compiling
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.passages import draw_starts
from dimfree.problem import Problem
from dimfree.programs.compiled import counted
from dimfree.progress import PartWatcher, nobody, of_all
from dimfree.questions.answer import Answer
from dimfree.questions.escape.link import shared_exponent
from dimfree.questions.exit_times.closed import closed_times
from dimfree.questions.exit_times.event import check_threshold, exit_events
from dimfree.questions.exit_times.first_passage import Times, chain_exits, evolution_exits
from dimfree.questions.exit_times.question import QUESTION
from dimfree.results.record import price_of
from dimfree.setting import why_not
from dimfree.states.overlaps import Overlaps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PATIENCE = 5.0  # SGD is followed for this many times the slowest exit of the ODE
_LOOKS = 100  # how often the risk is looked at during a typical exit
_FEWEST = 16  # starts that the ODE is solved from, even if that is expensive


class Account(NamedTuple):
    """One account of the exit: its mean over the starts that left, the standard error, and how many did not leave."""

    name: str
    mean: float
    standard_error: float
    stayed: int
    times: Times  # one per start, infinite if it did not leave; empty for a formula


@dataclass(frozen=True, eq=False, repr=False)
class Exits(Answer[OnePassProblem]):
    """Exit times of one problem, account by account: real SGD first, then its theories."""

    threshold: float
    horizon: float
    accounts: tuple[Account, ...]
    left_out: tuple[LeftOut, ...]

    def account(self, name: str) -> Account:
        """The account of this name."""
        return next(one for one in self.accounts if one.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all accounts."""
        return tuple(one.name for one in self.accounts)

    @property
    def real(self) -> Account:
        """Real SGD."""
        return self.accounts[0]

    def excess(self, name: str) -> tuple[float, float]:
        """How much later than real SGD an account leaves, with its standard error; start by start, if the starts are shared."""
        real, other = self.real, self.account(name)
        shared = min(len(real.times), len(other.times))
        if not shared:
            return other.mean - real.mean, float(np.hypot(other.standard_error, real.standard_error))
        both = np.isfinite(real.times[:shared]) & np.isfinite(other.times[:shared])
        late = other.times[:shared][both] - real.times[:shared][both]
        if len(late) < 2:
            return float("nan"), float("nan")
        return float(late.mean()), float(late.std(ddof=1) / np.sqrt(len(late)))

    def said(self) -> Iterator[Table | str]:
        """The table, and what was left out."""
        table = Table(title=f"Time to lose {100 * self.threshold:g} % of the risk", title_justify="left")
        for heading in ("account", "mean exit time", "samples", "did not leave", "% from SGD", "σ from SGD"):
            table.add_column(heading, justify="left" if heading == "account" else "right")
        for one in self.accounts:
            error = f" ± {one.standard_error:.2g}" if one.standard_error else ""
            samples = one.mean / self.problem.time_step * self.problem.training.batch
            stayed = f"{one.stayed} of {len(one.times)}" if len(one.times) else ""
            table.add_row(one.name, f"{one.mean:.4g}{error}", f"{samples:.3g}", stayed, *self._deviation(one))
        yield table
        for left in self.left_out:
            yield f"left out: {left.name}: {left.reason}"

    def _deviation(self, one: Account) -> tuple[str, str]:
        if one is self.real:
            return "", ""
        late, error = self.excess(one.name)
        if not np.isfinite(late):
            return "", ""
        return f"{100 * late / self.real.mean:+.2g}", f"{late / error:+.1f}" if error else ""

    def values(self) -> dict[str, object]:
        """The table."""
        return {
            "threshold": self.threshold,
            "horizon": self.horizon,
            "accounts": {
                one.name: {
                    "mean": one.mean,
                    "standard_error": one.standard_error,
                    "starts": len(one.times),
                    "stayed": one.stayed,
                }
                for one in self.accounts
            },
            "left_out": {left.name: left.reason for left in self.left_out},
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """Every exit time, with a replica axis where starts were followed."""
        return {
            one.name: xr.Dataset(
                {"exit_time": ("replica", one.times)} if len(one.times) else {},
                attrs={"mean": one.mean, "standard_error": one.standard_error, "stayed": one.stayed},
            )
            for one in self.accounts
        }

    def draw(self, figure: "Figure") -> None:
        """The histogram of real SGD's exits with the other accounts as lines."""
        from dimfree.questions.exit_times.figure import draw_exits

        draw_exits(self, figure)


@counted()
def exit_times(
    problem: Problem | str | Path | None = None,
    threshold: float = 0.1,
    replicas: int = 600,
    *,
    seed: int | None = None,
    horizon: float | None = None,
    resolution: float | None = None,
    budget: float = 300.0,
    watch: PartWatcher = nobody,
) -> Exits:
    """Measure when SGD leaves mediocrity, by the overlap chain from many starts, and put every other account beside it.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        threshold: the share of the initial risk that must be lost
        replicas: number of starts
        seed: instead of the problem's own
        horizon: how long to follow SGD if some replicas do not leave; by default five times the slowest exit of
            the ODE, and at most run.until
        resolution: time between two looks at the risk; by default a hundredth of the ODE's mean exit
        budget: CPU seconds that SGD may take
        watch: called with the name of what runs and the share of all work that is done

        found = df.exit_times(problem, threshold=0.1, replicas=100)
        print(found.summary())
    """
    chosen = QUESTION.settled(problem, seed)
    check_threshold(threshold)
    if replicas < 2:
        raise ProblemError(f"replicas = {replicas} was given; an error bar needs at least 2.")
    chain, diffusion = OverlapChain(), Diffusion()
    refusal = why_not(chain, chosen)
    if refusal:
        raise RefusalError(f"{chain.name} refuses: {refusal}")
    _check_link(chosen)
    closed = closed_times(chosen, threshold)
    model, key = teacher_model(chosen), jax.random.key(chosen.run.seed)
    _afford(chosen, chosen.time_step, replicas, budget)  # checked before the starts are drawn
    starts = draw_starts(chosen, jax.random.fold_in(key, 0), replicas)
    by_ode, ode_left_out = _ode(chosen, model, starts.overlaps, threshold, horizon or chosen.run.until)
    slowest, typical = _scale(by_ode, horizon or chosen.run.until)
    end, fine = horizon or min(chosen.run.until, _PATIENCE * slowest), resolution or typical / _LOOKS
    _afford(chosen, min(slowest, end), replicas, budget)
    absence = why_not(diffusion, chosen)
    watched = of_all(watch, 1 if absence else 2)
    by_chain = chain_exits(chosen, starts, threshold, end, fine, jax.random.fold_in(key, 1), watched)
    accounts = [_account(chain.name, by_chain)]
    if len(by_ode):
        accounts.append(_account(HighDimensional.name, by_ode))
    if absence is None:
        sampled = evolution_exits(diffusion, model, starts, threshold, end, fine, jax.random.fold_in(key, 2), watched)
        accounts.append(_account(diffusion.name, sampled))
    refused = (LeftOut(diffusion.name, absence),) if absence else ()
    formulas = (Account(name, *estimate, 0, np.zeros(0)) for name, estimate in closed.estimates.items())
    return Exits(chosen, threshold, end, (*accounts, *formulas), (*ode_left_out, *refused, *closed.left_out))


def _check_link(problem: OnePassProblem) -> None:
    """Refuse a direction that SGD on the sphere cannot find, because link and activation share no Hermite component."""
    network, data = problem.network, problem.data
    if problem.training.spherical and network.second_layer == "fixed" and not network.has_offsets and data.units == 1:
        shared_exponent(problem)


def _account(name: str, times: Times) -> Account:
    left = times[np.isfinite(times)]
    mean = float(left.mean()) if len(left) else float("nan")
    error = float(left.std(ddof=1) / np.sqrt(len(left))) if len(left) > 1 else float("nan")
    return Account(name, mean, error, len(times) - len(left), times)


def _ode(
    problem: OnePassProblem, model: TeacherModel, starts: Overlaps, threshold: float, horizon: float
) -> tuple[Times, tuple[LeftOut, ...]]:
    """The exit times of the ODE, from as many of the same starts as are affordable."""
    ode = HighDimensional(rtol=1e-6, atol=1e-9)
    refusal = why_not(ode, problem) or _stuck(model, starts)
    if refusal:
        return np.zeros(0), (LeftOut(ode.name, refusal),)
    seconds = price_of(ode, problem.replace(**{"run.until": 10.0})).seconds - compiling(model)
    count = min(len(starts.a), max(_FEWEST, int(30.0 / seconds)))
    some = jax.tree.map(lambda x: x[:count], starts)
    return np.asarray(exit_events(model, some, threshold, horizon, ode)), ()


def _stuck(model: TeacherModel, starts: Overlaps) -> str | None:
    if np.any(np.asarray(starts.M)):
        return None
    first = jax.tree.map(lambda x: x[0], starts)
    if jnp.any(eqx.filter_jit(HighDimensional().velocity)(model, jnp.zeros(()), first).M):
        return None
    return (
        "a start exactly at M = 0 never escapes by the ODE, only by the noise of the steps; "
        "start at a positive overlap to see it leave."
    )


def _scale(by_ode: Times, horizon: float) -> tuple[float, float]:
    """The slowest and the mean exit that the ODE predicts; the horizon if it predicts none."""
    left = by_ode[np.isfinite(by_ode)]
    return (float(left.max()), float(left.mean())) if len(left) else (horizon, horizon)


def _afford(problem: OnePassProblem, until: float, replicas: int, budget: float) -> None:
    cost = price_of(OverlapChain(), problem.replace(**{"run.until": until, "run.replicas": replicas}))
    seconds = cost.seconds
    if seconds > budget:
        raise RefusalError(
            f"{replicas} replicas need {cost.steps:.3g} steps each, about {duration(seconds)}, and the budget is "
            f"{duration(budget)}; lower the replicas or the dimension, or raise the budget."
        )
