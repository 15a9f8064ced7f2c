"""How a scalar function is written in a problem: a name, coefficients, a `module:function` path, or a Python callable."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dimfree.errors import suggest
from dimfree.problem.base import Section

NAMES = ("erf", "relu", "linear", "square", "tanh", "sigmoid", "softplus", "hard-tanh", "leaky-relu", "sin", "cos")
HERMITE_NAME = re.compile(r"he([0-9]|1[0-9])")
PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class Hermite(Section):
    """sum_j hermite[j] He_j(x), with the unnormalised probabilists' polynomials (`he3` is hermite = [0, 0, 0, 1])."""

    title: ClassVar[str] = "a Hermite activation"
    hermite: tuple[float, ...] = Field(min_length=1, max_length=21)


class Polynomial(Section):
    """sum_j polynomial[j] x^j."""

    title: ClassVar[str] = "a polynomial activation"
    polynomial: tuple[float, ...] = Field(min_length=1, max_length=21)


class PiecewiseLinear(Section):
    """Linear between `knots`, with the given slopes outside; slopes of zero truncate."""

    title: ClassVar[str] = "a piecewise-linear activation"
    knots: tuple[float, ...] = Field(min_length=1)
    values: tuple[float, ...] = Field(min_length=1)
    left_slope: float = 0.0
    right_slope: float = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> "PiecewiseLinear":
        if len(self.knots) != len(self.values):
            raise ValueError(
                f"{len(self.knots)} knots and {len(self.values)} values were given; give one value per knot."
            )
        if any(right <= left for left, right in pairwise(self.knots)):
            raise ValueError(f"knots {list(self.knots)} must increase strictly.")
        return self


Written = str | Hermite | Polynomial | PiecewiseLinear | Callable[..., Any]


def _read(value: Any) -> Any:
    if isinstance(value, str):
        if value in NAMES or HERMITE_NAME.fullmatch(value) or PATH.fullmatch(value):
            return value
        raise ValueError(
            f"there is no activation {value!r}; {suggest(value, (*NAMES, 'he3'))} "
            "Any jax.numpy function of your own can be named as 'module:function'."
        )
    if isinstance(value, dict):
        for form in (Hermite, Polynomial, PiecewiseLinear):
            if next(iter(form.model_fields)) in value:
                return form(**value)
        raise ValueError("an activation given as a table needs the key 'hermite', 'polynomial' or 'knots'.")
    return value


def _write(value: Any) -> Any:
    """Callables are written as a path when they can be imported again, and marked as code otherwise."""
    if isinstance(value, Section):
        return {key: list(item) if isinstance(item, tuple) else item for key, item in value.model_dump().items()}
    if callable(value):
        module, name = getattr(value, "__module__", "?"), getattr(value, "__qualname__", type(value).__name__)
        code = getattr(value, "__code__", None)
        fingerprint = code.co_code.hex()[:32] + repr(code.co_consts) if code and "<" in name else ""
        return f"{module}:{name}{fingerprint}"
    return value


Activation = Annotated[Written, BeforeValidator(_read), PlainSerializer(_write, when_used="json")]
