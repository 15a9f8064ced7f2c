"""Scaling laws: the lowest risk for a budget of compute, and what buys it, beside real SGD (docs/theory/scaling.md).

Exponents that are measured at a budget stand beside those of the phase, which are statements about compute that grows without
end; in some phases the two differ at any compute that one can run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from rich.table import Table

from dimfree.errors import ProblemError
from dimfree.onepass.kinds.power_law.section import PerSize, PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.mean_risk import Shares
from dimfree.onepass.projected.phases import Phase, phase
from dimfree.problem import Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.scaling.markers import Markers, markers
from dimfree.questions.scaling.question import QUESTION
from dimfree.questions.scaling.theory import Curves, Law, curves, sizes_for
from dimfree.questions.scaling.warnings import said_of
from dimfree.questions.scaling.what_if import Change, changes, critical_batch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOPS = 6  # for every parameter and sample: 2 to predict, 4 to learn
_PER_DECADE = 4  # budgets


@dataclass(frozen=True, eq=False, repr=False)
class Scaling(Answer[OnePassProblem]):
    """Curves of all sizes, their frontier, and what is said of one budget."""

    law: Law
    curves: Curves
    phase: Phase
    shares: tuple[Shares | None, ...]  # of the risk at every budget of the table
    asked: float  # the budget that single answers are about
    changes: tuple[Change, ...]
    critical_batch: float
    markers: Markers | None
    one_line: bool  # whether a single budget was asked for

    @property
    def rows(self) -> range:
        """Which budgets the table has: one for every decade."""
        return range(0, len(self.curves.frontier.compute), _PER_DECADE)

    def best(self) -> dict[str, float]:
        """Size, samples, rate, risk for the budget of the single answers."""
        f = self.curves.frontier
        logs = np.log(f.compute)
        size, risk = (float(np.exp(np.interp(np.log(self.asked), logs, np.log(v)))) for v in (f.size, f.risk))
        samples = self.asked / size
        rate = self.law.gamma(size) if np.isfinite(size) else np.nan
        return {"compute": self.asked, "size": size, "samples": samples, "learning_rate": rate, "risk": risk}

    def exponents_error(self) -> tuple[float, float]:
        """How well local exponents are known: p to the two per cent of a best size over two budgets, q to 1e-4 of a risk."""
        apart = 2 * np.log(10) / _PER_DECADE
        return 0.02 * 2**0.5 / apart, 1e-4 * 2**0.5 / apart

    def said(self) -> Iterator[Table | str]:
        """The table over budgets, the phase, one budget, what else it could buy, SGD, warnings; for one budget a line."""
        best = self.best()
        line = (
            f"Compute {best['compute']:.3g} (size x samples; {FLOPS * best['compute']:.3g} flops at {FLOPS} for each): "
            f"size {best['size']:.4g}, {best['samples']:.4g} samples, learning_rate {best['learning_rate']:.3g}, "
            f"risk {best['risk']:.4g}."
        )
        if np.isnan(best["size"]):
            line = f"Compute {best['compute']:.3g}: no best size among those of the list."
        if self.one_line:
            yield line
            yield from self.warnings()
            return
        yield self._table()
        yield self._of_phase()
        yield self._parts()
        yield line
        if self.changes:
            table = Table(title=f"What if, at compute {self.asked:.3g}", title_justify="left")
            table.add_column("change")
            table.add_column("risk", justify="right")
            table.add_column("over the best", justify="right")
            for one in self.changes:
                table.add_row(one.name, f"{one.risk:.4g}", f"{one.risk / self.changes[0].risk:.3f}")
            yield table
        if np.isfinite(self.critical_batch):
            yield f"To this risk, batches above about {self.critical_batch:.2g} need more than twice the samples of single ones."
        if self.markers is not None:
            z = self.markers.z_scores()
            yield (
                f"Real SGD of {self.markers.sgd.shape[1]} projections a size: {np.isfinite(z).sum()} means are "
                f"{np.sqrt(np.nanmean(z**2)):.2f} standard errors (r.m.s.) from the exact means of the same projections."
            )
        yield from self.warnings()

    def _table(self) -> Table:
        f, data = self.curves.frontier, self.law.data
        table = Table(title=f"Scaling: alpha {data.alpha:g}, beta {data.beta:g}, batch {self.law.batch}")
        for heading in ("compute", "risk*", "size*", "samples", "samples/size", "p", "q"):
            table.add_column(heading, justify="right")
        p, q = f.local_exponents()
        for number in self.rows:
            cells = [f"{v:.3g}" for v in (f.compute[number], f.risk[number], f.size[number], f.samples()[number])]
            cells += [f"{f.samples()[number] / f.size[number]:.3g}", f"{p[number]:.3f}", f"{q[number]:.3f}"]
            table.add_row(*cells)
        return table

    def _parts(self) -> Table:
        table = Table(
            title="Shares of risk*: what no weights reach, what is not yet learnt, and the noise of the steps"
        )
        for heading in ("compute", "capacity", "not yet learnt", "step noise"):
            table.add_column(heading, justify="right")
        for number, parts in zip(self.rows, self.shares, strict=True):
            table.add_row(f"{self.curves.frontier.compute[number]:.3g}", *_percent(parts))
        return table

    def _of_phase(self) -> str:
        error = self.exponents_error()
        return (
            f"Local exponents: size* ~ C^p (p to {error[0]:.2f}), risk* ~ C^-q (q to {error[1]:.4f}). As compute grows "
            f"without end, in phase {self.phase.name} ({self.phase.balance}): p = {self.phase.size:.4f}, "
            f"q = {self.phase.loss:.4f}."
        )

    def warnings(self) -> Iterator[str]:
        """What numbers must not be trusted for."""
        return said_of(self.law, self.curves, self.phase, self.asked)

    def values(self) -> dict[str, object]:
        """Everything that is said, as numbers."""
        f = self.curves.frontier
        p, q = f.local_exponents()
        return {
            "phase": self.phase._asdict(),
            "best": self.best(),
            "frontier": {"compute": f.compute, "risk": f.risk, "size": f.size, "samples": f.samples(), "p": p, "q": q},
            "shares": {
                name: [np.nan if one is None else float(getattr(one, name)[0] / one.risk[0] / 2) for one in self.shares]
                for name in Shares._fields
            },
            "exponent_errors": self.exponents_error(),
            "what_if": {one.name: one.risk for one in self.changes},
            "critical_batch": self.critical_batch,
            "sum_rule_error": self.curves.sum_rule_error,
            "z_scores": None if self.markers is None else self.markers.z_scores(),
            "warnings": list(self.warnings()),
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """Risks of all sizes, the frontier, and SGD."""
        f = self.curves.frontier
        risk = xr.Dataset(
            {"risk": (("size", "compute"), self.curves.risks)}, {"size": self.curves.sizes, "compute": f.compute}
        )
        best = {"risk": f.risk, "best_size": f.size, "samples": f.samples()}
        found = {
            "sizes": risk,
            "frontier": xr.Dataset({name: ("compute", v) for name, v in best.items()}, {"compute": f.compute}),
        }
        found["frontier"].attrs["sum_rule_error"] = self.curves.sum_rule_error
        if self.markers is not None:
            seen = {"risk": self.markers.sgd, "risk_exact": self.markers.exact}
            found["sgd"] = xr.Dataset(
                {name: (("size", "seed", "step"), v) for name, v in seen.items()},
                {"size": self.markers.sizes, "step": self.markers.steps},
            )
        return found

    def draw(self, figure: "Figure") -> None:
        """Risk against compute, best size and samples, and the plane of phases."""
        from dimfree.questions.scaling.figure import draw_scaling

        draw_scaling(self, figure)


def scaling(
    problem: Problem | str | Path | None = None,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    compute: str | tuple[float, float] = "1e4:1e10",
    largest: float | None = None,
    budget_flops: float | None = None,
    seeds: int = 0,
    seed: int | None = None,
    watch: PartWatcher = nobody,
) -> Scaling:
    """How size, data, rate and batch trade off for a budget of compute, size * batch * steps.

    Arguments: `problem` (of kind power-law, or the path of a TOML file), whose learning rate times the trace of its inputs is
    that of all sizes; `alpha` and `beta` instead of the problem's; `compute`, the first and the last budget; `largest` size of
    the list; `budget_flops`, a single budget; `seeds`, projections for each of a few sizes on which real SGD is run; `seed`
    instead of the problem's.

        print(df.scaling(alpha=0.7, beta=1.2, compute=(1e4, 1e8)).summary())
    """
    chosen = _chosen(QUESTION.settled(problem, seed), alpha, beta, given=problem is not None)
    data = chosen.data
    assert isinstance(data, PowerLaw)
    first, last = _range(compute) if budget_flops is None else _around(budget_flops)
    law = Law(data, chosen.training.learning_rate * _trace(chosen), chosen.training.batch)
    budgets = np.geomspace(first, last, max(2, round(_PER_DECADE * np.log10(last / first)) + 1))
    watch("sizes", 0.0)
    found = curves(law, sizes_for(data, last, largest), budgets)
    asked = budget_flops / FLOPS if budget_flops else float(np.sqrt(first * last))
    f = found.frontier
    shares: list[Shares | None] = []
    for number in range(0, len(budgets), _PER_DECADE):
        known = np.isfinite(f.size[number])
        shares.append(law.shares(f.size[number], f.compute[number]) if known else None)
    answer = Scaling(
        chosen, law, found, phase(data.alpha, data.beta), tuple(shares), asked, (), np.nan, None, bool(budget_flops)
    )
    best = answer.best()
    if budget_flops is None and np.isfinite(best["size"]):
        watch("what if", 0.5)
        listed = tuple(changes(law, best["size"], asked))
        batch = critical_batch(law, best["size"], best["risk"])
    else:
        listed, batch = (), np.nan
    real = markers(law, chosen, seeds, watch) if seeds else None
    watch("done", 1.0)
    return Scaling(chosen, law, found, answer.phase, answer.shares, asked, listed, batch, real, answer.one_line)


def _chosen(problem: OnePassProblem, alpha: float | None, beta: float | None, *, given: bool) -> OnePassProblem:
    """The problem with its exponents; the example has a few inputs for every feature where the trace grows with inputs."""
    changed: dict[str, object] = {
        f"data.{name}": value for name, value in (("alpha", alpha), ("beta", beta)) if value is not None
    }
    if not given and alpha is not None and 2 * alpha <= 1:
        changed["data.inputs"] = PerSize(per_size=4.0)
    found = problem.replace(**changed) if changed else problem
    if not given and changed:
        found = found.replace(**{"training.learning_rate": 0.5 / _trace(found)})
    return found


def _trace(problem: OnePassProblem) -> float:
    assert isinstance(problem.data, PowerLaw)
    return Law(problem.data, 0.0, 1).population(problem.dimension).trace


def _range(compute: str | tuple[float, float]) -> tuple[float, float]:
    try:
        first, last = map(float, compute.split(":") if isinstance(compute, str) else compute)
    except (ValueError, TypeError):
        raise ProblemError(f"compute = {compute!r} is no range; give two numbers, as in 1e4:1e10.") from None
    if not first >= 1e3 or not 100 * first <= last <= 1e24:
        raise ProblemError(
            f"compute from {first:g} to {last:g} was given; give a range of at least two decades between 1e3 and 1e24, so that "
            "exponents can be measured."
        )
    return first, last


def _around(flops: float) -> tuple[float, float]:
    if not FLOPS * 1e4 <= flops <= 1e24:
        raise ProblemError(f"budget_flops = {flops:g} was given; give a number from {FLOPS * 1e4:g} to 1e24.")
    return flops / FLOPS / 10, flops / FLOPS * 10


def _percent(parts: Shares | None) -> tuple[str, ...]:
    if parts is None:
        return "", "", ""
    return tuple(f"{50 * part[0] / parts.risk[0]:.0f} %" for part in parts)
