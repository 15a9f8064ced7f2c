"""The machinery of the gallery, on an entry that costs nothing."""

import json
import subprocess
import sys
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from dimfree.cli.commands import app
from dimfree.errors import ProblemError
from dimfree.gallery import shelf
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.reproduce import reproduce
from dimfree.results.store import load

INF = float("inf")


class Parabola(Entry[xr.Dataset]):
    """y = x^power; the claim is that y(2) is 4."""

    name: ClassVar[str] = "parabola"
    title: ClassVar[str] = "A parabola"
    cites: ClassVar[tuple[str, ...]] = ("saad1995",)
    power: int = 2
    broken: bool = False

    def measure(self, full, watch):
        watch("measuring", 0.5)
        x = np.linspace(0, 2, 21 if full else 3)
        return xr.Dataset({"y": ("x", x**self.power)}, {"x": x})

    def claims(self, data):
        last = float(data["y"][-1])
        return Claim("y(2)", last, 4.0, 4.0), Claim("y(2) is positive", last, 0.0, INF)

    def draw(self, data, figure):
        if self.broken:
            raise RuntimeError("out of ink")
        figure.subplots().plot(data["x"], data["y"])

    def seconds(self, full):
        return 10.0 if full else 1.0


class Cubic(Parabola):
    name: ClassVar[str] = "cubic"
    power: int = 3


@pytest.fixture
def shelved(monkeypatch):
    module = ModuleType("figures_of_this_test")
    module.Parabola, module.Cubic = Parabola, Cubic
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entries = {
        cls.name: shelf.Shelved(f"{module.__name__}:{cls.__name__}", cls.title, 1.0, 10.0) for cls in (Parabola, Cubic)
    }
    monkeypatch.setattr(shelf, "shelved", lambda: entries)


def test_data_figure_and_claims_are_written(tmp_path):
    heard = []
    done = reproduce(Parabola(), tmp_path, watch=lambda text, fraction: heard.append((text, fraction)))
    assert done.holds
    assert heard == [("measuring", 0.5)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parabola.json", "parabola.nc", "parabola.png"]
    tree = load(done.files.data)
    np.testing.assert_array_equal(tree["y"], [0, 1, 4])
    assert (tree.attrs["figure"], tree.attrs["full"], tree.attrs["cites"]) == ("parabola", 0, "saad1995")
    assert done.files.figure.read_bytes().startswith(b"\x89PNG")
    text = json.loads(done.files.claims.read_text())
    assert text["holds"]
    assert text["claims"][1] == {
        "statement": "y(2) is positive",
        "value": 4.0,
        "low": 0.0,
        "high": None,
        "holds": True,
    }


def test_full_measures_more(tmp_path):
    assert load(reproduce(Parabola(), tmp_path, full=True).files.data).sizes["x"] == 21


def test_a_claim_that_fails_is_said_and_still_written(tmp_path):
    done = reproduce(Cubic(), tmp_path)
    assert not done.holds
    assert "FAIL  y(2): 8, must be in [4, 4]" in done.summary()
    assert "ok    y(2) is positive: 8, must be at least 0" in done.summary()
    assert not json.loads(done.files.claims.read_text())["holds"]


def test_a_failure_leaves_what_was_there(tmp_path):
    before = {path: path.read_bytes() for path in reproduce(Parabola(), tmp_path).files}
    with pytest.raises(RuntimeError, match="out of ink"):
        reproduce(Parabola(power=3, broken=True), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("value", "holds"), [(1.0, True), (2.0, True), (0.99, False), (2.01, False), (float("nan"), False)]
)
def test_a_claim_holds_between_its_bounds(value, holds):
    assert Claim("x", value, 1.0, 2.0).holds is holds


@pytest.mark.slow
def test_every_figure_on_the_shelf_is_what_the_table_says():
    for name, said in shelf.shelved().items():
        entry = shelf.entry(name)
        assert (entry.name, entry.title) == (name, said.title)
        assert 0 < said.seconds < said.full_seconds
        for full, seconds in ((False, said.seconds), (True, said.full_seconds)):  # to two digits
            assert entry.seconds(full) == pytest.approx(seconds, rel=0.05), (name, full)


IMPORTED = """
import sys
from dimfree.cli import main
sys.argv = ["dimfree", "reproduce", "--list"]
try:
    main()
finally:
    figures = [name for name in sys.modules if name.startswith("dimfree.gallery.") and name != "dimfree.gallery.shelf"]
    print(*(name for name in ("jax", "diffrax", "xarray", "matplotlib") if name in sys.modules), *figures, file=sys.stderr)
"""


def test_the_list_imports_no_figure_and_fits_a_terminal():
    """What it costs is counted in modules: none that computes, and no figure."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
    lines = done.stdout.splitlines()
    assert {line.split()[0] for line in lines[1:] if not line.startswith(" ")} == set(shelf.names())
    assert max(map(len, lines)) <= 80


def test_every_figure_cites_what_the_bibliography_has():
    from dimfree.results.citations import bibliography

    for name in shelf.names():
        assert bibliography(shelf.entry(name).cites)


def test_a_mistyped_name_is_corrected():
    with pytest.raises(ProblemError, match="there is no figure 'regime'; did you mean 'regimes'"):
        shelf.entry("regime")


@pytest.mark.usefixtures("shelved")
@pytest.mark.parametrize(("name", "code"), [("parabola", 0), ("cubic", 1), ("parabla", 2)])
def test_the_exit_code_says_whether_the_claims_hold(name, code, tmp_path):
    result = CliRunner().invoke(app, ["reproduce", name, "--out", str(tmp_path)])
    assert result.exit_code == code, result.output
    assert ("did you mean 'parabola'" in result.output) == (code == 2)
    if code < 2:
        assert "seconds" in result.stderr
        assert ("all claims hold" in result.stdout) == (code == 0)


@pytest.mark.usefixtures("shelved")
def test_json_is_the_only_output_when_asked_for(tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "cubic", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.output)["claims"][0]["value"] == 8.0


@pytest.mark.usefixtures("shelved")
def test_figures_are_listed_with_their_time():
    result = CliRunner().invoke(app, ["reproduce", "--list"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith("parabola ")
    assert "with --full" in result.stdout
    listed = json.loads(CliRunner().invoke(app, ["reproduce", "--list", "--json"]).stdout)
    assert [row["name"] for row in listed] == ["parabola", "cubic"]
    assert listed[0]["full_seconds"] == pytest.approx(10 * listed[0]["seconds"])


def test_a_figure_must_be_named(tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "--list` shows all names" in result.output
