import json

import pytest
import xarray as xr
from typer.testing import CliRunner

from dimfree.cli.commands import app

SWEEP = """
descriptions = ["bayes-optimal"]
[problem]
dimension = 50
[problem.data]
kind = "sign-teacher"
[over]
"data.samples" = [1.0, 2.0]
"training.learning_rate" = [0.1, 0.2]
"""


def invoke(*arguments: object):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "grid.toml"
    path.write_text(SWEEP)
    return path


def test_sweep_status_export_plot(file, tmp_path):
    result = invoke("sweep", file, "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stdout == "grid.zarr: 4 of 4 points finished, 0 failed.\n"
    said = json.loads(invoke("sweep", file, "--status", "--json").stdout)
    assert (said["points"], said["finished"], said["missing"]) == (4, 4, 0)
    assert invoke("sweep", "grid.zarr", "--export", "out.nc").exit_code == 0
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as data:
        assert data["risk"].shape == (1, 2, 2)
    assert invoke("plot", "grid.zarr").stdout == "grid.png\n"
    assert (tmp_path / "grid.png").exists()
    assert "committee-phase-diagram" in invoke("sweep", "--list").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["sweep"], 2, "no sweep was named"),
        (["sweep", "nothing.toml"], 2, "there is no sweep file"),
        (["sweep", "grid.toml", "--status"], 1, "there is no store 'grid.zarr'"),
        (["sweep", "grid.toml", "--cluster", "somewhere"], 2, "the cluster 'somewhere' is not known"),
        (["sweep", "grid.toml", "--store", "."], 1, "is not the store of a sweep, and was not changed"),
        (["plot", "."], 1, "is not the store of a sweep"),
    ],
)
def test_what_is_wrong_is_one_sentence(file, arguments, code, said):
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_failed_points_are_counted_and_end_with_1(file):
    file.write_text(SWEEP.replace("[0.1, 0.2]", "[0.1, 1e9]"))
    result = invoke("sweep", file, "--quiet")
    assert result.exit_code == 1, result.output
    assert "2 of 4 points finished, 2 failed." in result.stdout
