"""The base of all problem sections: frozen, without unknown keys, and with errors in one sentence."""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from dimfree.errors import ProblemError, suggest

_LONGEST = 80  # a longer value is cut off in an error
_LARGEST_INTEGER = 10**15  # for keys that have no other bound; no run counts further


class Section(BaseModel):
    """A frozen part of a problem; `title` is how errors name it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
    title: ClassVar[str] = "the problem"

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The given values, with short and former spellings replaced by current ones."""
        return values

    @classmethod
    def own_kind(cls) -> str | None:
        """The kind of such a section, if it has one."""
        return str(cls.model_fields["kind"].default) if "kind" in cls.model_fields else None

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        written = cls.spelled(values)
        for name, value in written.items():
            if name in cls.model_fields:
                _check_number(name, value, cls.model_fields[name].annotation)
        return written

    @model_validator(mode="after")
    def _counted(self) -> "Section":
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            bounded = any(hasattr(one, "lt") or hasattr(one, "le") for one in field.metadata)
            if isinstance(value, int) and value > _LARGEST_INTEGER and not bounded:
                raise ValueError(f"{name} = {_short(value)} is too large; use an integer up to {_LARGEST_INTEGER:.0e}.")
        return self

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as failure:
            raise ProblemError(_sentence(type(self), failure)) from None


def _check_number(name: str, value: Any, annotation: Any) -> None:
    """Refuse `true` and "300" where a number is expected."""
    kinds = {_bare(kind) for kind in (annotation, *get_args(annotation))}
    words = {str, Path} & kinds or any(get_origin(kind) is Literal for kind in kinds)
    if kinds & {int, float} and (
        (isinstance(value, bool) and bool not in kinds) or (isinstance(value, str) and not words)
    ):
        raise ValueError(f"{name} = {value!r} is not a number; write it without quotes, as in {name} = 3.")


def _bare(kind: Any) -> Any:
    """A type without the conditions on its values."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _sentence(section: type[Section], failure: ValidationError) -> str:
    """The first complaint as a sentence, and how many other keys are wrong."""
    errors = failure.errors()
    others = len({error["loc"][:1] for error in errors}) - 1
    return _explain(section, errors[0]) + (f" ({others} more after this one.)" if others else "")


def _explain(section: type[Section], error: ErrorDetails) -> str:
    # only the key and positions in it mean anything to the user; the rest names alternatives of a type
    key, *inside = error["loc"] or ("",)
    place = ".".join([str(key), *(str(part) for part in inside if isinstance(part, int))])
    match error["type"]:
        case "extra_forbidden":
            return f"{section.title} has no key {place!r}; {suggest(place, section.model_fields)}"
        case "missing":
            return f"{section.title} needs a value for {place!r}."
        case "union_tag_invalid":
            tag, known = str(error["ctx"]["tag"]), str(error["ctx"]["expected_tags"])
            kinds = [name.strip(" '") for name in known.split(",")]
            return f"{_subsection(section, place)} got kind = {tag!r}; {suggest(tag, kinds)}"
        case "union_tag_not_found":
            return f"{_subsection(section, place)} needs a value for 'kind'."
        case "literal_error":
            words = re.findall(r"'([^']*)'", str(error["ctx"]["expected"]))
            return f"{section.title} got {place} = {error['input']!r}; {suggest(str(error['input']), words)}"
        case "value_error":
            return f"{section.title}: {error['ctx']['error']}"
        case _:
            message = error["msg"][0].lower() + error["msg"][1:]
            return f"{section.title} got {place} = {_short(error['input'])}: {message}."


def _short(value: object) -> str:
    """A value as it was given, cut off where it is too long for a sentence."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _subsection(section: type[Section], key: str) -> str:
    return f"[{section.title.strip('[]')}.{key}]" if section.title.startswith("[") else f"[{key}]"
