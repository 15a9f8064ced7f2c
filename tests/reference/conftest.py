"""`pytest tests/reference --reference DIR` runs the same adapters on any other folder with the same schema."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reference", type=Path, default=None, help="another folder of reference files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "item" in metafunc.fixturenames:
        from dimfree.reference.check import items

        found = list(items(metafunc.config.getoption("--reference")))
        metafunc.parametrize("item", found, ids=[item.name for item in found])
