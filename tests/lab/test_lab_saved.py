"""The page in one file: what it holds, what it refuses, and that its theories in a real browser are those of Python."""

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from lab_user import wait_for_curve
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.errors import RefusalError
from dimfree.lab.export.script import script_of
from dimfree.lab.page import one_file
from dimfree.lab.saved import page_of, saved_controls
from dimfree.lab.shelf import plain_problem
from dimfree.lab.texts import as_text
from dimfree.registry import setting_of

SMALL = df.Problem(dimension=300, data={"kind": "teacher", "units": 1}, network={"width": 2}, run={"until": 20.0})


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    toml = path.with_suffix(".toml")
    toml.write_text(as_text(SMALL, "toml"), encoding="utf-8")
    told = CliRunner().invoke(app, ["lab", str(toml), "--save", str(path)])
    assert told.exit_code == 0, told.output
    return path


@pytest.mark.slow
def test_the_file_is_small_and_asks_nobody(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 150_000
    assert "default-src 'none'" in text
    assert not re.findall(
        r"""(?:src|href)=["'](?!data:|#)""", re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    )
    assert "@import" not in text
    assert "fetch(" not in text


def test_the_live_page_of_the_documentation_is_small_and_of_these_sources():
    """It is the embedded problem: `dimfree lab --save docs/live.html` writes it anew. Emitted equations are not compared."""
    text = (Path(__file__).parents[2] / "docs" / "live.html").read_text(encoding="utf-8")
    assert len(text.encode()) <= 150_000
    packed = re.compile(r'(?<=id="packed">)[^<]*')
    assert packed.sub("", text) == packed.sub("", one_file("", {}))
    held = json.loads(gzip.decompress(base64.b64decode(packed.findall(text)[0])))
    empty = json.loads(gzip.decompress(base64.b64decode(packed.findall(one_file("", {}))[0])))
    assert held["worker"].endswith(empty["worker"])
    assert held["hello"]["problem"] == plain_problem(df.Problem())


@pytest.mark.slow
def test_sliders_stay_where_the_written_equations_hold():
    """Below a certain dimension the chain is another one; what is structure says so."""
    script = script_of(SMALL)
    controls = {one["path"]: one for one in saved_controls(SMALL, script, setting_of(SMALL).recipe_of(SMALL))}
    assert controls["dimension"]["min"] == 2 + 1 + 16
    assert controls["training.learning_rate"]["live"]
    assert controls["run.seed"]["live"]
    assert controls["start.scale"]["live"]
    assert not controls["network.width"]["live"]
    assert "structure" in controls["network.width"]["reason"]


def test_a_start_that_no_page_can_draw_is_refused_before_anything_is_written():
    with pytest.raises(RefusalError, match=r"the page cannot be saved: run\.starts = 4 asks for several starts"):
        page_of(SMALL.replace(**{"run.starts": 4}))


@pytest.mark.slow
def test_the_theory_of_the_page_in_a_browser_is_that_of_python(page, tab):
    """Right-hand sides of the page's engine, and the start of its seed, to 10^-10; curves to the tolerance of the page."""
    open_page = tab(page.as_uri())
    wait_for_curve(open_page, "ode")
    shown = open_page.evaluate(
        "() => { const one = lab.store.all().find(x => x.name === 'ode'); return JSON.stringify(one); }"
    )
    curve = json.loads(shown)
    found = df.solve(SMALL, "ode")
    np.testing.assert_allclose(curve["times"], found.time.values, rtol=1e-12)
    np.testing.assert_allclose(curve["risk"]["mean"], found.risk.values[:, 0], rtol=1e-4)
    assert curve["risk"]["mean"][0] == pytest.approx(float(found.risk.values[0, 0]), rel=1e-10)
