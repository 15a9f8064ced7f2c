"""Grids that do not fit are refused by their size, before anything of them is made."""

import numpy as np
import pytest
from accounts import BASE, RATES, Decay, Square

import dimfree as df
from dimfree.sweeps.axes import axes
from dimfree.sweeps.run import define
from dimfree.sweeps.status import open_sweep, status

MILLION = 10**6


@pytest.fixture
def memory(monkeypatch):
    def has(size):
        monkeypatch.setattr("dimfree.machine.machine_memory", lambda: size)

    return has


@pytest.mark.parametrize(
    "over",
    [
        {RATES: {"linspace": [0.1, 1.0, MILLION]}},
        {RATES: {"logspace": [0.1, 1.0, 10**12]}},
        {RATES: {"linspace": [0.1, 1.0, 10**400]}},
        {RATES: {"linspace": [0.1, 1.0, 1000]}, "data.noise": {"linspace": [0.0, 1.0, 1000]}},
        {"x": {"zip": {RATES: {"linspace": [0.1, 1.0, 10**15]}}}},
        {RATES: np.linspace(0.1, 1.0, MILLION)},
    ],
)
def test_a_large_grid_is_refused_before_it_is_made(over, memory, monkeypatch):
    memory(16e9)
    for name in ("linspace", "geomspace"):
        monkeypatch.setattr(f"dimfree.sweeps.axes.np.{name}", lambda *_: pytest.fail("values were made"))
    said = r"^a sweep of \S+ points needs \S+ GB of memory where the machine has 16; give its axes fewer values\.$"
    with pytest.raises(df.RefusalError, match=said):
        df.sweep(BASE, over, descriptions=[Square()])


def test_what_is_predicted_counts_times_and_replicas(memory):
    memory(1e8)
    over = {RATES: {"linspace": [0.1, 1.0, 1000]}}
    assert define(BASE, over, [Decay()]).size == 1000
    for more in ({"run.points": 10_000}, {"run.replicas": 100_000}):
        with pytest.raises(df.RefusalError, match=r"^a sweep of 1e\+03 points needs"):
            define(BASE.replace(**more), over, [type("Drawn", (Decay,), {"stochastic": True, "name": "drawn"})()])
    assert define(BASE.replace(**{"run.replicas": 100_000}), over, [Decay()]).size == 1000, "a theory has no replicas"


class Counted(float):
    """A number that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return float(self) == float(other)

    __hash__ = float.__hash__


def test_whether_a_value_is_there_twice_is_asked_once_a_value():
    count = 3000
    assert len(axes(BASE, {RATES: [Counted(number + 1) for number in range(count)]})[0].values) == count
    assert Counted.compared < 4 * count
    with pytest.raises(df.ProblemError, match="has a value twice"):
        axes(BASE, {"network": [{"width": 2}, {"width": 3}, {"width": 2}]})


def test_results_that_do_not_fit_are_refused_at_the_first_and_none_is_lost(memory, tmp_path):
    memory(1e6)
    problem, over = BASE.replace(**{"data.units": 1, "network.width": 50_000}), {RATES: [1.0, 2.0, 3.0]}
    said = r"^a sweep of 3 points like one of these needs \S+ GB .* fewer values, or save fewer times\.$"
    with pytest.raises(df.RefusalError, match=said):
        df.sweep(problem, over, descriptions=[Square()], store=tmp_path / "s")
    assert status(tmp_path / "s").finished == 1
    memory(1e9)
    assert df.sweep(problem, over, descriptions=[Square()], store=tmp_path / "s")["a"].shape == (1, 3, 50_000)
    memory(1e6)
    with pytest.raises(df.RefusalError, match=r"^one dataset of all points of the sweep needs .* one by one"):
        open_sweep(tmp_path / "s")


def test_what_is_no_end_of_an_axis_is_refused_by_its_own_reason():
    for ends in ([0.1, float("inf")], [float("nan"), 1.0], [True, 2.0], [0.1, 10**400], ["a", 1.0]):
        with pytest.raises(df.ProblemError, match=r"got linspace = .*; give \[first, last, count\]"):
            axes(BASE, {RATES: {"linspace": [*ends, 3]}})
