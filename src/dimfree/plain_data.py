"""Plain data for JSON, which has neither arrays nor NaN nor infinity."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as plain data: mappings and named tuples become dicts, sequences and arrays lists, nan and infinity None."""
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
