"""The record of a question: what it is about, which function answers it, and its options at the command line.

Records import nothing heavy, so that `dimfree --help` stays fast: the answer is imported when the question is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from dimfree.errors import ProblemError, RefusalError
from dimfree.progress import PartWatcher
from dimfree.registry import imported, settings

if TYPE_CHECKING:
    from dimfree.problem import Problem
    from dimfree.questions.answer import Answer

P = TypeVar("P", bound="Problem", covariant=True)
_OWN = tuple(
    f"dimfree.questions.{folder}.question:QUESTION"
    for folder in (
        "regimes",
        "exit_times",
        "escape",
        "spectral",
        "bounds",
        "couplings",
        "temperature",
        "stopping",
        "laziness",
        "curves",
        "schedules",
        "scaling",
        "plan",
    )
)


class Option(NamedTuple):
    """An argument of the answering function at the command line; its default is that of the function."""

    help: str
    kind: type[int] | type[float] | type[str]
    default: float | str | None = None
    smallest: int | None = None
    flag: str = ""  # the name of the option, where it differs from the argument's


MOST = 1000  # numbers along one axis of an answer, all of which are computed together


def check_count(name: str, count: int) -> None:
    """Refuse more numbers than an answer may have."""
    if count > MOST:
        raise ProblemError(f"{name} = {count} were asked for, and an answer has at most {MOST}; give fewer.")


@dataclass(frozen=True)
class Question(Generic[P]):
    """A question about a problem other than how training goes."""

    name: str  # the word at the command line, and the name of the files
    help: str  # one line
    asked: str  # the subject of the sentence "... are about training on ...", in the plural
    about: str  # how that sentence ends
    problem: str  # module:class of the problems that it is about
    answer: str  # module:function(problem, **options) -> Answer
    also: tuple[str, ...] = ()  # further classes of problems that it is about, with whatever data
    kinds: tuple[str, ...] = ()  # kinds of data that it is about; left out, all that its problems may have
    structured: bool = False  # whether it is about inputs with a covariance and about momentum, too
    options: Mapping[str, Option] = field(default_factory=dict)
    embedded: Mapping[str, object] = field(
        default_factory=dict
    )  # how its default problem differs from that of its setting
    quick: bool = False  # answered within a moment, so that files are written only on request
    plane: str = ""  # module:function(problem) -> a diagram as data, in which the problem is a point
    sketch: str = ""  # module:function(problem) -> its answer as lines over one key of the problem, as data

    def example(self) -> P:
        """The problem that the question is asked about when none is given."""
        base: P = imported(self.problem)()
        made = base.replace(**self.embedded) if self.embedded else base
        if self.structured:
            made.model_fields_set.discard("dimension")  # which a file of rows brings along
        return made

    def settled(self, problem: "Problem | str | Path | None", seed: int | None = None) -> P:
        """The given problem, or the example, with this seed; an error if the question is not about such problems."""
        from dimfree.comparison.run import settled
        from dimfree.setting import model_of

        given = settled(self.example() if problem is None else problem, {"run.seed": seed})
        cls = imported(self.problem)
        kinds = self.kinds or next(one for one in settings() if one.problem is cls).kinds("data")
        if isinstance(given, cls) and given.data.kind in kinds:
            return self._usual(given)
        if isinstance(given, tuple(imported(one) for one in self.also)):
            return self._usual(given)
        key, words = ("data", kinds)
        if getattr(getattr(given, "data", None), "kind", None) in kinds:  # the same data, trained on in another way
            key, words = "training", next(one for one in settings() if one.problem is cls).kinds("training")
        raise RefusalError(
            f"{self.asked} are about training on {self.about}, and this problem is training on {model_of(given).about}; "
            f"set {key}.kind = {' or '.join(map(repr, words))}."
        )

    def _usual(self, given: Any) -> P:
        unusual = given.beyond_square if self.structured else given.unusual
        if unusual:
            raise RefusalError(f"{self.asked} are not derived for {unusual}; leave it out, or use dimfree compare.")
        return given

    def plane_of(self, problem: "Problem") -> dict[str, object] | None:
        """The diagram in which a problem is a point, as plain data; None for problems that it is not about."""
        return self._drawn(self.plane, problem)

    def sketch_of(self, problem: "Problem") -> dict[str, object] | None:
        """The answer as lines over one key of the problem, whose value lies on them; None for problems that it is not about."""
        return self._drawn(self.sketch, problem)

    def _drawn(self, path: str, problem: "Problem") -> dict[str, object] | None:
        if not path or not isinstance(problem, imported(self.problem)):
            return None
        drawn: dict[str, object] | None = imported(path)(problem)
        return drawn

    def ask(self, problem: "Problem", watch: PartWatcher, **options: object) -> "Answer[P]":
        """Answer the question; what takes time calls `watch` with the part that it is at, and the share of all work done."""
        function = imported(self.answer)
        for name, value in options.items():
            if isinstance(value, float) and isnan(value):
                raise ProblemError(f"{name} = nan was given, which is not a number; give one, or leave it out.")
        if "watch" in signature(function).parameters:
            options["watch"] = watch
        found: Answer[P] = function(problem, **options)
        return found


@lru_cache(maxsize=1)
def questions() -> "tuple[Question[Problem], ...]":
    """All questions, importing nothing heavy."""
    return tuple(map(imported, _OWN))
