"""The claims of the data-set figures hold, and each fails when an ingredient of the figure is wrong."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.dataset_model import descent_model
from dimfree.dataset.dmft.description import DMFT
from dimfree.errors import ProblemError
from dimfree.gallery import shelf
from dimfree.gallery.agreement import mean_and_error, observed, sigmas
from dimfree.gallery.dmft_vs_size import DMFTVersusSize
from dimfree.gallery.entry import Entry
from dimfree.gallery.mixtures import MixturePersistent, MixtureVanilla, ThreeClustersEntry
from dimfree.gallery.runs import Case, run_cases
from dimfree.gallery.sign_retrieval import SignRetrieval
from dimfree.gallery.temperatures import EffectiveTemperatureEntry, TemperaturePersistent

matplotlib.use("Agg")

ENTRIES: dict[str, Callable[..., Entry]] = {
    "mixture-vanilla": MixtureVanilla,
    "mixture-persistent": MixturePersistent,
    "three-clusters": ThreeClustersEntry,
    "effective-temperature": EffectiveTemperatureEntry,
    "temperature-persistent": TemperaturePersistent,
    "dmft-vs-size": DMFTVersusSize,
    "sign-retrieval": SignRetrieval,
}
FEW = DMFT(paths=300, ensembles=3)
TINY: dict[str, Entry] = {
    "mixture-vanilla": MixtureVanilla(theory=FEW, fractions=(1.0, 0.3), dimension=60, seeds=4),
    "mixture-persistent": MixturePersistent(theory=FEW, other=FEW, fractions=(0.3,), dimension=60, seeds=4),
    "three-clusters": ThreeClustersEntry(theory=FEW, dimension=60, seeds=4),
    "dmft-vs-size": DMFTVersusSize(dimensions=(20, 40, 80), runs=400),
    "sign-retrieval": SignRetrieval(
        theory=FEW, late_theory=FEW, dimension=60, seeds=4, steps=200, early=10, late=20, sizes=(40, 80)
    ),
}
SOON = {"theory": FEW, "early": 10, "sizes": (100, 400)}  # what happens early is not what is wrong


class MoreSamples(DMFT):
    """Wrong on purpose: a theory of another alpha."""

    name: ClassVar[str] = "more-samples"

    def replica(self, model, start, times, key, number):
        wrong = eqx.tree_at(lambda one: one.limit.alpha, model, 1.3 * model.limit.alpha)
        return super().replica(wrong, start, times, key, number)


def silent(text: str, fraction: float) -> None:
    """Nobody watches."""


_measured: dict[str, Any] = {}


def measured(name: str) -> Any:
    """The default measurement, made once."""
    if name not in _measured:
        _measured[name] = ENTRIES[name]().measure(False, silent)
    return _measured[name]


def with_theory_of(wrong: Entry, data: xr.DataTree) -> xr.DataTree:
    """The same runs of SGD beside the theory of another entry."""
    tree = data.copy()
    for name, case in wrong.cases(False).items():
        theories = tuple(one for one in case.descriptions if one.name == "more-samples")
        if theories:
            added = run_cases({name: Case(case.problem, theories)}, silent)[name].children
            tree[name] = xr.DataTree(children=dict(tree[name].children) | dict(added))
    return tree


def failing(entry: Entry, data: Any) -> set[int]:
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


@pytest.mark.parametrize(
    "name", [name if name == "mixture-persistent" else pytest.param(name, marks=pytest.mark.slow) for name in TINY]
)
def test_a_small_version_is_measured_judged_and_drawn(name):
    entry, heard = TINY[name], []
    data = entry.measure(False, lambda text, fraction: heard.append(fraction))
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert all(np.isfinite(claim.value) for claim in entry.claims(data)[:1])
    figure = Figure()
    entry.draw(data, figure)
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert entry.seconds(False) < entry.seconds(True)


def test_the_shelf_knows_all_of_them():
    assert all(type(shelf.entry(name)) is ENTRIES[name] for name in ENTRIES)


def test_standard_errors():
    time = np.arange(3.0)
    runs = xr.Dataset({"m": (("time", "replica"), np.array([[0.0, 0.0], [1.0, 3.0], [0.0, 2.0]]))}, {"time": time})
    theory = xr.Dataset({"m": (("time", "replica"), np.array([[0.0], [1.0], [4.0]]))}, {"time": time})
    mean, error = mean_and_error(observed(runs, "m"))
    np.testing.assert_allclose([mean, error], [[0.0, 2.0, 1.0], [0.0, 1.0, 1.0]])
    assert sigmas(runs, theory, "m") == pytest.approx(3.0)


def test_persistence_of_the_figure_is_not_possible_for_a_tenth_of_the_samples():
    with pytest.raises(ProblemError, match=r"choose training\.persistence >= 1\.8"):
        descent_model(MixturePersistent().problem(0.1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_claims_hold(name):
    entry = ENTRIES[name]()
    assert not [claim for claim in entry.claims(measured(name)) if not claim.holds]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mixture-vanilla", {0}),
        ("mixture-persistent", {0}),
        ("three-clusters", {0}),
        ("dmft-vs-size", {2}),
        ("sign-retrieval", {7}),
    ],
)
def test_the_theory_of_another_alpha_fails(name, expected):
    wrong = ENTRIES[name](theory=MoreSamples())
    assert failing(wrong, with_theory_of(wrong, measured(name))) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (MixtureVanilla(gradient="mean", fractions=(1.0, 0.5)), {1, 2}),  # the step is not slower
        (MixturePersistent(persistence=None, fractions=(0.3,)), {1, 2}),  # not persistent
        (ThreeClustersEntry(steps=4), {1, 2}),  # stops too soon
        (
            SignRetrieval(persistence=None, dimension=350, seeds=6, **SOON),
            {0, 3, 4, 6},
        ),  # vanilla instead of persistent
        (SignRetrieval(samples=6.0, dimension=200, seeds=6, **SOON), {2, 3, 4}),  # enough data for vanilla batches
        (EffectiveTemperatureEntry(theory=MoreSamples()), {0, 2}),
        (EffectiveTemperatureEntry(persistence=2.0, seeds=4, dimension=100), {0, 1, 4, 5}),
        (TemperaturePersistent(samples=3.3), {0}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Entry) else None,
)
def test_a_wrong_setting_fails(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) >= expected


@pytest.mark.slow
def test_runs_that_all_scatter_alike_are_noticed():
    """Every dimension with the runs of the first."""
    data, entry = measured("dmft-vs-size").copy(), DMFTVersusSize()
    for N in entry.dimensions[1:]:
        data[f"{N}/multi-pass"] = data["50/multi-pass"].copy()
    assert failing(entry, data) >= {0, 1}


@pytest.mark.slow
def test_temperatures_that_do_not_rise_are_noticed():
    """Vanilla temperatures in all places."""
    data = measured("temperature-persistent").copy()
    vanilla = data.sel(persistence=0.0)
    cold = xr.concat([vanilla.assign_coords(persistence=tau) for tau in data["persistence"].values], "persistence")
    assert failing(TemperaturePersistent(), cold.transpose("fraction", "persistence", "lag")) == {0, 1, 2, 3}


@pytest.mark.slow
def test_the_theory_of_the_recovery_is_judged_and_drawn_in_full_size():
    """Twenty steps are not enough to recover; made-up ends are, if only persistent batches have them."""
    entry = TINY["sign-retrieval"]
    data = entry.measure(True, silent)
    assert failing(entry, data) >= {9, 10}
    for protocol, end in (("full batch", 0.5), ("vanilla", 0.6), ("persistent", 1.0)):
        late = data[f"late {protocol}/dmft"].to_dataset()
        late["m"][-1] = end
        data[f"late {protocol}/dmft"] = xr.DataTree(late)
    assert not failing(entry, data) & {9, 10}
    late["m"][-1] = 0.7
    data["late persistent/dmft"] = xr.DataTree(late)
    assert failing(entry, data) >= {9, 10}
    figure = Figure()
    entry.draw(data, figure)
    assert "dmft" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


@pytest.mark.slow
def test_pairs_that_never_part_are_noticed():
    data = measured("sign-retrieval").copy()
    data["pairs/distance"] = 0 * data["pairs/distance"]
    assert failing(SignRetrieval(), data) == {5}
