"""The law of the noise on labels that are values."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PositiveFloat

from dimfree.problem.section import Section


class Student(Section):
    """Noise that follows Student's law with this many degrees of freedom; data.noise is its squared scale."""

    title: ClassVar[str] = "[data.noise_law]"
    student: PositiveFloat


def _read(value: Any) -> Any:
    if value == "gaussian" or isinstance(value, Student):
        return value
    if isinstance(value, dict):
        return Student(**value)
    raise ValueError(f'noise_law = {value!r} is not known; write "gaussian" or {{student = 3.0}}.')


NoiseLaw = Annotated[
    Literal["gaussian"] | Student,
    BeforeValidator(_read),
    Field(exclude_if=lambda given: given == "gaussian", examples=["gaussian", {"student": 3.0}]),
]
