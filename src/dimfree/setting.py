"""The record of a setting: its problem class, and the paths of all that belongs to it.

Comparison, results and the command line name no setting; they read the record. Paths are imported when they are used, so that
reading a problem needs neither jax nor matplotlib.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, cast

from dimfree.problem import Problem
from dimfree.registry import imported, setting_of

if TYPE_CHECKING:
    import jax
    import numpy as np
    import xarray as xr
    from matplotlib.figure import Figure

    from dimfree.animation import Scene
    from dimfree.description import AnyDescription, Description, Model


class Variable(NamedTuple):
    """One observable as it is stored."""

    dims: tuple[str, ...]  # the first two are time and replica
    units: str
    meaning: str
    share: bool = False  # whether it is a share of all samples, which summaries print in per cent


class Scale(NamedTuple):
    """A number for every index along one axis of observables."""

    dim: str
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    meaning: str


Recipe = dict[str, object]  # plain data that JSON can hold

RISK = Variable(("time", "replica"), "1", "population risk")


@dataclass(frozen=True)
class Setting:
    """One kind of training: problems, descriptions, observables, figure."""

    name: str  # completes the sentence "this problem is training on ..."
    problem: type[Problem]
    model: str  # module:function(problem) -> Model
    start: str  # module:function(problem, key, needs); what it returns is handed to the descriptions
    figure: str  # module:function(figure, problem, accounts): draws into an empty figure
    template: str  # the commented problem that `dimfree new` writes: package:file, or the text itself
    descriptions: Mapping[str, str]  # name -> module:class, experiments first
    simulation: str  # what `simulate` runs
    theory: str  # what `solve` runs
    variables: Mapping[str, Variable] = field(default_factory=lambda: {"risk": RISK})
    lacks: str = ""  # module:function(problem, needs) -> why no start has what is needed, or None
    notes: str = ""  # module:function(problem) -> what else `show` should say, or None
    scales: str = (
        ""  # module:function(problem) -> coordinates along axes of observables, by name: what an index stands for
    )
    recipe: str = ""  # module:function(problem) -> how a page without Python draws the same start, or why it cannot
    scene: str = (
        ""  # module:function(figure, problem, accounts) -> Scene: a figure that moves; left out, the risk alone
    )

    def kinds(self, section: str) -> tuple[str, ...]:
        """The kinds that a section of the problem may have."""
        return tuple(kind for one in self.problem.sections(section) if (kind := one.own_kind()) is not None)

    def model_of(self, problem: Problem) -> "Model":
        """The problem in the letters of its theory sheet."""
        found: Model = _cached_model(self.model, problem, problem.stamps)
        return found

    def start_of(self, problem: Problem, key: "jax.Array", needs: frozenset[str]) -> object:
        """A start, the same for all descriptions that run from it."""
        drawn: object = imported(self.start)(problem, key, needs)
        return drawn

    def why_no_start(self, problem: Problem, needs: frozenset[str]) -> str | None:
        """Why no start of this problem can have what a description needs, in one sentence; None if one can."""
        reason: str | None = imported(self.lacks)(problem, needs) if self.lacks else None
        return reason

    def draw(self, figure: "Figure", problem: Problem, accounts: "Mapping[str, xr.Dataset]") -> None:
        """The figure of a comparison."""
        imported(self.figure)(figure, problem, accounts)

    def scene_of(self, figure: "Figure", problem: Problem, accounts: "Mapping[str, xr.Dataset]") -> "Scene | None":
        """The animated figure of a comparison; None if the setting has none."""
        drawn: Scene | None = imported(self.scene)(figure, problem, accounts) if self.scene else None
        return drawn

    def remark(self, problem: Problem) -> str | None:
        """What `dimfree show` says about a problem besides its keys; None if that is nothing."""
        said: str | None = imported(self.notes)(problem) if self.notes else None
        return said

    def scales_of(self, problem: Problem) -> "Mapping[str, Scale]":
        """The values that the indices of observables stand for, such as eigenvalues."""
        found: Mapping[str, Scale] = imported(self.scales)(problem) if self.scales else {}
        return found

    def recipe_of(self, problem: Problem) -> Recipe | str:
        """How a page without Python draws the start of a seed (lab/page/start.js), or why it cannot, in one sentence."""
        if not self.recipe:
            return f"a page without a server cannot draw a start of training on {self.name}; use the server."
        made: Recipe | str = imported(self.recipe)(problem)
        return made

    def commented_problem(self) -> str:
        """The text of the template."""
        if "\n" in self.template:
            return self.template
        package, _, name = self.template.partition(":")
        return files(package).joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=256)
def _cached_model(path: str, problem: Problem, stamps: tuple[tuple[int, int], ...]) -> "Model":
    made: Model = imported(path)(problem)
    return made


def model_of(problem: Problem) -> "Model":
    """Structure and numbers of a problem, by its setting."""
    return setting_of(problem).model_of(problem)


def why_not(one: "AnyDescription", problem: Problem) -> str | None:
    """Why a description does not apply to a problem, in one sentence: another model, no such start, or its own reason."""
    setting, model = setting_of(problem), model_of(problem)
    if not isinstance(model, one.models):
        return f"it describes training on {one.models.about}, and this problem is training on {model.about}."
    return setting.why_no_start(problem, one.needs) or speaking(one).refuses(problem, model)


def speaking(one: "AnyDescription") -> "Description[Model, object]":
    """The same description, typed for any model: `why_not` makes sure that it only gets models of the type that it applies to."""
    return cast("Description[Model, object]", one)
