"""A new seed in every run, said aloud: DIMFREE_RANDOM_SEED repeats a run, DIMFREE_RANDOM_CASES asks for more cases."""

import os
import secrets
from zlib import crc32

import numpy as np
import pytest
from chance import Checks

SEED = "DIMFREE_RANDOM_SEED"
# processes of one run share its number when nobody named a seed
os.environ.setdefault(SEED, str(crc32(os.environ.get("PYTEST_XDIST_TESTRUNUID", secrets.token_hex(8)).encode())))


def pytest_report_header() -> str:
    return f"randomised comparison: {SEED}={os.environ[SEED]} repeats this run"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(pytest_report_header())


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Of this test and the run's seed alone, so that a test repeats without the others."""
    return np.random.default_rng([int(os.environ[SEED]), crc32(request.node.name.encode())])


@pytest.fixture
def checks() -> Checks:
    """To be settled by the test."""
    return Checks(int(os.environ[SEED]))


@pytest.fixture(scope="session")
def cases() -> int:
    """How many draws of numbers for every structure that is compiled."""
    return int(os.environ.get("DIMFREE_RANDOM_CASES", "4"))
