"""Two classes of inputs that differ in their variance."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from dimfree.onepass.kind import DataSection
from dimfree.problem.start import OverlapStart

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem


class TwoGaussians(DataSection):
    """Labels +1 and -1, equally likely, and centred inputs of variance (1 + label * contrast)²/dimension.

    With `signal`, only that many coordinates differ between the classes; the others have variance 1/dimension in both. Left out,
    the other sections are those of the literature on distributional dynamics: many neurons, of which the first layer learns.
    """

    embedded: ClassVar[dict[str, Any]] = {
        "dimension": 40,
        "network": {"width": 400, "activation": {"knots": [0.5, 1.5], "values": [-2.5, 7.5]}},
        "training": {"learning_rate": 0.32, "scheduled": "everything", "second_layer_decay": "same"},
        "start": {"kind": "gaussian", "scale": 0.8},
        "run": {"until": 10.0, "replicas": 4, "points": 21, "spacing": "linear"},
    }
    kind: Literal["two-gaussians"] = "two-gaussians"
    contrast: float = Field(default=0.8, gt=0, lt=1)  # how much the variances of the classes differ
    signal: PositiveInt | None = None
    noise: ClassVar[float] = 0.0  # labels are exact

    @property
    def units(self) -> int:
        """There is no teacher: no direction differs from the others."""
        return 0

    def telling(self, dimension: int) -> int:
        """How many coordinates differ between the classes: all of them unless `signal` is given."""
        return self.signal or dimension

    def check(self, problem: "OnePassProblem") -> None:
        """Check that the coordinates fit, and that the start says where they are."""
        signal = self.telling(problem.dimension)
        if signal > problem.dimension:
            raise ValueError(
                f"data.signal = {signal} coordinates do not fit into dimension {problem.dimension}; "
                "lower data.signal or raise dimension."
            )
        if isinstance(problem.start, OverlapStart) and signal < problem.dimension:
            raise ValueError(
                f"start.kind = 'overlaps' does not say where the {signal} coordinates of data.signal are; "
                "choose 'gaussian', 'sphere' or 'weights'."
            )
