"""`pytest tests/reference --reference DIR` runs the same adapters on any other folder with the same schema."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reference", type=Path, default=None, help="another folder of reference files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "item" in metafunc.fixturenames:
        from dimfree.reference.check import items

        folder = metafunc.config.getoption("--reference")
        found = list(items(folder))
        first = {item.kind: item.name for item in reversed(found)}.values()  # of every kind; with a folder all of them
        later = [() if folder or item.name in first else pytest.mark.slow for item in found]
        metafunc.parametrize(
            "item", [pytest.param(item, id=item.name, marks=mark) for item, mark in zip(found, later, strict=True)]
        )
