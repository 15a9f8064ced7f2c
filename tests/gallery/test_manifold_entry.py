"""Claims of the figure of a hidden manifold: true on right data, false when what no student sees is forgotten."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.hidden_manifold import TIMES, HiddenManifoldEntry


def verdicts(entry, data):
    return [claim.holds for claim in entry.claims(data)]


def measured_manifold(ode=1.0, blind=0.2, unseen=0.31):
    """Theories whose risks are this many times that of SGD at the end."""
    times = np.array([0.0, *TIMES])
    tree = {}
    for name, end in (("sgd", 1.0), ("ode", ode), ("blind", blind)):
        risk = 0.2 * np.exp(-times / 5) * np.linspace(1, end, len(times))
        spread = np.array([[0.99, 1.01]]) if name == "sgd" else np.ones((1, 1))
        found = {"risk": (("time", "replica"), risk[:, None] * spread)}
        if name == "sgd":
            found["risk_error"] = (("time", "replica"), np.full((len(times), 2), 1e-3))
        tree[f"manifold/{name}"] = xr.Dataset(found, {"time": times})
    made = xr.DataTree.from_dict(tree)
    made.attrs |= {"dimension": 200, "unseen": unseen}
    return made


def test_a_hidden_manifold_needs_what_inputs_do_not_tell():
    entry = HiddenManifoldEntry()
    assert all(verdicts(entry, measured_manifold()))
    assert verdicts(entry, measured_manifold(ode=1.03, blind=0.9, unseen=0.1)) == [False, False, False]
    assert verdicts(HiddenManifoldEntry(theory="blind"), measured_manifold())[0] is False
    figure = Figure(layout="constrained")
    entry.draw(measured_manifold(), figure)
    assert len(figure.axes) == 2


@pytest.mark.slow
def test_a_hidden_manifold_is_measured():
    """The ODE of a teacher without what inputs do not tell fails the claim that the right one meets."""
    data = HiddenManifoldEntry().measure(False, lambda text, fraction: None)
    assert all(verdicts(HiddenManifoldEntry(), data))
    assert verdicts(HiddenManifoldEntry(theory="blind"), data)[0] is False
