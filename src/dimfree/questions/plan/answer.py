"""From a table to a plan: what the table is like, a fitted teacher, the best training in theory, and real SGD on the rows.

docs/theory/structured.md, section 3. All choices are made on validation rows; the rows that risks are measured on are used once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from rich.table import Table as TextTable

from dimfree.errors import ProblemError
from dimfree.files import replacing
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import Problem, dumps
from dimfree.problem.loss import loss_name
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.plan.columns import Columns, look_at
from dimfree.questions.plan.learning import Learning, learning
from dimfree.questions.plan.question import QUESTION
from dimfree.questions.plan.script import script
from dimfree.questions.plan.search import Choice
from dimfree.questions.plan.splits import kept
from dimfree.questions.plan.splits import splits as parted
from dimfree.questions.plan.table import Table, Wish, read
from dimfree.questions.plan.trial import FOLLOWED, PLAN, Trial, tried
from dimfree.questions.plan.verdict import Mean, against, bracket, mean_of, off_by, verdicts, warnings
from dimfree.questions.plan.wishes import check_batch, learning_by, listed, plain, samples_at, widths_of, yes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 100  # splits, and seeds


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Answer[OnePassProblem]):
    """The plan of the first split as `problem`, and what all splits gave."""

    table: Table
    columns: Columns
    learning: Learning | None
    samples: int
    compute: float | None
    trials: tuple[Trial, ...]

    @property
    def choice(self) -> Choice:
        """Width, rate, batch and schedule."""
        return self.trials[0].choices[PLAN]

    def said(self) -> Iterator[TextTable | str]:
        """The table, its spectrum, what a ridge can do, the teacher, the plan, its check, and what to believe."""
        t, c = self.table, self.columns
        rows = t.moments.count
        yield (
            f"{t.name}: {rows} rows, {int(c.varies.sum())} columns that vary, target {t.target}; columns are centred and scaled "
            f"{'together' if c.scale == 'common' else 'one by one'} (scale = {c.scale!r})."
        )
        yield from (*t.said, *c.said)
        falls = f"eigenvalues fall as rank^-{c.exponent:.2f}, " if np.isfinite(c.exponent) else ""
        yield (
            f"Spectrum: {falls}the largest has {100 * c.spectrum[0] / c.spectrum.sum():.0f} % of the variance, effective rank "
            f"{c.effective_rank:.3g}."
        )
        if self.learning is not None:
            yield self.learning.table()
            yield "The risk of the best ridge, half the mean square for labels of variance 1; alpha is scikit-learn's."
        yield self._teachers()
        first = self.trials[0].fit
        left = (
            f"{first.train:.3f}, what the chosen teacher leaves on rows it was fitted to, and {first.validation:.3f} on"
        )
        if self.problem.training.needs_signs:
            yield f"The mean logistic loss is between {left} validation rows; theory takes classes to be drawn from the teacher."
        elif self.problem.training.beyond_square:
            yield (
                f"Twice the mean {loss_name(self.problem.training.loss)} loss is between {left} validation rows; theory takes "
                f"Gaussian noise that leaves their mean, of variance {first.noise:.3f}."
            )
        else:
            yield f"Label noise lies between {left} validation rows; theory takes their mean, {first.noise:.3f}."
        if self.compute is not None:
            yield (
                f"{self.compute:.3g} multiplications, two for each weight and sample, are {self.samples} samples at width "
                f"{self.choice.width}; the width was chosen in the first split."
            )
        yield (
            f"Plan for {self.samples} samples ({self.trials[0].epochs[-1]:.3g} epochs): "
            f"{self.choice.said(self.problem.dimension)}."
        )
        yield self._ends()
        yield from map(self._checked, FOLLOWED)
        if pairs := [one.wrong for one in self.trials if one.wrong is not None]:
            predicted, measured = np.mean(pairs, axis=0)
            yield f"Test error of the plan: {100 * measured:.1f} % of held-out rows, predicted {100 * predicted:.1f} %."
        yield from verdicts(self.trials)
        yield from (f"Warning: {one}" for one in warnings(self.trials))

    def _teachers(self) -> TextTable:
        what = "variance" if self.problem.training.beyond_square is None else "a constant's loss"
        table = TextTable(title=f"Fitted teachers: share of {what} explained")
        for heading in ("teacher", "validation", "held-out rows"):
            table.add_column(heading, justify="left" if heading == "teacher" else "right")
        first = self.trials[0].fit
        for name, left in first.tried.items():
            table.add_row(name, f"{1 - left / first.nothing:.3f}", "")
        for name in self.trials[0].explained:
            found = mean_of([np.array([one.explained[name]]) for one in self.trials if name in one.explained])
            error = f"({found.error:.3f})" if np.isfinite(found.error) else ""
            table.add_row(f"chosen: {name}" if name != "ridge" else "ridge", "", f"{found.value:.3f}{error}")
        return table

    def _ends(self) -> TextTable:
        table = TextTable(title=f"Held-out risk after {self.samples} samples, {_of(len(self.trials), 'split')}")
        for heading in ("training", "rate", "batch", "risk", "plan beside it"):
            table.add_column(heading, justify="left" if heading == "training" else "right")
        for name, choice in self.trials[0].choices.items():
            found = mean_of([one.ends[name] for one in self.trials])
            error = f"({found.error:.4f})" if np.isfinite(found.error) else ""
            beside = "" if name == PLAN else str(against(self.trials, name))
            table.add_row(name, f"{choice.rate:.3g}", str(choice.batch), f"{found.value:.4f}{error}", beside)
        return table

    def _checked(self, name: str) -> TextTable:
        table = TextTable(title=f"Held-out risk, predicted over measured: {name}")
        for heading in ("epochs", "predicted", "measured", "off by", "excess off by"):
            table.add_column(heading, justify="right")
        for number, epoch in enumerate(self.trials[0].epochs):
            off = (off_by(self.trials, number, excess=one, name=name) for one in (False, True))
            means = [np.mean([one[name][number] for one in self._courses(kind)]) for kind in ("predicted", "measured")]
            table.add_row(f"{epoch:.3g}", *(f"{value:.4f}" for value in means), *map(str, off))
        return table

    def _courses(self, kind: str) -> list[dict[str, Float[np.ndarray, "t seeds"]]]:
        return [getattr(one, kind) for one in self.trials]

    def values(self) -> dict[str, object]:
        """Everything that is said, as numbers."""
        return {
            "table": {"name": self.table.name, "rows": self.table.moments.count, "columns": list(self.table.columns)},
            "target": self.table.target,
            "scale": self.columns.scale,
            "spectrum": {"exponent": self.columns.exponent, "effective_rank": self.columns.effective_rank},
            "learning_curve": None if self.learning is None else self.learning._asdict(),
            "samples": self.samples,
            "compute": self.compute,
            "plan": self.choice._asdict(),
            "teachers": [{"tried": one.fit.tried, "explained": one.explained} for one in self.trials],
            "noise": [
                {"train": one.fit.train, "validation": one.fit.validation, "taken": one.fit.noise}
                for one in self.trials
            ],
            "limits": {"rows": self.trials[0].found.limits[0], "gaussian": self.trials[0].found.limits[1]},
            "risk": {name: _numbers(mean_of([one.ends[name] for one in self.trials])) for name in self.trials[0].ends},
            "plan_against": {
                name: _numbers(against(self.trials, name)) for name in self.trials[0].ends if name != PLAN
            },
            "loss": loss_name(self.problem.training.loss),
            "test_error": [one.wrong for one in self.trials if one.wrong is not None],
            "epochs": self.trials[0].epochs,
            "off_by": {name: self._off_by(name) for name in FOLLOWED},
            "off_within_bracket": bracket(self.trials),
            "said": [*self.table.said, *self.columns.said],
            "verdicts": list(verdicts(self.trials)),
            "warnings": list(warnings(self.trials)),
        }

    def _off_by(self, name: str) -> dict[str, list[dict[str, float]]]:
        numbers = range(len(self.trials[0].epochs))
        return {
            kind: [_numbers(off_by(self.trials, n, excess=kind == "excess", name=name)) for n in numbers]
            for kind in ("total", "excess")
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """The runs of the plan beside their prediction, and all ends."""
        along = ("split", "epoch", "seed")
        curves = {
            f"{kind}_{name.replace(' ', '_')}": (along, np.stack([one[name] for one in self._courses(kind)]))
            for kind in ("predicted", "measured")
            for name in FOLLOWED
        }
        ends = {
            name.replace(" ", "_"): (("split", "seed"), np.stack([one.ends[name] for one in self.trials]))
            for name in self.trials[0].ends
        }
        return {
            "plan": xr.Dataset(curves, {"epoch": self.trials[0].epochs}),
            "ends": xr.Dataset(ends),
            "spectrum": xr.Dataset({"eigenvalue": ("rank", self.columns.spectrum)}),
        }

    def files(self, folder: Path, name: str) -> dict[str, Path]:
        """Figure and results, and what trains by the plan: a problem of dimfree with its arrays, and a script for optax."""
        written = super().files(folder, name)
        problem, arrays = kept(self.problem, folder, name)
        texts = {
            "problem": (f"{name}.toml", dumps(problem)),
            "script": (f"{name}_optax.py", script(problem, self.choice, self.table.name, name)),
        }
        for kind, (file, text) in texts.items():
            written[kind] = folder / file
            with replacing(written[kind]) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return written | arrays

    def draw(self, figure: "Figure") -> None:
        """Prediction and measurement along the plan, and the ends beside the baselines."""
        from dimfree.questions.plan.figure import draw_plan

        draw_plan(self, figure)


def plan(
    problem: Problem | str | Path | None = None,
    *,
    features: Any = "digits",
    target: Any = None,
    columns: str | Sequence[str] | None = None,
    one_hot: str | bool | None = None,
    impute: str | None = None,
    positive: str | None = None,
    scale: str | None = None,
    budget: float | None = None,
    compute: float | None = None,
    loss: str | None = None,
    offsets: str | bool | None = None,
    widths: str | Sequence[int] = "2,4,8",
    batch: int | None = None,
    splits: int = 3,
    seeds: int = 4,
    seed: int | None = None,
    watch: PartWatcher = nobody,
) -> Plan:
    """A plan of training for your own table: width, rate, batch and schedule, run for real on rows that are held out.

    Arguments:
        problem: its network's activation, its start and its seed are used; without it, erf units
        features: the table: a file, a frame or an array
        target: what is learned: a column of the table, a file of labels or an array
        columns: the columns to learn from; by default all others
        one_hot: whether words become columns of 0 and 1
        impute: how to fill in missing values
        positive: the class that counts as +1
        scale: "common" divides all columns by one number, "each" every column by its own
        budget: number of samples to draw
        compute: instead of it, number of multiplications of a run: two for each weight and sample, so that a wider network draws
            fewer samples
        loss: "square", "huber" or, for two classes, "logistic"
        offsets: whether units of the fitted teacher have offsets
        widths: widths to choose from
        batch: instead of the largest batch that is stable
        splits: number of ways to split the rows
        seeds: number of runs for each split
        seed: instead of the problem's own
        watch: called with the name of what runs and the share of all work that is done

        print(df.plan(features="diabetes", splits=1, seeds=2, widths=[2]).summary())
    """
    base = learning_by(plain(QUESTION.settled(problem, seed)), loss)
    for name, count, least in (("splits", splits, 1), ("seeds", seeds, 2)):
        if not least <= count <= _MOST:
            raise ProblemError(f"{name} = {count} was given; give a number from {least} to {_MOST}.")
    bent = yes("offsets", offsets)
    wish = Wish(listed(columns), yes("one_hot", one_hot), impute, positive)
    watch("reading the table", 0.0)
    table = read(features, target, wish, base.run.seed)
    if base.training.needs_signs and table.classes is None:
        raise ProblemError(
            f"loss = 'logistic' was given, and {table.target} has more than two values; name one of them as positive, or choose "
            "square."
        )
    found = look_at(table, scale)
    parts = parted(table, found, splits, base.run.seed)
    rows = len(parts[0].learnt)
    samples = samples_at(widths_of(widths), budget, compute, rows, int(found.varies.sum()))
    check_batch(batch, rows)
    curve = learning(parts[0])
    trials: list[Trial] = []
    for number, part in enumerate(parts):
        report = _nested(watch, number, len(parts))
        trials.append(tried(part, base, samples, batch, seeds, report, offsets=bent))
        if compute is not None:  # so that all splits draw as many samples
            samples = {width: samples[width] for width in (trials[0].choices[PLAN].width,)}
    watch("done", 1.0)
    drawn = samples[trials[0].choices[PLAN].width]
    return Plan(trials[0].problem, table, found, curve, drawn, compute, tuple(trials))


def _nested(watch: PartWatcher, number: int, count: int) -> PartWatcher:
    return lambda part, share: watch(f"split {number + 1} of {count}: {part}", (number + share) / count)


def _of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _numbers(found: Mean) -> dict[str, float]:
    return {"mean": found.value, "error": found.error}
