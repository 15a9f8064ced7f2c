"""Labels that a few of many signs decide, by Fourier coefficients (docs/theory/mean-field.md, section d)."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, NonNegativeFloat, PlainSerializer, model_validator

from dimfree.onepass.kind import DataSection
from dimfree.problem.start import OverlapStart

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

MOST_COORDINATES = 20  # averages are sums over all 2^P signs that decide a label


def _read(given: Any) -> Any:
    """A table of supports, or the pairs that it is kept as; supports are written in increasing order."""
    pairs = given.items() if isinstance(given, dict) else given
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise ValueError('coefficients are a table such as {"1" = 1.0, "1,2" = 1.0}.')
    read = [(_support(key), _number(key, value)) for key, value in (_pair(pair) for pair in pairs)]
    keys = [key for key, _ in read]
    if twice := next((key for n, key in enumerate(keys) if key in keys[:n]), None):
        raise ValueError(f"coefficients name the product of coordinates {twice!r} twice; give one number for it.")
    return tuple(read)


def _pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ValueError('coefficients are a table such as {"1" = 1.0, "1,2" = 1.0}.')
    return pair[0], pair[1]


def _support(key: Any) -> str:
    if not isinstance(key, str) or not re.fullmatch(r"\s*([1-9]\d{0,14}\s*(,\s*[1-9]\d{0,14}\s*)*)?", key):
        raise ValueError(
            f'the key {key!r} of coefficients is not a list of coordinates; write it as in "1,2", counting from 1.'
        )
    coordinates = [int(part) for part in key.split(",")] if key.strip() else []
    if len(set(coordinates)) < len(coordinates):
        raise ValueError(
            f"the key {key!r} of coefficients names a coordinate twice, and the square of a sign is 1; leave both out."
        )
    return ",".join(map(str, sorted(coordinates)))


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the coefficient of {key!r} is {value!r}; give a number.")
    return float(value)


Coefficients = Annotated[tuple[tuple[str, float], ...], BeforeValidator(_read), PlainSerializer(dict)]


class Hypercube(DataSection):
    """Uniform inputs in {-1, 1}^d, divided by sqrt(d), labels h(z) + noise with z a few of the d signs.

    `coefficients` are those of h = sum_S coefficients[S] prod_{i in S} z_i, by the coordinates of S counted from 1: {"1": 1.0,
    "1,2": 0.5} is z_1 + z_1 z_2 / 2, and "" stands for the constant. Products with coefficient 0 are only observed. Left out, the
    other sections are those of the literature on staircases: many sigmoid neurons, of which both layers learn, on batches.
    """

    embedded: ClassVar[dict[str, Any]] = {
        "dimension": 100,
        "network": {
            "width": 200,
            "activation": "sigmoid",
            "bias_start": -0.5,  # no derivative vanishes there
            "trained": ["first-layer", "second-layer"],
            "second_layer_start": "uniform",
        },
        "training": {"learning_rate": 1000.0, "batch": 100, "scheduled": "everything"},
        "run": {"until": 40.0, "replicas": 8, "points": 21, "spacing": "linear"},
    }
    kind: Literal["hypercube"] = "hypercube"
    coefficients: Coefficients = (("1", 1.0), ("1,2", 1.0))
    noise: NonNegativeFloat = 0.0
    units: ClassVar[int] = 0  # no direction is drawn: the coordinates are given

    @model_validator(mode="after")
    def _consistent(self) -> "Hypercube":
        if not any(value for support, value in self.coefficients if support):
            raise ValueError("the label is constant: no product has a coefficient, so there is nothing to learn.")
        if len(self.coordinates) > MOST_COORDINATES:
            raise ValueError(
                f"the label depends on P = {len(self.coordinates)} coordinates, and averages are sums over all 2^P signs; "
                f"give coefficients of at most {MOST_COORDINATES} coordinates."
            )
        return self

    @property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of every product, counted from 1."""
        return tuple(tuple(int(part) for part in key.split(",") if part) for key, _ in self.coefficients)

    @property
    def weights(self) -> tuple[float, ...]:
        """The coefficient of every product."""
        return tuple(value for _, value in self.coefficients)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The coordinates that the label depends on, counted from 1, in increasing order."""
        return tuple(sorted({i for support in self.supports for i in support}))

    def check(self, problem: "OnePassProblem") -> None:
        """Refuse coordinates beyond the dimension, and starts that do not say what the weights are along them."""
        if self.coordinates[-1] > problem.dimension:
            raise ValueError(
                f"data.coefficients name the coordinate {self.coordinates[-1]} of inputs of dimension {problem.dimension}; "
                "raise dimension, or count coordinates from 1."
            )
        if isinstance(problem.start, OverlapStart):
            raise ValueError(
                "start.kind = 'overlaps' does not say what weights are along the axes of a hypercube; "
                "choose 'gaussian', 'sphere' or 'weights'."
            )
