import json
from math import inf, nan
from typing import NamedTuple

import numpy as np

from dimfree.plain_data import plain


class Pair(NamedTuple):
    one: float
    other: object


def test_plain_data_are_what_json_has():
    given = {
        "a": nan,
        "b": (1, inf, "inf"),
        "c": np.array([[1.0, nan]]),
        "d": Pair(np.float64(-inf), [Pair(2.0, None)]),
        "e": True,
    }
    found = {
        "a": None,
        "b": [1, None, "inf"],
        "c": [[1.0, None]],
        "d": {"one": None, "other": [{"one": 2.0, "other": None}]},
    }
    assert plain(given) == found | {"e": True}
    assert json.loads(json.dumps(plain(given), allow_nan=False)) == plain(given)
