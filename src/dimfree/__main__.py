"""`python -m dimfree` is the same program as `dimfree`."""

import sys

if sys.path and not sys.flags.safe_path:
    del sys.path[0]  # the current folder, whose modules must not take the place of installed ones

from dimfree.cli import main

main()
