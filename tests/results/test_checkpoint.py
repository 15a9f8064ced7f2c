import os
import random
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.errors import OutputError
from dimfree.files import discard_temporaries
from dimfree.results import checkpoint

ROLLING = df.Problem(
    dimension=30, network=df.TwoLayer(width=2), data=df.Teacher(units=1), run=df.Run(until=1.0, replicas=2, points=6)
)
CLUSTERS = df.Problem(
    data=df.TwoClusters(),
    training=df.MultiPass(weight_decay=1.0),
    dimension=40,
    run=df.Run(until=1.0, replicas=4, points=3, spacing="linear"),
)
SEED = int(os.environ.get("DIMFREE_RANDOM_SEED", secrets.randbits(32)))


class Killed(BaseException):
    """Nobody catches it."""


@pytest.fixture(autouse=True)
def _at_every_piece(monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)


def until(share):
    """Somebody who kills what he watches."""
    seen = []

    def watch(title, done):
        seen.append(done)
        if done >= share:
            raise Killed

    watch.seen = seen
    return watch


def same_numbers(one: xr.Dataset, other: xr.Dataset) -> None:
    assert one.equals(other)
    spent = ("wall_seconds", "cpu_seconds", "created_at")
    assert {k: v for k, v in one.attrs.items() if k not in spent} == {
        k: v for k, v in other.attrs.items() if k not in spent
    }


@pytest.mark.parametrize(("problem", "pieces"), [(ROLLING, 6), (CLUSTERS, 4)], ids=["state", "replicas"])
def test_a_killed_run_goes_on_with_the_same_numbers(problem, pieces, tmp_path):
    whole, kept = df.simulate(problem), tmp_path / "kept"
    with pytest.raises(Killed):
        df.simulate(problem, checkpoint=kept, watch=until(0.5))
    (file,) = kept.iterdir()
    first, rest = file.read_bytes(), []
    same_numbers(df.simulate(problem, checkpoint=kept, watch=lambda title, done: rest.append(done)), whole)
    assert len(rest) == pieces - pieces // 2 + 1  # what was there, and the pieces that were not
    assert rest[0] == 0.5
    assert not kept.exists()
    kept.mkdir()
    file.write_bytes(first[: len(first) // 2])  # a damaged one is as good as none
    same_numbers(df.simulate(problem, checkpoint=kept), whole)


def test_another_problem_has_another_checkpoint(tmp_path):
    with pytest.raises(Killed):
        df.simulate(CLUSTERS, checkpoint=tmp_path, watch=until(0.5))
    other = CLUSTERS.replace(**{"run.seed": 1})
    same_numbers(df.simulate(other, checkpoint=tmp_path), df.simulate(other))
    assert len(list(tmp_path.iterdir())) == 1, "that of the first is still there"


def test_short_runs_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 1e9)
    with pytest.raises(Killed):
        df.simulate(CLUSTERS, checkpoint=tmp_path / "kept", watch=until(0.5))
    assert not (tmp_path / "kept").exists()


def test_a_comparison_goes_on_with_what_was_finished(tmp_path):
    whole = df.compare(CLUSTERS, only=["multi-pass", "static"])
    with pytest.raises(Killed):
        df.compare(CLUSTERS, only=["multi-pass", "static"], checkpoint=tmp_path, watch=until(1.0))
    told = []
    again = df.compare(
        CLUSTERS, only=["multi-pass", "static"], checkpoint=tmp_path, watch=lambda *seen: told.append(seen)
    )
    assert told == [("multi-pass", 1.0), ("static", 1.0)]
    for name in whole.names:
        assert again.accounts[name].equals(whole.accounts[name])


@pytest.mark.slow
def test_a_comparison_whose_results_cannot_be_written_keeps_its_checkpoints(tmp_path, monkeypatch):
    options = ("--set", "data.kind=two-clusters", "--set", "dimension=40", "--set", "run.until=1.0", "--replicas", "2")
    options += ("--set", "training.loss=square", "--only", "multi-pass", "--out", str(tmp_path))
    with monkeypatch.context() as full:
        full.setattr(df.Comparison, "save", no_room)
        failed = CliRunner().invoke(app, ["compare", *options])
    assert (failed.exit_code, failed.stderr) == (1, "dimfree: no room.\n")
    assert len(list((tmp_path / "checkpoints").iterdir())) == 1
    assert CliRunner().invoke(app, ["compare", *options]).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparison.nc", "comparison.png"]


def no_room(*_):
    raise OutputError("no room.")


def test_runs_that_diverge_leave_no_checkpoint(tmp_path):
    wild = ROLLING.replace(**{"training.learning_rate": 60.0, "network.activation": "linear", "run.until": 3000.0})
    with pytest.raises(df.DivergenceError):
        df.simulate(wild, checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_counts_as_written_once_and_not_after_its_removal(tmp_path):
    with pytest.raises(Killed):
        df.simulate(CLUSTERS, checkpoint=tmp_path, watch=until(1.0))
    (file,) = tmp_path.iterdir()
    assert discard_temporaries().count(file) == 1
    df.simulate(CLUSTERS, checkpoint=tmp_path)
    assert file not in discard_temporaries()


@pytest.mark.slow
def test_sigkill_at_a_random_moment(tmp_path):
    """The command line, killed when a checkpoint has changed a random number of times."""
    script = tmp_path / "run.py"
    script.write_text(
        "from dimfree.results import checkpoint\ncheckpoint.EVERY = 0.0\nfrom dimfree.cli import main\nmain()\n"
    )
    out = tmp_path / "out"
    changes = ["--set", "dimension=100", "--set", "run.until=2.0", "--set", "run.points=40", "--set", "run.replicas=2"]
    command = [sys.executable, str(script), "simulate", *changes, "--out", str(out), "--quiet"]
    moment = random.Random(SEED)
    for _ in range(2):
        process, times, before = subprocess.Popen(command, stdout=subprocess.DEVNULL), moment.randint(1, 10), None
        while times and process.poll() is None:
            now = _state_of(out)
            times -= now != before
            before = now
            os.sched_yield()
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert not (out / "checkpoints").exists()
    problem = df.Problem(dimension=100, run=df.Run(until=2.0, points=40, replicas=2))
    found = df.open(out / "sgd.nc").accounts["sgd"]
    np.testing.assert_array_equal(found["Q"], df.simulate(problem)["Q"], err_msg=f"seed {SEED}")


def _state_of(out: Path) -> list[int]:
    try:
        return [path.stat().st_mtime_ns for path in (out / "checkpoints").glob("*.npz")]
    except FileNotFoundError:  # renamed between two looks
        return []
