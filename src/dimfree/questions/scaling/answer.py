"""Scaling laws: the lowest risk for a budget of compute, the size and samples that reach it, and real SGD
(docs/theory/scaling.md).

Exponents measured at a budget are shown beside those of the phase, which hold as compute goes to infinity; in some
phases the two differ at any compute that can be run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from rich.table import Table

from dimfree.errors import ProblemError
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.own import Projected
from dimfree.onepass.kinds.projection.section.power_law import PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.best_schedule import BestSchedule
from dimfree.onepass.projected.embedding import Parts
from dimfree.onepass.projected.estimate import Estimate, estimate
from dimfree.onepass.projected.phases import Phase, phase
from dimfree.problem import Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.scaling.asked import FLOPS, asked_problem, budgets, check_schedule, trace
from dimfree.questions.scaling.markers import Markers, markers
from dimfree.questions.scaling.scatter import scatter
from dimfree.questions.scaling.theory import Curves, Law, curves, sizes_for
from dimfree.questions.scaling.warnings import said_of, said_of_rows, said_of_table
from dimfree.questions.scaling.what_if import Change, changes, critical_batch, searched, searched_soon
from dimfree.readings.frontier import with_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PER_DECADE = 4  # budgets
_MOST_SEARCHED = 5000  # steps of a schedule


@dataclass(frozen=True, eq=False, repr=False)
class Scaling(Answer[OnePassProblem]):
    """The risk curves of all sizes, their frontier, and the answers for one budget."""

    law: Law
    curves: Curves
    phase: Phase
    estimate: Estimate | None  # of a table
    parts: tuple[Parts | None, ...]  # of the risk at every budget of the table
    asked: float  # the budget that single answers are about
    changes: tuple[Change, ...]
    searched: BestSchedule | None  # for that budget, if the search takes a moment
    critical_batch: float
    scatter: float  # of one projection around the risk of that budget
    markers: Markers | None
    one_line: bool  # whether a single budget was asked for

    @property
    def rows(self) -> range:
        """Which budgets the table has: one for every decade."""
        return range(0, len(self.curves.frontier.compute), _PER_DECADE)

    def best(self) -> dict[str, float]:
        """Size, samples, rate and risk for the single budget that was asked for."""
        f = self.curves.frontier
        logs = np.log(f.compute)
        size, risk = (float(np.exp(np.interp(np.log(self.asked), logs, np.log(v)))) for v in (f.size, f.risk))
        samples = self.asked / size
        rate = self.law.gamma(size) if np.isfinite(size) else np.nan
        return {"compute": self.asked, "size": size, "samples": samples, "learning_rate": rate, "risk": risk}

    def best_schedule(self) -> BestSchedule:
        """The rates of every step that end lowest for the budget of the single answers, and what certifies them."""
        best = self.best()
        steps = round(best["samples"] / self.law.batch) if np.isfinite(best["size"]) else 0
        if self.law.momentum:
            raise ProblemError("the best schedule is searched for plain SGD; leave training.momentum out.")
        if not 0 < steps <= _MOST_SEARCHED:
            raise ProblemError(
                f"the best schedule of {steps} steps was asked for, and up to {_MOST_SEARCHED} are searched; "
                "choose other budgets of compute."
            )
        return searched(self.law, best["size"], steps)

    def said(self) -> Iterator[Table | str]:
        """The table over budgets, the phase, one budget, what else it could buy, SGD, warnings; for one budget a line."""
        best = self.best()
        yield from said_of_rows(self.law, self.estimate)
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
        yield self._shares()
        yield line
        if self.changes:
            table = Table(title=f"What if, at compute {self.asked:.3g}", title_justify="left")
            table.add_column("change")
            table.add_column("risk", justify="right")
            table.add_column("over the best", justify="right")
            for one in self.changes:
                table.add_row(one.name, f"{one.risk:.4g}", f"{one.risk / self.changes[0].risk:.3f}")
            yield table
        if self.searched is not None:
            shape = self.searched.shape
            yield (
                f"The best schedule of all rises for {100 * shape.risen:.0f} % of the steps to {shape.peak:.2g} of the limit of "
                f"stability, and is below half of that after {100 * shape.held:.0f} %."
            )
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
        f = self.curves.frontier
        table = Table(title=f"Scaling: {self.about()}, {self.trained()}")
        for heading in ("compute", "risk*", "size*", "samples", "samples/size", "p", "q"):
            table.add_column(heading, justify="right")
        local, errors = f.local_exponents(), f.exponent_errors()
        for number in self.rows:
            seen = f.risk[number], f.size[number], f.samples()[number], f.samples()[number] / f.size[number]
            cells = [f"{f.compute[number]:.3g}", *("" if np.isnan(v) else f"{v:.3g}" for v in seen)]
            table.add_row(*cells, *(with_error(v[number], e[number]) for v, e in zip(local, errors, strict=True)))
        if np.isfinite(self.phase.size):
            table.add_row("C → ∞", *[""] * 4, f"{self.phase.size:.3f}", f"{self.phase.loss:.3f}")
        return table

    def about(self) -> str:
        """What is projected, in a few words."""
        data = self.law.data
        if isinstance(data, PowerLaw):
            return f"alpha {data.alpha:g}, beta {data.beta:g}"
        name = data.pool.name if data.pool is not None else "a spectrum"
        return f"{name}, {data.inputs_of(1)} inputs"

    def trained(self) -> str:
        """By which rule, in a few words."""
        law = self.law
        words = [f"batch {law.batch}", f"momentum {law.momentum:g}", f"schedule {law.schedule}"]
        return ", ".join(
            word for word, is_said in zip(words, (1, law.momentum, law.schedule != "constant"), strict=True) if is_said
        )

    def _shares(self) -> Table:
        table = Table(title="Shares of risk* (capacity: what no weights reach)")
        for heading in ("compute", "capacity", "not yet learnt", "embedding", "step noise"):
            table.add_column(heading, justify="right")
        for number, parts in zip(self.rows, self.parts, strict=True):
            table.add_row(f"{self.curves.frontier.compute[number]:.3g}", *_percent(parts))
        return table

    def _of_phase(self) -> str:
        local = "Local exponents: size* ~ C^p, risk* ~ C^-q; in brackets what the list of sizes leaves open of the last digits."
        if np.isnan(self.phase.size):
            return f"{local} There is no phase: {self.phase.balance}."
        plain = self.law.schedule == "constant" and not self.law.data.label_noise
        return (
            f"{local} As compute grows without end, in phase {self.phase.name} ({self.phase.balance}): "
            f"p = {self.phase.size:.4f}, q = {self.phase.loss:.4f}"
            + ("." if plain else "; these are worked out for a constant rate and labels without noise.")
        )

    def warnings(self) -> Iterator[str]:
        """What numbers must not be trusted for."""
        if self.estimate is not None:
            yield from said_of_table(self.estimate)
        yield from said_of(self.law, self.curves, self.phase, self.asked, self.scatter)

    def values(self) -> dict[str, object]:
        """All numbers of the answer."""
        f = self.curves.frontier
        (p, q), (p_error, q_error) = f.local_exponents(), f.exponent_errors()
        local = {"p": p, "q": q, "p_error": p_error, "q_error": q_error}
        return {
            "phase": self.phase._asdict(),
            "best": self.best(),
            "frontier": {"compute": f.compute, "risk": f.risk, "size": f.size, "samples": f.samples(), **local},
            "shares": {
                name: [np.nan if one is None else float(one.shares[name][0]) for one in self.parts]
                for name in Parts._fields
            },
            "what_if": {one.name: one.risk for one in self.changes},
            "best_schedule": None if self.searched is None else self.searched._asdict() | self.searched.shape._asdict(),
            "critical_batch": self.critical_batch,
            "scatter": self.scatter,
            "estimate": None if self.estimate is None else self.estimate._asdict(),
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
        (p, q), (p_error, q_error) = f.local_exponents(), f.exponent_errors()
        best = {"risk": f.risk, "best_size": f.size, "samples": f.samples(), "p": p, "q": q}
        best |= {"p_error": p_error, "q_error": q_error}
        found = {
            "sizes": risk,
            "frontier": xr.Dataset({name: ("compute", v) for name, v in best.items()}, {"compute": f.compute}),
        }
        found["frontier"].attrs["sum_rule_error"] = self.curves.sum_rule_error
        if self.markers is not None:
            seen = {"risk": self.markers.sgd, "risk_error": self.markers.error, "risk_exact": self.markers.exact}
            found["sgd"] = xr.Dataset(
                {name: (("size", "seed", "look"), v) for name, v in seen.items()},
                {"size": self.markers.sizes, "steps": (("size", "look"), self.markers.steps)},
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
    features: Any = None,
    labels: Any = None,
    width: int | None = None,
    compute: str | tuple[float, float] | None = None,
    schedule: str = "constant",
    largest: float | None = None,
    budget_flops: float | None = None,
    seeds: int = 0,
    seed: int | None = None,
    watch: PartWatcher = nobody,
) -> Scaling:
    """How size, data, rate and batch trade off for a budget of compute, size * batch * steps.

    Arguments:
        problem: a Problem of kind power-law or projected, or the path of a TOML file; its learning rate times
            the trace of its inputs is that of all sizes
        alpha, beta: exponents instead of the problem's own
        features, labels: a table instead of a problem: arrays, files, or the name of a data set of scikit-learn
        width: learn from this many random ReLU features of the columns
        compute: the first and the last budget
        schedule: of the rate within every budget: "constant", "cosine", "linear" or "wsd"
        largest: the largest size to consider
        budget_flops: a single budget
        seeds: number of projections for each of a few sizes on which real SGD is run
        seed: instead of the problem's own
        watch: called with the name of what runs and the share of all work that is done

        print(df.scaling(alpha=0.7, beta=1.2, compute=(1e4, 1e8)).summary())
    """
    check_schedule(schedule)
    chosen = asked_problem(problem, seed, alpha, beta, features, labels, width)
    data = chosen.data
    assert isinstance(data, ProjectedData)
    first, last = budgets(data.kind, compute, budget_flops)
    training = chosen.training
    if seeds and training.momentum and schedule != "constant":
        raise ProblemError(
            "real SGD with momentum along a schedule is not run; leave seeds, training.momentum or the schedule out."
        )
    law = Law(data, training.learning_rate * trace(chosen), training.batch, training.momentum, schedule)
    spent = np.geomspace(first, last, max(2, round(_PER_DECADE * np.log10(last / first)) + 1))
    watch("sizes", 0.0)
    found = curves(law, sizes_for(data, last, largest), spent)
    asked = budget_flops / FLOPS if budget_flops else float(np.sqrt(first * last))
    of_table, f = _estimate(data, chosen.run.seed), found.frontier
    parts = tuple(
        law.parts(f.size[number], f.compute[number]) if np.isfinite(f.size[number]) else None
        for number in range(0, len(spent), _PER_DECADE)
    )
    in_phase, nothing = _phase(data, of_table), (None, np.nan, np.nan, None)
    answer = Scaling(chosen, law, found, in_phase, of_table, parts, asked, (), *nothing, bool(budget_flops))
    best = answer.best()
    if budget_flops is None and np.isfinite(best["size"]):
        watch("what if", 0.5)
        of_all = searched_soon(law, best["size"], asked)
        answer = replace(
            answer,
            changes=tuple(changes(law, best["size"], asked, of_all)),
            searched=of_all,
            critical_batch=critical_batch(law, best["size"], best["risk"]),
        )
    if np.isfinite(best["size"]):
        answer = replace(answer, scatter=scatter(law, best["size"], asked, chosen.run.seed))
    if seeds:
        answer = replace(answer, markers=markers(law, chosen, (first, last), seeds, watch))
    watch("done", 1.0)
    return answer


def _estimate(data: ProjectedData, seed: int) -> Estimate | None:
    """The exponents of a table; of other data they are known, or not asked for."""
    pool = data.pool
    if not isinstance(data, Projected) or pool is None:
        return None
    assert pool.labels is not None
    return estimate(data.rows(), pool.labels, seed)


def _phase(data: ProjectedData, found: Estimate | None) -> Phase:
    if isinstance(data, PowerLaw):
        return phase(data.alpha, data.beta)
    return phase(np.nan, np.nan) if found is None else phase(found.alpha, found.beta)


def _percent(parts: Parts | None) -> tuple[str, ...]:
    if parts is None:
        return "", "", "", ""
    return tuple(f"{100 * share[0]:.0f} %" for share in parts.shares.values())
