"""Two stages: what gates runs by default, what compiles or samples for long in the second (`pytest -m slow`), each in .ci/run."""

from collections.abc import Iterable, Sequence

import pytest
from _pytest.mark.structures import ParameterSet


def gating(cases: Iterable[object], gates: Sequence[object]) -> list[ParameterSet]:
    """All cases of a parameter: those in `gates` in the first stage, the others in the second."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if case in gates else pytest.mark.slow)
        for case in cases
    ]
