"""All commands, which register themselves with the application."""

from dimfree.cli import about, gallery, lab, questions, runs, sweeps  # noqa: F401
from dimfree.cli.app import app

__all__ = ["app"]
