"""The effective temperature of multi-pass SGD: response against correlation in the stationary state (docs/theory/dmft.md, 5).

A constant push from time s on moves the weights by chi(t,s) per unit of field; meanwhile the noise has moved them by
Delta C(t,s) = C(t,t) - C(t,s). In equilibrium at temperature T the ratio Delta C/chi is T at every lag t - s. SGD is not in
equilibrium: the ratio is given at the first step, over the second half of the response, at the largest lag and as a fit.
"""

import io
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float64
from rich.console import Console
from rich.table import Table

from dimfree.comparison.budget import duration, machine_factor
from dimfree.description import Description
from dimfree.errors import ProblemError, RefusalError
from dimfree.dataset.words import dataset_model
from dimfree.dataset.model import MultiPassModel
from dimfree.problem import load
from dimfree.dataset.problem import DataSetProblem
from dimfree.results.store import save
from dimfree.dataset.real.descent import response, simulate_dataset
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.dataset.dmft.description import DMFT
from dimfree.questions.temperature.formulas import EffectiveTemperature, Slopes, effective_temperature, slopes, stationary

Values = Float64[np.ndarray, "..."]
_DRIFT = 0.05  # of Delta C: more, and the run is called not stationary
_LAGS = 10  # of the simulation, spread evenly over the response


class Account(NamedTuple):
    """One account of response and correlation; the first axis are ensembles of paths, or seeds of the simulation."""

    name: str
    lag: Values  # in units of time
    chi: Values  # (sample, lag)
    Delta_C: Values

    def at(self, lag: Values) -> "Account":
        """The same at some of the lags: fits are comparable on equal lags only."""
        chosen = np.searchsorted(self.lag, lag - 1e-9 * self.lag[1])
        return Account(self.name, self.lag[chosen], self.chi[:, chosen], self.Delta_C[:, chosen])

    def slope(self, which: str) -> tuple[float, float]:
        """One of the four temperatures, and its standard error over the samples; 0 for a single one."""
        pairs = zip(self.chi, self.Delta_C, strict=True)
        each = np.array(
            [float(getattr(slopes(jnp.asarray(chi), jnp.asarray(Delta_C)), which)) for chi, Delta_C in pairs]
        )
        return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0


class Temperature(NamedTuple):
    """Response and correlation at the end of a run by every account that there is, and their ratios."""

    problem: DataSetProblem
    accounts: tuple[Account, ...]
    drift: float  # what C(t,t) still gains over the window, in units of Delta C
    no_closed_form: str | None  # why there is none, in one sentence

    @property
    def names(self) -> tuple[str, ...]:
        """dmft first, then the closed form where it exists, then the simulation if it was asked for."""
        return tuple(one.name for one in self.accounts)

    def account(self, name: str) -> Account:
        """The account of this name."""
        return next(one for one in self.accounts if one.name == name)

    @property
    def value(self) -> float:
        """The fitted temperature by dmft."""
        return self.accounts[0].slope("fit")[0]

    def deviation(self) -> tuple[float, float] | None:
        """Fitted temperature of the simulation minus that of dmft on the same lags, and the standard error."""
        if "simulation" not in self.names:
            return None
        simulation = self.account("simulation")
        (measured, error), (expected, own) = (
            one.slope("fit") for one in (simulation, self.accounts[0].at(simulation.lag))
        )
        return measured - expected, float(np.hypot(error, own))

    @property
    def warning(self) -> str | None:
        """What is wrong with speaking of a temperature here, in one sentence; None when nothing is."""
        if abs(self.drift) <= _DRIFT:
            return None
        return (
            f"C(t,t) still changes by {100 * self.drift:.2g} % of Delta C over the window: the run is not stationary; "
            "raise run.until, or choose a shorter window."
        )

    def __rich__(self) -> Table:
        """The summary table."""
        table = Table(title="Effective temperature: Delta C over chi", title_justify="left")
        headings = ("account", "first step", "second half", "largest lag", "fit")
        for heading in headings:
            table.add_column(heading, justify="left" if heading == "account" else "right")
        for one in self.accounts:
            table.add_row(one.name, *(_number(*one.slope(which)) for which in Slopes._fields))
        return table

    def summary(self) -> str:
        """The table and what is to be said about it, as text."""
        console = Console(file=io.StringIO(), width=110)
        console.print(self)
        for text in (self.no_closed_form and f"no closed form: {self.no_closed_form}", self._checked(), self.warning):
            if text:
                console.print(text, soft_wrap=True, highlight=False)
        printed: str = console.file.getvalue()  # type: ignore[attr-defined]
        return printed

    def _checked(self) -> str | None:
        off = self.deviation()
        if off is None:
            return None
        simulated = self.account("simulation").slope("fit")[0]
        return (
            f"On the same lags the fit of the simulation is {100 * off[0] / (simulated - off[0]):+.2g} % "
            f"({off[0] / off[1]:+.1f} standard errors) from that of {self.accounts[0].name}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for --json."""
        return {
            "problem": self.problem.model_dump(mode="json"),
            "drift": self.drift,
            "warning": self.warning,
            "no_closed_form": self.no_closed_form,
            "deviation": dict(zip(("value", "error"), off, strict=True)) if (off := self.deviation()) else None,
            "accounts": {
                one.name: {
                    "temperature": {
                        w: dict(zip(("value", "error"), one.slope(w), strict=True)) for w in Slopes._fields
                    },
                    "lag": one.lag.tolist(),
                    "chi": one.chi.mean(axis=0).tolist(),
                    "Delta_C": one.Delta_C.mean(axis=0).tolist(),
                }
                for one in self.accounts
            },
        }

    def to_tree(self) -> xr.DataTree:
        """chi and Delta C of every account, with an axis of samples."""
        return xr.DataTree.from_dict(
            {
                one.name: xr.Dataset(
                    {"chi": (("sample", "lag"), one.chi), "Delta_C": (("sample", "lag"), one.Delta_C)}, {"lag": one.lag}
                )
                for one in self.accounts
            }
        )

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file."""
        save(self.to_tree(), Path(path))
        return Path(path)

    def plot(self, path: str | Path) -> Path:
        """Draw response against correlation, and their ratio against the lag."""
        from dimfree.questions.temperature.figure import draw_temperature

        return draw_temperature(self, Path(path))


def temperature(
    problem: DataSetProblem | str | Path | None = None,
    *,
    window: float | None = None,
    seeds: int = 0,
    theory: Description | None = None,
    budget: float = 300.0,
) -> Temperature:
    """Temperatures from the last `window` of time of a run (by default its second half).

    With `seeds` (at least 2) twin runs are simulated in addition: each pair has the same data and batches, and one twin is
    pushed by a small field of random signs.
    """
    problem = _settled(problem)
    letters, steps = dataset_model(problem).letters, problem.steps(problem.run.until)
    width = steps // 2 if window is None else problem.steps(window)
    if not 1 <= width <= steps:
        raise ProblemError(
            f"the window is {window or 0:g}, it must hold at least one step of {problem.time_step:g} and end before "
            f"run.until = {problem.run.until:g}."
        )
    if seeds == 1:
        raise ProblemError("one seed gives no error bar; ask for at least 2 seeds, or for 0 to simulate nothing.")
    theory = theory or DMFT(responses=True)
    _afford(problem, theory, seeds, budget)
    closed, reason = _closed_form(letters, width)
    by_theory, drift = _by_theory(problem, theory, steps, width)
    accounts = [by_theory, *([closed] if closed else [])]
    if seeds:
        accounts.append(_by_simulation(problem, letters, by_theory, steps, seeds))
    return Temperature(problem, tuple(accounts), drift, reason)


def _settled(problem: DataSetProblem | str | Path | None) -> DataSetProblem:
    read = DataSetProblem() if problem is None else problem if isinstance(problem, DataSetProblem) else load(problem)
    if not isinstance(read, DataSetProblem):
        raise RefusalError(
            "an effective temperature belongs to SGD that revisits a data set, and this problem is one-pass; "
            'set training.kind = "multi-pass" and data.kind to one of the data sets.'
        )
    return read


def _afford(problem: DataSetProblem, theory: Description, seeds: int, budget: float) -> None:
    refusal = theory.refusal(problem)
    if refusal:
        raise RefusalError(f"{theory.name} refuses: {refusal}")
    cost = theory.cost(problem)
    seconds = cost.seconds
    if seeds:
        seconds += (_LAGS + 2) * MultiPassSGD().cost(problem.replace(**{"run.replicas": seeds})).seconds
    if seconds * machine_factor() > budget:
        raise RefusalError(
            f"{cost.steps} steps need about {duration(seconds * machine_factor())}, and the budget is "
            f"{duration(budget)}; lower run.until, or raise the budget."
        )


def _by_theory(problem: DataSetProblem, theory: Description, steps: int, window: int) -> tuple[Account, float]:
    """chi and Delta C of every ensemble from the two-time functions, and the drift of C(t,t)."""
    eta, model = problem.time_step, theory.model(problem)
    state = theory.begin(model, None, 1, jax.random.key(problem.run.seed))
    seen = theory.advance(model, state, jnp.arange(steps + 1) * eta)[1]
    C, R = (np.swapaxes(np.asarray(seen[name]), 0, 1) for name in ("C", "R"))
    each: list[EffectiveTemperature] = [
        effective_temperature(jnp.asarray(c), jnp.asarray(r), jnp.asarray(eta), window)
        for c, r in zip(C, R, strict=True)
    ]
    chi, Delta_C = (np.stack([np.asarray(getattr(one, name)) for one in each]) for name in ("chi", "Delta_C"))
    gained, noise = float((C[:, -1, -1] - C[:, -1 - window, -1 - window]).mean()), float(Delta_C[:, -1].mean())
    return Account(theory.name, np.arange(window + 1) * eta, chi, Delta_C), gained / noise if noise else 0.0


def _closed_form(letters: MultiPassModel, window: int) -> tuple[Account | None, str | None]:
    """(T1)-(T4) where they hold; an unstable step is an error, not an absence."""
    try:
        found = stationary(letters, jnp.arange(window + 1))
    except RefusalError as refusal:
        return None, str(refusal)
    lag, chi, C = (np.asarray(one) for one in (jnp.arange(window + 1) * letters.eta, found.chi, found.C_conn))
    return Account("closed form", lag, chi[None], (C[0] - C)[None]), None


def _by_simulation(
    problem: DataSetProblem, letters: MultiPassModel, theory: Account, steps: int, seeds: int
) -> Account:
    """Twin runs that are pushed from a few times on; lags are chosen so that the response grows evenly.

    Delta C is taken as |w(t) - w(s)|²/(2 d): in the stationary state it is the same, and it fluctuates far less.
    """
    grown = theory.chi.mean(axis=0)
    lags = np.unique([1, *np.searchsorted(grown, np.linspace(0, grown[-1], _LAGS)[1:-1]), len(grown) - 1])
    since, key = (steps - lags[::-1]).tolist(), jax.random.fold_in(jax.random.key(problem.run.seed), 1)
    C = simulate_dataset(letters, problem.dimension, [*since, steps], key, seeds).C
    chi = response(letters, problem.dimension, [steps], key, seeds, since)[:, :, 0]
    norms, at_rest = np.einsum("stt->st", C), np.zeros((seeds, 1))
    moved = (norms[:, -1:] + norms[:, :-1]) / 2 - C[:, -1, :-1]
    return Account(
        "simulation",
        np.append(0.0, lags * problem.time_step),
        np.hstack([at_rest, chi[:, ::-1]]),
        np.hstack([at_rest, moved[:, ::-1]]),
    )


def _number(value: float, error: float) -> str:
    return f"{value:.4g}" + (f" ± {error:.1g}" if error else "")
