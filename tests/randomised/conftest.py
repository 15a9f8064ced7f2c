"""Random problems follow the seed of the run (tests/stages.py); DIMFREE_RANDOM_CASES asks for more of them."""

import os
from zlib import crc32

import numpy as np
import pytest
from chance import Checks

from stages import SEED


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
