"""The scaling law of two-layer networks that comes with dimfree has the exponents that docs/scaling.md gives, for its reasons."""

from dataclasses import replace

import numpy as np
import pytest

from dimfree.sweeps.engines import Here
from dimfree.sweeps.frontier_figure import Measured, measured_frontier
from dimfree.sweeps.run import run
from dimfree.sweeps.store import Shelf
from dimfree.sweeps.toml import read_sweep

pytestmark = pytest.mark.slow


def frontiers(changes: dict[str, object], *accounts: str) -> dict[str, Measured | None]:
    """Of these accounts of the sweep, with some keys of its problem changed."""
    plan = read_sweep("committee-frontier", changes).sweep
    listed = tuple(one for one in plan.descriptions if one.name in accounts)
    data = run(replace(plan, descriptions=listed), Shelf(), Here())
    sizes, steps = data["network.width"].values.astype(float), data["step"].values[1:]
    found = {}
    for name in data["description"].values:
        one = data["risk"].sel(description=name).transpose("network.width", "step", "replica").values[:, 1:]
        found[str(name)] = measured_frontier(sizes, steps, one[:, :, np.isfinite(one).all(axis=(0, 1))])
    return found


def test_sgd_and_its_limit_have_a_frontier_and_the_limit_of_wide_networks_has_none():
    found = frontiers({}, "chain", "ode", "dimensionless")
    chain, ode = found["chain"], found["ode"]
    assert found["dimensionless"] is None
    for one, size, risk in ((chain, 0.41, 0.41), (ode, 0.42, 0.45)):
        assert abs(one.size.value - size) < 0.05 + 2 * one.size.standard_error
        assert abs(one.risk.value - risk) < 0.05 + 2 * one.risk.standard_error
    assert chain.size.standard_error < 0.1


def test_without_label_noise_the_frontier_is_another_one():
    """The noise of the steps then goes away with the risk itself, and nothing holds narrow networks back."""
    found = frontiers({"data.noise": 0.0}, "ode")["ode"]
    assert found is None or found.size.value < 0.2
