"""The common ground of all problem sections: frozen, closed to unknown keys, and errors in one sentence."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from dimfree.errors import ProblemError, suggest


class Section(BaseModel):
    """A frozen part of a problem; `title` is how errors name it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
    title: ClassVar[str] = "the problem"

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as failure:
            raise ProblemError(_sentence(type(self), failure)) from None


def _sentence(section: type[Section], failure: ValidationError) -> str:
    """The first complaint as a sentence, and how many more there are."""
    errors = failure.errors()
    first = _explain(section, errors[0])
    return first if len(errors) == 1 else f"{first} ({len(errors) - 1} more after this one.)"


def _explain(section: type[Section], error: ErrorDetails) -> str:
    place = ".".join(str(part) for part in error["loc"])
    given = error.get("input")
    match error["type"]:
        case "extra_forbidden":
            return f"{section.title} has no key {place!r}; {suggest(place, section.model_fields)}"
        case "missing":
            return f"{section.title} needs a value for {place!r}."
        case "union_tag_invalid":
            context = error["ctx"]
            tag, known = str(context["tag"]), str(context["expected_tags"])
            kinds = [name.strip(" '") for name in known.split(",")]
            return f"[{place}] got kind = {tag!r}; {suggest(tag, kinds)}"
        case "value_error":
            return f"{section.title}: {error['ctx']['error']}"
        case _:
            message = error["msg"][0].lower() + error["msg"][1:]
            return f"{section.title} got {place} = {given!r}: {message}."
