"""Plain data, as JSON has it: there are neither arrays nor numbers that are not finite."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The same with tables for mappings and named tuples, lists for sequences and arrays, and None for nan and infinity."""
    match value:
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {str(name): plain(part) for name, part in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return plain(value._asdict())
        case list() | tuple():
            return [plain(part) for part in value]
        case _:
            return value
