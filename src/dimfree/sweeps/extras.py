"""Packages that only sweeps need."""

from importlib import import_module
from typing import Any

from dimfree.errors import ProblemError


def needed(module: str, what: str) -> Any:
    """A module of the extra `sweep`, or a sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise ProblemError(
            f"{what} needs the package {module.partition('.')[0]!r}; pip install 'dimfree[sweep]'."
        ) from None
