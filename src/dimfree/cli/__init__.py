"""The command line. Results go to stdout, messages to stderr; heavy imports wait until a command needs them."""


def main() -> None:
    """The console script."""
    from dimfree.cli.interruption import heed_signals
    from dimfree.cli.streams import mend_streams

    mend_streams()
    heed_signals()
    from dimfree.cli.commands import app

    app(prog_name="dimfree")
