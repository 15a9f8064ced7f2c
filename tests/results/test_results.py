import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.files import replacing, writable
from dimfree.registry import setting_of
from dimfree.results import schema
from dimfree.results.citations import bibliography, entries
from dimfree.results.store import load


@pytest.fixture(scope="module")
def comparison():
    return df.compare(df.Problem(dimension=30), until=0.5, replicas=3, only=["chain", "ode"])


def test_datasets_follow_the_schema(comparison):
    declared = setting_of(comparison.problem).variables
    for name in comparison.names:
        data = comparison.tree[name].to_dataset()
        for variable, values in data.data_vars.items():
            assert values.dims == declared[variable].dims
            assert values.attrs["units"] == declared[variable].units
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
        "import sys, time; from pathlib import Path; from dimfree.files import replacing\n"
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
    with pytest.raises(df.OutputError, match=r"cannot be written to .* choose another one"):
        writable(blocker / "folder")


def test_every_citation_has_an_entry():
    keys = {key for one in df.descriptions().values() for key in one.cites}
    assert keys <= set(entries())
    assert bibliography(["saad1995", "saad1995"]).count("@article{saad1995") == 1


def test_the_docs_list_the_whole_schema():
    page = (os.path.dirname(__file__), "..", "..", "docs", "results.md")
    with open(os.path.join(*page), encoding="utf-8") as file:
        text = file.read()
    for setting in df.settings():
        for name, variable in setting.variables.items():
            meaning = re.sub(r"([|*])", r"\\\1", variable.meaning)  # a bar ends a cell, and a star begins emphasis
            assert f"| `{name}` | {', '.join(variable.dims)} | {meaning} |" in text
    for attribute, meaning in schema.ATTRIBUTES.items():
        assert f"| `{attribute}` | {meaning} |" in text


def test_to_dict_is_json(comparison):
    assert json.loads(json.dumps(comparison.to_dict()))["reference"] == "chain"


@pytest.mark.slow
def test_a_descriptions_own_fields_are_part_of_what_identifies_a_result():
    problem = df.Problem(dimension=30, run=df.Run(until=0.5))
    coarse, fine = (df.solve(problem, df.theories.HighDimensional(rtol=rtol)) for rtol in (1e-4, 1e-8))
    assert json.loads(coarse.attrs["settings"])["rtol"] == 1e-4
    assert coarse.attrs["digest"] == fine.attrs["digest"]
    assert coarse.attrs["identity"] != fine.attrs["identity"]
    again = df.solve(problem, df.theories.HighDimensional(rtol=1e-8, label="another name"))
    assert again.attrs["identity"] == fine.attrs["identity"]


def test_the_digest_is_that_of_the_content_of_files(tmp_path):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 30))
    np.savez(tmp_path / "one.npz", W=weights, Wstar=np.eye(2, 30) * 30**0.5)
    (tmp_path / "copy.npz").write_bytes((tmp_path / "one.npz").read_bytes())
    problems = [
        df.Problem(dimension=30, start=df.WeightsStart(file=tmp_path / name)) for name in ("one.npz", "copy.npz")
    ]
    before = problems[0].digest
    np.savez(tmp_path / "one.npz", W=2 * weights, Wstar=np.eye(2, 30) * 30**0.5)
    assert problems[0].digest != before


def test_a_file_gives_its_comparison_back(comparison, tmp_path):
    again = df.open(comparison.save(tmp_path / "results.nc"))
    assert again.problem == comparison.problem
    assert again.verdict() == comparison.verdict()
    again.plot(tmp_path / "M.png", observable="M")
    assert (tmp_path / "M.png").stat().st_size > 10_000
    with pytest.raises(df.ProblemError, match=r"no account has an observable 'risc'; did you mean 'risk'\?"):
        again.plot(tmp_path / "no.png", observable="risc")
    assert not (tmp_path / "no.png").exists()


@pytest.mark.slow
def test_a_function_written_in_place_is_asked_for(tmp_path):
    problem = df.Problem(dimension=30, network=df.TwoLayer(width=1, activation=lambda x: x / (1 + x**2)))
    saved = df.compare(problem, until=0.2, only=["ode"]).save(tmp_path / "results.nc")
    with pytest.raises(
        df.OutputError, match=r"cannot be read again: .* Give it again: df.open\(path, problem=problem\)"
    ):
        df.open(saved)
    assert df.open(saved, problem=problem).names == ("ode",)
