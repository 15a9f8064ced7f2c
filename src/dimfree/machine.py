"""What does not fit into the machine is refused before it starts."""

import os

from dimfree.errors import RefusalError

_SHARE = 0.8  # of the machine's memory that one run may take


def machine_memory() -> float:
    """Bytes of memory of this machine."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def refuse_above_memory(needed: float, what: str, way_out: str) -> None:
    """Refuse work whose arrays would not fit, with the numbers and what to change."""
    available = machine_memory()
    if needed > _SHARE * available:
        raise RefusalError(
            f"{what} needs {needed / 1e9:.3g} GB of memory where the machine has {available / 1e9:.3g}; {way_out}."
        )
