"""The command line. Data goes to stdout, talk to stderr; heavy imports wait until a command needs them."""

import os
import sys

from dimfree.cli import about, gallery, questions, runs  # noqa: F401  (commands register themselves)
from dimfree.cli.app import INTERRUPTED, app


def main() -> None:
    """The console script."""
    try:
        app(prog_name="dimfree")
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        # a compiler that was interrupted may crash while Python takes itself down, and its exit code would be lost
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
