"""How a scalar function is written in a problem: a name, coefficients, a `module:function` path, or a Python callable."""

import re
import sys
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from itertools import pairwise
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dimfree.errors import suggest
from dimfree.problem.section import Section

NAMES = (
    *("erf", "relu", "linear", "square", "tanh", "sigmoid", "softplus", "hard-tanh", "leaky-relu", "sin", "cos"),
    *("ramp", "dip-ramp", "truncated-relu"),
)
SIGN = "sign"  # for features, of which only averages are used; no network can be trained with it
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
    knots: tuple[float, ...] = Field(min_length=1, max_length=1000)  # averages are split at all pairs of knots
    values: tuple[float, ...] = Field(min_length=1, max_length=1000)
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
    return _read_among(NAMES, value)


def _read_feature(value: Any) -> Any:
    return _read_among((*NAMES, SIGN), value)


def _read_among(names: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, str):
        if value in names or HERMITE_NAME.fullmatch(value) or PATH.fullmatch(value):
            return value
        raise ValueError(
            f"there is no activation {value!r}; {suggest(value, (*names, 'he3'))} "
            "Any jax.numpy function of your own can be named as 'module:function'."
        )
    if isinstance(value, dict):
        for form in (Hermite, Polynomial, PiecewiseLinear):
            if next(iter(form.model_fields)) in value:
                return form(**value)
        raise ValueError("an activation given as a table needs the key 'hermite', 'polynomial' or 'knots'.")
    return value


def _write(value: Any) -> Any:
    if isinstance(value, Section):
        return {key: list(item) if isinstance(item, tuple) else item for key, item in value.model_dump().items()}
    return written_function(value)


def written_function(value: Any) -> Any:
    """A callable as its path if it can be imported again, otherwise with a fingerprint of its code; names stay names."""
    if not callable(value):
        return value
    module, name = getattr(value, "__module__", "?"), getattr(value, "__qualname__", type(value).__name__)
    if _found(module, name) is value:
        return f"{module}:{name}"
    return f"{module}:{name}#{sha256(_code(value).encode()).hexdigest()[:16]}"


def _found(module: str, name: str) -> Any:
    """What a path leads to in this process; None if it leads nowhere."""
    try:
        return attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


def _code(value: Any) -> str:
    """What a function computes, as text that is the same in every process: code, names, constants, and all it closes over."""
    match value:
        case partial():
            return f"partial({_code(value.func)}, {_code(value.args)}, {_code(sorted(value.keywords.items()))})"
        case FunctionType():
            closed = [cell.cell_contents for cell in value.__closure__ or ()]
            return f"function({_code(value.__code__)}, {_code(value.__defaults__)}, {_code(closed)})"
        case CodeType():
            return f"code({value.co_code.hex()}, {value.co_names}, {_code(value.co_consts)})"
        case tuple() | list():
            return f"({', '.join(_code(item) for item in value)})"
        case ModuleType():
            return value.__name__
        case _ if callable(value):
            return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
        case _:
            return repr(value)


Activation = Annotated[
    Written, BeforeValidator(_read), PlainSerializer(_write, when_used="json"), Field(examples=[*NAMES])
]
FeatureActivation = Annotated[
    Written,
    BeforeValidator(_read_feature),
    PlainSerializer(_write, when_used="json"),
    Field(examples=[*NAMES]),
]
Activations = Annotated[
    Written | tuple[Written, ...],
    BeforeValidator(lambda value: tuple(map(_read, value)) if isinstance(value, list | tuple) else _read(value)),
    PlainSerializer(
        lambda value: [_write(one) for one in value] if isinstance(value, tuple) else _write(value), when_used="json"
    ),
    Field(examples=[*NAMES, ["linear", "erf"]]),
]
