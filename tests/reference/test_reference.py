"""Every reference number is reproduced by its adapter, or waits by name for a subject that does not exist yet."""

import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.reference.check import ADAPTERS, WAITING, Item, check, items
from stages import gating


def test_item_agrees_or_waits_by_name(item: Item, record_property):
    if item.kind in WAITING:
        record_property("waiting", WAITING[item.kind])
        pytest.xfail(f"{item.id} waits for: {WAITING[item.kind]}")
    outcome = check(item)
    assert outcome.problem is None, outcome.problem


def test_every_shipped_kind_is_adapted_or_waits_by_name_and_none_is_both():
    kinds = {item.kind for item in items()}
    assert kinds <= set(ADAPTERS) | set(WAITING)
    assert not set(ADAPTERS) & set(WAITING)


def test_an_item_of_an_unknown_kind_is_named():
    item = next(items())._replace(kind="kernels")
    with pytest.raises(ProblemError, match=f"{item.name} is of the kind 'kernels', .* did you mean 'kernel'"):
        check(item)


@pytest.mark.parametrize("name", gating(["rhs_erf", "kernel_relu", "traj_square"], ["kernel_relu"]))
def test_a_wrong_number_is_noticed(name):
    item = next(item for item in items() if item.id == name)
    key = next(iter(item.expected))
    shifted = item.expected | {key: (np.asarray(item.expected[key]) * (1 + 1e-5)).tolist()}
    assert check(item._replace(expected=shifted)).problem is not None
