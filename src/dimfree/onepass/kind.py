"""A kind of data: the record of everything specific to it, as a setting is the record of a kind of training.

Code that runs SGD or a limit asks the model, which a kind makes; code that reads, draws or explains a problem asks the record.
Paths are imported when they are used, so that reading a problem needs no jax. Other packages add kinds by the entry point
`dimfree.kinds`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dimfree.machine import refuse_above_memory
from dimfree.onepass.inputs.covariance import Isotropic
from dimfree.onepass.inputs.directions import Directions
from dimfree.onepass.inputs.spectrum import Spectrum, spectrum
from dimfree.problem.section import Section
from dimfree.registry import imported, plugged_in

if TYPE_CHECKING:
    import jax
    import xarray as xr
    from matplotlib.figure import Figure

    from dimfree.onepass.problem import OnePassProblem
    from dimfree.onepass.rule import OnePassModel
    from dimfree.onepass.start import Start
    from dimfree.setting import Recipe

KINDS_GROUP = "dimfree.kinds"
_MATRICES = 4  # matrices of all pairs of teachers that are in memory together
_OWN = "dimfree.onepass.kinds:OWN"


class DataSection(Section):
    """The section [data] of a kind. `units` directions are drawn with a start, and labels have noise of variance `noise`."""

    title: ClassVar[str] = "[data]"
    embedded: ClassVar[dict[str, Any]] = {}  # values of other sections, for keys that are left out
    any_loss: ClassVar[bool] = False  # whether losses other than the square loss are worked out for this kind
    linear_momentum: ClassVar[bool] = False  # whether momentum is worked out although there is no teacher
    kind: str

    if TYPE_CHECKING:  # these are fields in some kinds, and constants in others

        @property
        def units(self) -> int: ...
        @property
        def noise(self) -> float: ...

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Values for keys of the problem that may have been left out, given those that were not."""
        return cls.embedded

    def check(self, problem: "OnePassProblem") -> None:
        """Refuse, in one sentence, sections that this kind of data cannot be combined with."""

    @property
    def teacher_overlap(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """P, the overlap matrix of the teacher's directions."""
        units = self.units
        refuse_above_memory(_MATRICES * 8.0 * units**2, f"the overlaps of {units} teachers", "lower data.units")
        return np.eye(units)

    @property
    def correlated(self) -> bool:
        """Whether inputs have a covariance other than the identity."""
        return False

    @property
    def learns_labels(self) -> bool:
        """Whether labels are those of the user's rows."""
        return False

    @property
    def signs(self) -> bool:
        """Whether labels are the classes +1 and -1."""
        return False

    @property
    def label_classes(self) -> int | None:
        """How many classes labels have, where a network may have an output for each; None where it may not."""
        return None

    @property
    def noise_without_mean(self) -> str | None:
        """The law of the label noise in words, if it has no mean."""
        return None

    @property
    def beyond_square(self) -> str | None:
        """Labels that are not values with Gaussian noise, in words; None if they are."""
        return None

    @property
    def given_directions(self) -> Directions | None:
        """The directions of teachers, unless they are random."""
        return None

    @property
    def unusual(self) -> str | None:
        """What most limits are not derived for, in words; None if there is no such thing."""
        return None

    def spectrum(self, problem: "OnePassProblem") -> Spectrum:
        """The covariance of the inputs in numbers."""
        return spectrum(Isotropic(), problem.dimension)

    def given_teachers(self, problem: "OnePassProblem") -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
        """Teachers in the eigenbasis that belong to the data, not to a start; None where a start has its own."""
        return None


@dataclass(frozen=True)
class Kind:
    """One kind of data: its section, and the paths of the functions that use it."""

    sections: tuple[type[DataSection], ...]
    model: str  # module:function(problem) -> OnePassModel
    start: str  # module:function(problem, key, vectors, nodes) -> Start
    figure: str  # module:function(figure, problem, accounts): draws into an empty figure
    notes: str = ""  # module:function(problem) -> what else `show` should say, or None
    recipe: str = ""  # module:function(problem) -> how a page without Python draws the same start, or why it cannot

    @property
    def names(self) -> frozenset[str]:
        """Values of data.kind."""
        return frozenset(str(section.model_fields["kind"].default) for section in self.sections)

    def model_of(self, problem: "OnePassProblem") -> "OnePassModel":
        """The problem in the letters of its theory sheet."""
        made: OnePassModel = imported(self.model)(problem)
        return made

    def start_of(self, problem: "OnePassProblem", key: "jax.Array", vectors: bool, nodes: bool) -> "Start":
        """Where training begins; with `vectors` as weights, too, and with `nodes` ready for equations of many eigenvalues."""
        drawn: Start = imported(self.start)(problem, key, vectors, nodes)
        return drawn

    def recipe_of(self, problem: "OnePassProblem") -> "Recipe | str":
        """How a page draws the same start, or why it cannot."""
        if not self.recipe:
            return f"a page without a server cannot draw starts of data.kind = {problem.data.kind!r}; use the server."
        made: Recipe | str = imported(self.recipe)(problem)
        return made

    def draw(self, figure: "Figure", problem: "OnePassProblem", accounts: "Mapping[str, xr.Dataset]") -> None:
        """The figure of a comparison."""
        imported(self.figure)(figure, problem, accounts)

    def remark(self, problem: "OnePassProblem") -> str | None:
        """What else `dimfree show` says about a problem."""
        said: str | None = imported(self.notes)(problem) if self.notes else None
        return said


@lru_cache(maxsize=1)
def kinds() -> tuple[Kind, ...]:
    """Every kind; the first is that of the embedded problem."""
    found: list[Kind] = [*imported(_OWN)]
    found += plugged_in(KINDS_GROUP, {name for one in found for name in one.names}, lambda one: one.names)
    return tuple(found)


def sections() -> tuple[type[DataSection], ...]:
    """The sections [data] that a problem may have."""
    return tuple(section for one in kinds() for section in one.sections)


def kind_of(problem: "OnePassProblem") -> Kind:
    """The kind whose data these are."""
    return next(one for one in kinds() if isinstance(problem.data, one.sections))
