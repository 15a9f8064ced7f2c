"""When to stop training on a data set, and what its reuse buys (docs/theory/committee-dmft.md, sections 2 and 5.2).

The risk on fresh samples has a lowest point in time, beyond which training fits what is particular to the data set; the gap
between risk and training loss says how much of that there is. Beside it stands the same rule on fresh samples at every step, by
the closed recursion (9): at the same step both have seen as many samples, those of the data set again and again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float64
from rich.table import Table

from dimfree.comparison.run import own_key, starts_of
from dimfree.dataset.committee.fresh import not_closed, solve_fresh
from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.dataset.committee.problem_model import network_model
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.taught import fresh_errors
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import AnyDescription
from dimfree.errors import ProblemError, RefusalError
from dimfree.machine import duration
from dimfree.problem import Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.stopping.question import QUESTION
from dimfree.results.record import price_of, record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Float64[np.ndarray, "time sample"]


class Account(NamedTuple):
    """Risk on fresh samples and loss on the data set; samples are ensembles of paths, or data sets."""

    name: str
    risk: Curves
    train_loss: Curves  # without the noise of the labels where the risk has none either

    @property
    def best(self) -> int:
        """Where the mean risk is lowest."""
        return int(self.risk.mean(axis=1).argmin())

    @property
    def gained(self) -> tuple[float, float]:
        """Risk at the end minus that at the best time, with its standard error."""
        return _mean(self.risk[-1] - self.risk[self.best])

    @property
    def gap(self) -> Curves:
        """Risk minus training loss: what is learned of the data set alone."""
        return self.risk - self.train_loss


@dataclass(frozen=True, eq=False, repr=False)
class Stopping(Answer[NetworkProblem]):
    """The best time to stop by every account, and the risk on fresh samples at every step."""

    accounts: tuple[Account, ...]  # dmft, and real training where it was asked for
    fresh: Float64[np.ndarray, " time"] | None  # the risk at the same times; None where it is not known
    not_known: str | None  # why, in one sentence
    one_pass: float | None  # the risk after one pass through the data set in batches of the same size

    @property
    def best_time(self) -> float:
        """When the risk of dmft is lowest."""
        return float(self.problem.times[self.accounts[0].best])

    def said(self) -> Iterator[Table | str]:
        """A row for each account, and what reuse buys."""
        table = Table(title="When to stop: the risk on fresh samples", title_justify="left")
        for heading in ("account", "best time", "risk then", "at the end", "gained", "gap at the end"):
            table.add_column(heading, justify="left" if heading == "account" else "right")
        for one in self.accounts:
            numbers = (one.risk[one.best], one.risk[-1], one.risk[-1] - one.risk[one.best], one.gap[-1])
            table.add_row(
                one.name, f"{self.problem.times[one.best]:g}", *(_number(*_mean(values)) for values in numbers)
            )
        yield table
        yield self._verdict()
        yield from self._reuse()

    def _verdict(self) -> str:
        first = self.accounts[0]
        gained, error = first.gained
        if first.best == len(first.risk) - 1 or gained <= 2 * error:
            return "The risk does not rise before the end of the run: stopping earlier gains nothing."
        return (
            f"Stop at time {self.best_time:g}: to go on until {self.problem.times[-1]:g} raises the risk by "
            f"{100 * gained / first.risk[first.best].mean():.2g} %."
        )

    def _reuse(self) -> Iterator[str]:
        if self.not_known:
            yield f"Fresh samples are not known: {self.not_known}"
        if self.fresh is None:
            return
        risk = self.accounts[0].risk.mean(axis=1)
        best = self.accounts[0].best
        if self.one_pass is not None:
            bought = "Reuse buys" if risk[best] < self.one_pass else "Reuse buys nothing"
            yield (
                f"{bought}: one pass through the data set ends at a risk of {self.one_pass:.4g}, and training on it until the "
                f"best time at {risk[best]:.4g}."
            )
        yield (
            f"With fresh samples at every step, as many as were seen, the risk would be {self.fresh[best]:.4g} at the best time "
            f"and {self.fresh[-1]:.4g} at the end, instead of {risk[best]:.4g} and {risk[-1]:.4g}."
        )

    def values(self) -> dict[str, object]:
        """Times, risks and gaps."""
        accounts = {
            one.name: {
                "best_time": float(self.problem.times[one.best]),
                "best_risk": float(one.risk[one.best].mean()),
                "last_risk": float(one.risk[-1].mean()),
                "gained": dict(zip(("value", "error"), one.gained, strict=True)),
                "gap": one.gap.mean(axis=1).tolist(),
            }
            for one in self.accounts
        }
        fresh = None if self.fresh is None else self.fresh.tolist()
        return {"accounts": accounts, "fresh": fresh, "one_pass": self.one_pass, "not_known": self.not_known}

    def datasets(self) -> dict[str, xr.Dataset]:
        time = {"time": self.problem.times}
        found = {
            one.name: xr.Dataset(
                {name: (("time", "replica"), getattr(one, name)) for name in ("risk", "train_loss", "gap")}, time
            )
            for one in self.accounts
        }
        if self.fresh is not None:
            found["fresh samples"] = xr.Dataset({"risk": ("time", self.fresh)}, time)
        return found

    def draw(self, figure: "Figure") -> None:
        """Risks, and the gap."""
        from dimfree.questions.stopping.figure import draw_stopping

        draw_stopping(self, figure)


def stopping(
    problem: Problem | str | Path | None = None,
    *,
    seeds: int = 0,
    seed: int | None = None,
    budget: float = 300.0,
    watch: PartWatcher = nobody,
) -> Stopping:
    """When to stop training a network on a data set, what that gains, and what using samples again buys.

    Arguments:
        problem: a Problem of a network on a data set, or the path of a TOML file; without it, the one of
            docs/networks-on-data.md
        seeds: number of data sets to simulate beside the theory
        seed: instead of the problem's own
        budget: CPU seconds that all may take together
        watch: called with the name of what runs and the share of all work that is done

        print(df.stopping().summary())
    """
    chosen = QUESTION.settled(problem, seed)
    if seeds == 1:
        raise ProblemError("one seed gives no error bar; ask for at least 2 seeds, or for 0 to simulate nothing.")
    if seeds:
        chosen = chosen.replace(**{"run.replicas": seeds})
    asked: tuple[AnyDescription, ...] = (DMFT(), MultiPassSGD()) if seeds else (DMFT(),)
    price = sum(price_of(one, chosen).seconds for one in asked)
    if price > budget:
        raise RefusalError(
            f"these accounts would take about {duration(price)}, more than the budget of {duration(budget)}; raise the budget, "
            "or lower run.until or seeds."
        )
    start = starts_of(chosen, asked)[0]
    assert isinstance(start, CommitteeStart)
    model = network_model(chosen)
    floor = float(model.noise_variance) / 2 if model.square else 0.0
    accounts = []
    for number, one in enumerate(asked):
        watch(one.title, number / len(asked))
        seen = record(chosen, one, start, own_key(chosen, one.title))
        accounts.append(Account(one.title, seen["risk"].values, seen["train_loss"].values - floor))
    watch("done", 1.0)
    return Stopping(chosen, tuple(accounts), *_fresh(chosen, start))


def _fresh(
    problem: NetworkProblem, start: CommitteeStart
) -> tuple[Float64[np.ndarray, " time"] | None, str | None, float | None]:
    """The risk of the same rule on fresh samples, at the times of the run and after one pass; or why it is not known."""
    model = network_model(problem)
    if reason := not_closed(model):
        return None, reason, None
    at = np.array([problem.steps(time) for time in problem.times])
    whole = 1 / float(model.b)  # steps that see as many samples as there are
    found = solve_fresh(model, start, max(int(at[-1]), round(whole)))
    risk = fresh_errors(model, *found)["risk"]
    return risk[at], None, float(risk[round(whole)]) if abs(whole - round(whole)) < 1e-6 else None


def _mean(values: Float64[np.ndarray, " sample"]) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def _number(value: float, error: float) -> str:
    return f"{value:.4g}" + (f" ± {error:.1g}" if error else "")
