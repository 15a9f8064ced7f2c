"""The answer to which schedule is best: all schedules that were tried, the optimum with its certificate, and real SGD.

docs/theory/schedules.md. The figure is in figure.py, sentences are in words.py, files and exports in export.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from rich.table import Table
from rich.text import Text

from dimfree.errors import ProblemError, suggest
from dimfree.files import replacing
from dimfree.functions.schedule import Written
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import dumps
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.schedules import words
from dimfree.questions.schedules.batches import BatchSchedule, batches
from dimfree.questions.schedules.certificate import Certificate, inside
from dimfree.questions.schedules.confirmation import BY, Confirmation, confirmed, fresh_runs, nearest
from dimfree.questions.schedules.export import SCRIPTS, as_csv, as_optax, as_script, as_torch
from dimfree.questions.schedules.grown import Grown, grown
from dimfree.questions.schedules.knobs import NUMBERS
from dimfree.questions.schedules.optimum import Hunt, Optimum, Tried, samples_per_dimension
from dimfree.questions.schedules.runs import factors_at, looks
from dimfree.questions.schedules.survival import survival
from dimfree.questions.schedules.variants import Look, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLAIN = ("constant", "greedy", "optimal")  # schedules that belong to no family


@dataclass(frozen=True, eq=False, repr=False)
class Schedules(Answer[OnePassProblem]):
    """The best schedule of a problem, beside all others that were tried."""

    hunt: Hunt
    found: Optimum
    notes: tuple[str, ...] = ()
    confirmed: Confirmation | None = None
    export: str = "none"  # the library for which a script is written as well
    looked: tuple[Look, ...] = ()  # batches and momenta that were tried

    @property
    def schedules(self) -> dict[str, Tried]:
        """All schedules by name: `constant` first, `optimal` last."""
        return self.found.tried

    @property
    def schedule(self) -> Written:
        """The best schedule, in the form that a problem takes."""
        return self.schedules["optimal"].written

    @property
    def best(self) -> OnePassProblem:
        """The problem with the best schedule and with the best values of the other knobs."""
        numbers = self.schedules["optimal"].numbers
        return self.hunt.problem_with(numbers).replace(**{"training.schedule": self.schedule})

    @property
    def turned(self) -> dict[str, float]:
        """The best values of the other knobs."""
        training = self.best.training
        names = zip(NUMBERS, self.hunt.numbers, strict=True)
        return {name: float(getattr(training, name)) for name, box in names if box is not None}

    @property
    def chosen(self) -> dict[str, float]:
        """Batch and momentum of the best schedule, and the base rate that goes with them."""
        training = self.best.training
        return {name: float(getattr(training, name)) for name in ("batch", "momentum", "learning_rate")}

    @property
    def certificate(self) -> Certificate:
        """Why it is an optimum."""
        return self.found.certificate

    @property
    def inside(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Where along the run the certificate is looked at: away from the first and the last interval between knots."""
        return inside(self.found.conditions, np.asarray(getattr(self.schedule, "times", ())))

    @property
    def family(self) -> str | None:
        """The best of the families; None where none was tried."""
        names = [name for name in self.schedules if name not in _PLAIN]
        return min(names, key=lambda name: self.schedules[name].risk, default=None)

    @property
    def samples(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Samples per dimension at which rates and risks are given."""
        return np.asarray(samples_per_dimension(self.problem, 1.0) * looks(self.hunt.course.grid))

    def rates(self, name: str = "optimal") -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The learning rate along the run."""
        if name not in self.schedules:
            raise ProblemError(f"there is no schedule {name!r}; {suggest(name, self.schedules)}")
        return self.hunt.problem.training.learning_rate * factors_at(
            self.schedules[name].written, looks(self.hunt.course.grid)
        )

    def gain(self, name: str = "optimal", over: str = "constant", floor: float = 0.0) -> float:
        """The factor by which its final risk, with what nothing can learn added, is below another schedule's, by theory."""
        return (self.schedules[over].risk + floor) / (self.schedules[name].risk + floor)

    def batches(self) -> BatchSchedule:
        """Growing batches that give the same trajectory in samples at a constant rate."""
        return batches(self.best)

    def in_batches(self) -> float | None:
        """The final risk along those batches by the theory; None where the theory is a limit, in which batches change nothing."""
        problem, found = self.best, self.batches()
        rates, sizes = found.one_by_one(problem.dimension)
        ends = self.hunt.course.in_batches(rates / problem.training.learning_rate, sizes)
        return None if ends is None else float(np.exp(np.mean(np.log(ends))))

    def run_batches(self, replicas: int = 32, by: str | None = None) -> Grown:
        """Real SGD along those batches, rounded to powers of 2 times the batch of the problem, from fresh starts."""
        one = BY[self._by(by)]
        starts, key, each = fresh_runs(self.hunt, one, replicas)
        return grown(self.best, one, starts, key, each)

    def confirm(self, replicas: int = 32, by: str | None = None, watch: PartWatcher = nobody) -> "Schedules":
        """The answer with real SGD added, from fresh starts: under the best constant rate, the best family and the optimum."""
        by = self._by(by)
        names = [name for name in ("constant", self.family, "optimal") if name]
        return replace(self, confirmed=confirmed(self.hunt, self.schedules, names, BY[by], replicas, watch))

    def _by(self, asked: str | None) -> str:
        by = nearest(self.problem) if asked is None else asked
        if by not in BY:
            raise ProblemError(f"nothing is confirmed by {by!r}; {suggest(by, BY)}")
        return by

    @property
    def exit_code(self) -> int:
        """0 only if the search converged and, where confirmation was requested, real SGD shows the gain."""
        real = survival(self)
        return 0 if self.certificate.converged and (real is None or real.survives) else 1

    def table(self) -> Table:
        """A row per schedule."""
        real = self.confirmed
        alpha = samples_per_dimension(self.problem, self.problem.run.until)
        table = Table(title=f"Schedules for {alpha:g} samples per dimension")
        table.add_column("schedule")
        for heading in ("final risk", *(["of SGD"] if real else []), "gain", *(["of SGD"] if real else []), "CPU s"):
            table.add_column(heading, justify="right")
        table.add_column("rate")
        for name, one in self.schedules.items():
            measured, gained = ([], []) if real is None else ([real.in_words(name)], [real.gained(name)])
            table.add_row(
                name,
                f"{one.risk:.4g}",
                *measured,
                f"{self.gain(name):.3g}",
                *gained,
                f"{one.cpu_seconds:.1f}",
                Text(one.words),
            )
        return table

    def said(self) -> Iterator[Table | str]:
        """The tables, the certificates, the verdict, and what to distrust."""
        if self.looked:
            yield table_of(self.looked)
        yield self.table()
        yield words.certified(self.certificate)
        yield words.verdict(self)
        if self.confirmed is not None and self.confirmed.floor:
            yield words.whole(self.confirmed.floor)
        if self.looked:
            yield "Chosen: " + ", ".join(f"{name} = {value:.4g}" for name, value in self.chosen.items()) + "."
        if self.turned:
            yield "With it: " + ", ".join(f"{name} = {value:.4g}" for name, value in self.turned.items()) + "."
        yield words.in_batches(self.batches(), self)
        yield from self.warnings

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else to know, one sentence each."""
        return (*self.notes, *words.warnings(self))

    def values(self) -> dict[str, object]:
        """Every schedule with its risk, gain and rates; certificate and confirmation."""
        return {
            "samples_per_dimension": self.samples.tolist(),
            "schedules": {
                name: {
                    "risk": one.risk,
                    "gain": self.gain(name),
                    "rates": self.rates(name).tolist(),
                    "cpu_seconds": one.cpu_seconds,
                    "schedule": one.written.model_dump(mode="json"),
                }
                for name, one in self.schedules.items()
            },
            "numbers": self.turned,
            "looked_at": [look._asdict() for look in self.looked],
            "certificate": self.certificate,
            "confirmed": None if self.confirmed is None else self.confirmed.plain(),
            "batches": {
                "steps": self.batches().steps,
                "instead_of": self.batches().plain_steps,
                "risk": self.in_batches(),
            },
            "verdict": words.verdict(self),
            "warnings": list(self.warnings),
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """Rates and risks of every schedule; the conditions along the optimum."""
        names, base = list(self.schedules), {"samples": self.samples, "schedule": list(self.schedules)}
        data = {
            "rate": (("schedule", "samples"), np.stack([self.rates(name) for name in names])),
            "risk": (("schedule", "samples", "start"), np.stack([one.risks for one in self.schedules.values()])),
        }
        seen, clock = self.found.conditions, samples_per_dimension(self.problem, 1.0)
        optimal = xr.Dataset(
            {
                "pontryagin_ratio": ("samples", seen.ratio),
                "hamiltonian": ("samples", seen.hamiltonian),
                "inside": ("samples", self.inside.astype(np.int8)),
            },
            {"samples": clock * seen.times},
        )
        found = {"schedules": xr.Dataset(data, base), "certificate": optimal}
        return found if self.confirmed is None else found | {"confirmed": self.confirmed.dataset(self.samples)}

    def draw(self, figure: "Figure") -> None:
        """Rates, risks and certificate."""
        from dimfree.questions.schedules.figure import draw_schedules

        draw_schedules(self, figure)

    def save(self, path: str | Path) -> Path:
        """The best problem as .toml, its rates step by step as .csv, for another library as .py, or everything as netCDF."""
        path = Path(path)
        match path.suffix:
            case ".toml":
                text = dumps(self.best)
            case ".csv":
                text = as_csv(self.best)
            case ".py":
                text = as_script(self.best, self.export)
            case _:
                return super().save(path)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return path

    def files(self, folder: Path, name: str) -> dict[str, Path]:
        """Write all files, and return them by what they are."""
        kinds = {"problem": ".toml", "rates": ".csv", "results": ".nc"}
        kinds |= {"script": f"_{self.export}.py"} if self.export in SCRIPTS else {}
        written = {kind: self.save(folder / f"best{suffix}") for kind, suffix in kinds.items()}
        figure = folder / "best.png"
        self.plot(figure)
        return written | {"figure": figure}

    def to_optax(self) -> Any:
        """The best rates as a schedule of optax: a function of the step."""
        return as_optax(self.best)

    def to_torch(self, optimizer: Any) -> Any:
        """The best rates as a scheduler of a torch optimizer, whose own lr must be the base learning rate."""
        return as_torch(self.best, optimizer)
