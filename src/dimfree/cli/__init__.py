"""The command line. Data goes to stdout, talk to stderr; heavy imports wait until a command needs them."""

from dimfree.cli import about, gallery, questions, runs  # noqa: F401  (commands register themselves)
from dimfree.cli.app import app


def main() -> None:
    """The console script."""
    app(prog_name="dimfree")
