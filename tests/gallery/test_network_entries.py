"""The claims of the figures of networks on data sets hold, and each fails when an ingredient of the figure is wrong."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from dimfree.dataset.dmft.description import DMFT
from dimfree.gallery import shelf
from dimfree.gallery.batch_protocols import BatchProtocols
from dimfree.gallery.linear_networks import DeepLinear, OverfittingInTime
from dimfree.gallery.momentum_on_data import MomentumOnData
from dimfree.gallery.reuse_batches import ReuseBatches
from dimfree.gallery.specialisation_on_data import SpecialisationOnData

matplotlib.use("Agg")
ENTRIES = {
    "reuse-batches": ReuseBatches,
    "overfitting-in-time": OverfittingInTime,
    "momentum-on-data": MomentumOnData,
    "deep-linear": DeepLinear,
    "batch-protocols": BatchProtocols,
    "specialisation-finite-data": SpecialisationOnData,
}
FEW = DMFT(paths=4000, ensembles=12)


def silent(text: str, fraction: float) -> None:
    """Nobody watches."""


def failing(entry, data) -> set[int]:
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


def test_the_shelf_knows_all_of_them():
    assert all(type(shelf.entry(name)) is ENTRIES[name] for name in ENTRIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_claims_hold_and_are_drawn(name):
    entry, heard = ENTRIES[name](), []
    data = entry.measure(False, lambda text, fraction: heard.append(fraction))
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert not [claim for claim in entry.claims(data) if not claim.holds]
    figure = Figure()
    entry.draw(data, figure)
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert entry.seconds(False) < entry.seconds(True)
    assert all(np.isfinite(claim.value) for claim in entry.claims(data))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (ReuseBatches(link="he2", theory=FEW, dimension=100, seeds=8), {0, 3, 4}),  # an even link
        (ReuseBatches(fresh_too=True, theory=FEW, dimension=100, seeds=8), {0, 4}),  # no batch is used again
        (OverfittingInTime(noise=0.02, dimension=100, seeds=4), {1, 2, 4, 6, 7}),  # little noise to fit
        (MomentumOnData(rate=0.4, dimension=100, seeds=4), {0, 1, 2}),  # smaller steps
        (DeepLinear(weight_decay=0.1, dimension=100, seeds=4), {2, 3}),  # decay conserves nothing
        (BatchProtocols(batch_fraction=1.0, dimension=4, seeds=200), {0, 1, 2, 3, 4, 5, 6}),  # full, in few dimensions
        (SpecialisationOnData(head_start=0.0, samples=(1.0,), seeds=4), {0, 2}),  # units that begin alike
        (SpecialisationOnData(weight_decay=0.02, samples=(1.0,), seeds=4), {0, 3}),  # decay keeps from overfitting
        (SpecialisationOnData(steps=20, samples=(8.0, 32.0), seeds=4), {0, 2, 4, 5, 6}),  # stopped too soon
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, set) else None,
)
def test_a_wrong_setting_fails(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) >= expected
