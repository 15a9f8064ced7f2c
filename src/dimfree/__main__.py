"""`python -m dimfree` is the same program as `dimfree`."""

from dimfree.cli import main

main()
