"""The effective temperature of multi-pass SGD: response against correlation in the stationary state (docs/theory/dmft.md, 5).

A constant push from time s on moves the weights by chi(t,s) per unit of field; meanwhile the noise has moved them by
Delta C(t,s) = C(t,t) - C(t,s). In equilibrium at temperature T the ratio Delta C/chi is T at every lag t - s. SGD is not in
equilibrium: the ratio is given at the first step, over the second half of the response, at the largest lag and as a fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float64
from rich.table import Table
from scipy.special import stdtr

from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.problem import DataSetProblem
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import Ask, Description
from dimfree.errors import ProblemError, RefusalError
from dimfree.machine import duration
from dimfree.problem import Problem
from dimfree.programs.compiled import counted
from dimfree.questions.answer import Answer
from dimfree.questions.temperature.formulas import (
    EffectiveTemperature,
    Slopes,
    effective_temperature,
    slopes,
)
from dimfree.questions.temperature.question import QUESTION
from dimfree.questions.temperature.subject import Subject, subject
from dimfree.results.record import joined, price_of
from dimfree.setting import why_not

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Float64[np.ndarray, "..."]
_DRIFT = 0.05  # a run that drifts by more than this share of Delta C counts as not stationary
_LAGS = 10  # lags that are simulated, spread evenly over the response


class Account(NamedTuple):
    """One account of response and correlation; the first axis are ensembles of paths, or seeds of the simulation."""

    name: str
    lag: Values  # in units of time
    chi: Values  # (sample, lag)
    Delta_C: Values

    def at(self, lag: Values) -> "Account":
        """The same account at some of the lags; two fits can be compared only on the same lags."""
        chosen = np.searchsorted(self.lag, lag - 1e-9 * self.lag[1])
        return Account(self.name, self.lag[chosen], self.chi[:, chosen], self.Delta_C[:, chosen])

    def slope(self, which: str) -> tuple[float, float]:
        """One of the four temperatures, and its standard error over the samples; 0 for a single one."""
        pairs = zip(self.chi, self.Delta_C, strict=True)
        each = np.array(
            [float(getattr(slopes(jnp.asarray(chi), jnp.asarray(Delta_C)), which)) for chi, Delta_C in pairs]
        )
        return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Temperature(Answer[DataSetProblem | NetworkProblem]):
    """Response and correlation at the end of a run, by every account, and their ratios."""

    accounts: tuple[Account, ...]
    drift: float  # how much C(t,t) still grows over the window, in units of Delta C
    no_closed_form: str | None  # why there is no closed form, in one sentence

    @property
    def names(self) -> tuple[str, ...]:
        """dmft first, then the closed form where it exists, then the simulation if it was asked for."""
        return tuple(one.name for one in self.accounts)

    def account(self, name: str) -> Account:
        """The account of this name."""
        return next(one for one in self.accounts if one.name == name)

    @property
    def value(self) -> float | None:
        """The fitted temperature by dmft; None where there is none."""
        return None if self.no_temperature else self.accounts[0].slope("fit")[0]

    def deviation(self) -> tuple[float, float] | None:
        """Fitted temperature of the simulation minus that of dmft on the same lags, and the standard error."""
        if "simulation" not in self.names or self.no_temperature:
            return None
        simulation = self.account("simulation")
        (measured, error), (expected, own) = (
            one.slope("fit") for one in (simulation, self.accounts[0].at(simulation.lag))
        )
        return measured - expected, float(np.hypot(error, own))

    def chance(self) -> float | None:
        """The probability that a right theory is off by as much; the error of few seeds is itself uncertain (Student)."""
        off = self.deviation()
        if off is None:
            return None
        simulation = self.account("simulation")
        pair = (simulation, self.accounts[0].at(simulation.lag))
        shares = np.array([one.slope("fit")[1] ** 4 / max(len(one.chi) - 1, 1) for one in pair])
        return float(
            2 * stdtr(off[1] ** 4 / shares.sum(), -abs(off[0]) / off[1])
        )  # with Satterthwaite's degrees of freedom

    @property
    def no_temperature(self) -> str | None:
        """Why there is no temperature, in one sentence; None where there is one."""
        if abs(self.drift) <= _DRIFT:
            return None
        return (
            f"there is no temperature: C(t,t) still changes by {100 * self.drift:.2g} % of Delta C over the window, so that "
            "the run is not stationary; raise run.until, or choose a shorter window."
        )

    @property
    def exit_code(self) -> int:
        """0 only where there is a temperature."""
        return 1 if self.no_temperature else 0

    def said(self) -> Iterator[Table | str]:
        """The table and remarks, or why there is no temperature."""
        if self.no_temperature:
            yield self.no_temperature
            return
        table = Table(title="Effective temperature: Delta C over chi", title_justify="left")
        headings = ("account", "first step", "second half", "largest lag", "fit")
        for heading in headings:
            table.add_column(heading, justify="left" if heading == "account" else "right")
        for one in self.accounts:
            table.add_row(one.name, *(_number(*one.slope(which)) for which in Slopes._fields))
        yield table
        for text in (self.no_closed_form and f"no closed form: {self.no_closed_form}", self._checked()):
            if text:
                yield text

    def _checked(self) -> str | None:
        off, chance = self.deviation(), self.chance()
        if off is None or chance is None:
            return None
        simulation = self.account("simulation")
        return (
            f"On the same lags the fit of the simulation is {100 * off[0] / (simulation.slope('fit')[0] - off[0]):+.2g} % "
            f"({off[0] / off[1]:+.1f} standard errors) from that of {self.accounts[0].name}; with {len(simulation.chi)} seeds "
            f"chance alone makes it as large in {100 * chance:.2g} % of all cases."
        )

    def values(self) -> dict[str, object]:
        """Temperatures and curves."""
        off = self.deviation()
        return {
            "drift": self.drift,
            "no_temperature": self.no_temperature,
            "no_closed_form": self.no_closed_form,
            "deviation": None if off is None else {"value": off[0], "error": off[1], "chance": self.chance()},
            "accounts": {
                one.name: {
                    "temperature": None
                    if self.no_temperature
                    else {w: dict(zip(("value", "error"), one.slope(w), strict=True)) for w in Slopes._fields},
                    "lag": one.lag.tolist(),
                    "chi": one.chi.mean(axis=0).tolist(),
                    "Delta_C": one.Delta_C.mean(axis=0).tolist(),
                }
                for one in self.accounts
            },
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """chi and Delta C of every account, with an axis of samples."""
        return {
            one.name: xr.Dataset(
                {"chi": (("sample", "lag"), one.chi), "Delta_C": (("sample", "lag"), one.Delta_C)}, {"lag": one.lag}
            )
            for one in self.accounts
        }

    def draw(self, figure: "Figure") -> None:
        """Response against correlation, and their ratio against the lag."""
        from dimfree.questions.temperature.figure import draw_temperature

        draw_temperature(self, figure)


@counted()
def temperature(
    problem: Problem | str | Path | None = None,
    *,
    window: float | None = None,
    seeds: int = 0,
    seed: int | None = None,
    theory: Description[Any, Any] | None = None,
    budget: float = 300.0,
) -> Temperature:
    """Measure the temperature of SGD on a data set, from the last part of a run.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, batches on two clusters
        window: how much of the end of the run to use, in units of time; by default its second half
        seeds: number of pairs of twin runs to simulate in addition, 0 or at least 2: both have the same data
            and batches, and one is pushed by a small field of random signs
        seed: instead of the problem's own
        theory: the description to take the two-time functions C and R from, instead of DMFT
        budget: CPU seconds that all may take together

        print(df.temperature(seeds=4).summary())
    """
    chosen = QUESTION.settled(problem, seed)
    if chosen.training.batch_fraction == 1 and not chosen.training.temperature:
        raise RefusalError(
            "there is no temperature: the full batch without Langevin noise has no noise at all; set "
            "training.batch_fraction below 1, or training.temperature above 0."
        )
    asked, steps = subject(chosen), chosen.steps(chosen.run.until)
    width = steps // 2 if window is None else chosen.steps(min(window, 2 * chosen.run.until))
    if not 1 <= width <= steps:
        raise ProblemError(
            f"the window is {window or 0:g}, it must hold at least one step of {chosen.time_step:g} and end before "
            f"run.until = {chosen.run.until:g}."
        )
    if seeds == 1:
        raise ProblemError("one seed gives no error bar; ask for at least 2 seeds, or for 0 to simulate nothing.")
    theory = theory or DMFT(responses=True)
    _afford(chosen, theory, seeds, budget)
    closed, reason = _closed_form(asked, chosen, width)
    by_theory, drifts = _by_theory(chosen, asked, theory, steps, width)
    accounts = [by_theory, *([closed] if closed else [])]
    if seeds:
        accounts.append(_by_simulation(chosen, asked, by_theory, drifts, steps, seeds))
    noise = float(by_theory.Delta_C[:, -1].mean())
    return Temperature(chosen, tuple(accounts), float(drifts[-1]) / noise if noise else 0.0, reason)


def _afford(problem: Problem, theory: Description[Any, Any], seeds: int, budget: float) -> None:
    refusal = why_not(theory, problem)
    if refusal:
        raise RefusalError(f"{theory.title} refuses: {refusal}")
    cost = price_of(theory, problem)
    seconds = cost.seconds
    if seeds:
        seconds += (_LAGS + 2) * price_of(MultiPassSGD(), problem.replace(**{"run.replicas": seeds})).seconds
    if seconds > budget:
        raise RefusalError(
            f"{cost.steps} steps need about {duration(seconds)}, and the budget is "
            f"{duration(budget)}; lower run.until, or raise the budget."
        )


def _by_theory(
    problem: Problem, asked: Subject, theory: Description[Any, Any], steps: int, window: int
) -> tuple[Account, Values]:
    """chi and Delta C of every ensemble from the two-time functions, and by how much C(t,t) has grown over every lag."""
    eta, key = problem.time_step, jax.random.key(problem.run.seed)
    seen = joined(list(theory.account(asked.model, asked.start, Ask(eta * np.arange(steps + 1.0), 1, key))))
    C, R = (np.swapaxes(asked.of_units(seen[name]), 0, 1) for name in ("C", "R"))  # ensembles first
    each: list[EffectiveTemperature] = [
        effective_temperature(jnp.asarray(c), jnp.asarray(r), jnp.asarray(eta), window)
        for c, r in zip(C, R, strict=True)
    ]
    chi, Delta_C = (np.stack([np.asarray(getattr(one, name)) for one in each]) for name in ("chi", "Delta_C"))
    norms = np.einsum("stt->t", C) / len(C)
    return Account(theory.title, np.arange(window + 1) * eta, chi, Delta_C), norms[-1] - norms[::-1][: window + 1]


def _closed_form(asked: Subject, problem: Problem, window: int) -> tuple[Account | None, str | None]:
    """Equations (T1)-(T4) where they hold; an unstable step is an error, not a missing account."""
    try:
        found = asked.stationary(jnp.arange(window + 1))
    except RefusalError as refusal:
        return None, str(refusal)
    chi, C = (np.asarray(one) for one in (found.chi, found.C_conn))
    return Account("closed form", np.arange(window + 1) * problem.time_step, chi[None], (C[0] - C)[None]), None


def _by_simulation(
    problem: Problem, asked: Subject, theory: Account, drifts: Values, steps: int, seeds: int
) -> Account:
    """Twin runs that are pushed from a few times on; lags are chosen so that the response grows evenly.

    Delta C is taken as |w(t) - w(s)|²/(2 d), which fluctuates far less, and half of what C(t,t) still grows by theory: in the
    stationary state that is nothing.
    """
    grown = theory.chi.mean(axis=0)
    lags = np.unique([1, *np.searchsorted(grown, np.linspace(0, grown[-1], _LAGS)[1:-1]), len(grown) - 1])
    key = jax.random.fold_in(jax.random.key(problem.run.seed), 1)
    C, chi = asked.twins((steps - lags[::-1]).tolist(), steps, key, seeds)
    norms, at_rest = np.einsum("stt->st", C), np.zeros((seeds, 1))
    moved = (norms[:, -1:] + norms[:, :-1]) / 2 - C[:, -1, :-1]
    return Account(
        "simulation",
        np.append(0.0, lags * problem.time_step),
        np.hstack([at_rest, chi[:, ::-1]]),
        np.hstack([at_rest, moved[:, ::-1] + drifts[lags] / 2]),
    )


def _number(value: float, error: float) -> str:
    return f"{value:.4g}" + (f" ± {error:.1g}" if error else "")
