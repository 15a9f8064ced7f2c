import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.results import schema
from dimfree.results.citations import bibliography, entries
from dimfree.results.store import load, replacing, writable


@pytest.fixture(scope="module")
def comparison():
    return df.compare(df.Problem(dimension=30), until=0.5, replicas=3, only=["chain", "ode"])


def test_datasets_follow_the_schema(comparison):
    for name in comparison.names:
        data = comparison.tree[name].to_dataset()
        for variable, values in data.data_vars.items():
            assert values.dims == schema.VARIABLES[variable].dims
            assert values.attrs["units"] == schema.VARIABLES[variable].units
            assert np.isfinite(values).all()
        assert set(data.attrs) == set(schema.ATTRIBUTES)
        assert data.attrs["description"] == name
        assert df.loads(data.attrs["problem"]).data == comparison.problem.data


def test_files_round_trip(comparison, tmp_path):
    path = comparison.save(tmp_path / "deep" / "results.nc")
    again = load(path)
    xr.testing.assert_identical(again, comparison.tree)
    assert [entry.name for entry in path.parent.iterdir()] == ["results.nc"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "results.nc"
    path.write_text("old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("new, but")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_the_old_file(tmp_path):
    """SIGKILL in the middle of writing: the old file is whole, and the new one never appears under its name."""
    path = tmp_path / "results.nc"
    path.write_text("old")
    code = (
        "import sys, time; from pathlib import Path; from dimfree.results.store import replacing\n"
        "with replacing(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); print('writing', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert path.read_text() == "old"


def test_unreadable_files_are_one_sentence(tmp_path):
    with pytest.raises(df.OutputError, match="there is no results file"):
        load(tmp_path / "nothing.nc")
    (tmp_path / "text.nc").write_text("not netCDF")
    with pytest.raises(df.OutputError, match="not a results file that can be read"):
        load(tmp_path / "text.nc")


def test_unwritable_folders_are_one_sentence(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(df.OutputError, match=r"cannot be written to .* choose another one with --out"):
        writable(blocker / "folder")


def test_every_citation_has_an_entry():
    keys = {key for one in df.descriptions().values() for key in one.cites}
    assert keys <= set(entries())
    assert bibliography(["saad1995", "saad1995"]).count("@article{saad1995") == 1


def test_the_docs_list_the_whole_schema():
    page = (os.path.dirname(__file__), "..", "..", "docs", "results.md")
    with open(os.path.join(*page), encoding="utf-8") as file:
        text = file.read()
    for name, variable in schema.VARIABLES.items():
        assert f"| `{name}` | {', '.join(variable.dims)} | {variable.meaning} |" in text
    for attribute in schema.ATTRIBUTES:
        assert f"`{attribute}`" in text


def test_to_dict_is_json(comparison):
    assert json.loads(json.dumps(comparison.to_dict()))["reference"] == "chain"
