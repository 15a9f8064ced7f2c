"""Two stages: what gates runs by default, what compiles or samples for long in the second (`pytest -m slow`), each in .ci/run."""

import os
import secrets
from collections.abc import Iterable, Sequence
from zlib import crc32

import pytest
from _pytest.mark.structures import ParameterSet

SEED = "DIMFREE_RANDOM_SEED"
# a new seed in every run, unless the user names one; the processes of a run inherit it
os.environ.setdefault(SEED, str(secrets.randbelow(2**32)))

ALWAYS = ("test_fuzz.py",)  # drawn anew in every run

# Checks of shapes and types at run time take a tenth of the time. Every second process of a run makes them, and the seed decides
# whether the first process is one, so that another half of the files is checked in every run. A single process always checks.
_PROCESS, _PROCESSES = (
    int(os.environ.get(f"PYTEST_XDIST_WORKER{name}", otherwise).removeprefix("gw"))
    for name, otherwise in (("", "gw0"), ("_COUNT", "1"))
)
TYPES_CHECKED = _PROCESSES == 1 or (_PROCESS + int(os.environ[SEED])) % 2 == 0


def gating(cases: Iterable[object], gates: Sequence[object]) -> list[ParameterSet]:
    """All cases of a parameter: those in `gates` in the first stage, the others in the second."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if case in gates else pytest.mark.slow)
        for case in cases
    ]


def drawn(items: Iterable[pytest.Item], share: float) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """All tests of the first stage and a random share of those of the second; the tests that are left out come second.

    Whether a test is drawn depends on the seed and its own name alone, so that all processes of a run agree. The tests of one
    file of the gallery share their runs, and are drawn together; what draws cases of its own in every run is always there.
    """
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        name = item.nodeid.split("::")[0] if "gallery" in item.path.parts else item.nodeid
        chance = crc32(f"{os.environ[SEED]} {name}".encode()) / 2**32
        optional = item.get_closest_marker("slow") and item.path.name not in ALWAYS
        (left_out if optional and chance >= share else kept).append(item)
    return kept, left_out


# The numbers of the main accounts, in files whose first stage is short
QUICK = (
    "tests/test_architecture.py",
    "tests/functions/test_activations.py",
    "tests/gaussian/test_two_point.py",
    "tests/onepass/test_ode.py",
    "tests/onepass/test_chain.py",
    "tests/dataset/test_dmft_square.py",
    "tests/dataset/test_static.py",
    "tests/reference/test_reference.py",
)


def mark_quick(items: Iterable[pytest.Item]) -> None:
    """`pytest -m quick` runs the first stage of the files in QUICK."""
    for item in items:
        if item.nodeid.split("::")[0] in QUICK and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.quick)
