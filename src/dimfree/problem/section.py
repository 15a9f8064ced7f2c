"""The common ground of all problem sections: frozen, closed to unknown keys, and errors in one sentence."""

import re
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from dimfree.errors import ProblemError, suggest


class Section(BaseModel):
    """A frozen part of a problem; `title` is how errors name it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
    title: ClassVar[str] = "the problem"

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values given, with short and former spellings as they are written now."""
        return values

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, values: Any) -> Any:
        return cls.spelled(values) if isinstance(values, dict) else values

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as failure:
            raise ProblemError(_sentence(type(self), failure)) from None


def _sentence(section: type[Section], failure: ValidationError) -> str:
    """The first complaint as a sentence, and how many other keys are wrong."""
    errors = failure.errors()
    others = len({error["loc"][:1] for error in errors}) - 1
    return _explain(section, errors[0]) + (f" ({others} more after this one.)" if others else "")


def _explain(section: type[Section], error: ErrorDetails) -> str:
    # of a location only the key and positions in it are the user's; the rest names alternatives of a type
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
            return f"{section.title} got {place} = {error['input']!r}: {message}."


def _subsection(section: type[Section], key: str) -> str:
    return f"[{section.title.strip('[]')}.{key}]" if section.title.startswith("[") else f"[{key}]"
