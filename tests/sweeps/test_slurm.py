"""A sweep by jobs of a real SLURM, one of which is cancelled in the middle; skipped where there is no SLURM."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from killing import content, finished
from own_slurm import DoesNotStart, own_slurm, until, why_not
from slurmed import swept

from dimfree.sweeps.store import Store

POINTS = 24
HERE = Path(__file__).parent


@pytest.fixture
def slurm():
    if reason := why_not():
        pytest.skip(reason)
    try:
        with own_slurm() as running:
            yield running
    except DoesNotStart as failure:
        pytest.skip(f"SLURM does not start here: {failure}")


def begun(folder: Path) -> list[str]:
    """The job of every point behind the gate that was begun."""
    notes = folder / "begun"
    return [line.split()[0] for line in notes.read_text().splitlines()] if notes.exists() else []


def ready(folder: Path) -> int:
    """How many jobs have a worker that the scheduler knows."""
    return sum("Registered to" in path.read_text() for path in folder.glob("slurm-*.out"))


@pytest.mark.slow
def test_a_sweep_by_slurm_survives_a_cancelled_job(slurm, tmp_path):
    store = tmp_path / "disturbed"
    found = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "slurmed.py"), str(tmp_path), store.name, str(POINTS)]
    environment = slurm.environment | {"PYTHONPATH": found}
    driver = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: ready(tmp_path) == 2 or driver.poll() is not None, 200, "a worker of both jobs")
        (tmp_path / "start").touch()
        until(lambda: len({*begun(tmp_path)}) == 2 or driver.poll() is not None, 200, "work of both jobs")
        until(lambda: finished(store) == POINTS // 2 or driver.poll() is not None, 60, "half of the sweep")
        assert driver.poll() is None, driver.communicate()[1]
        cancelled, other = {*begun(tmp_path)}
        assert slurm.jobs() == {cancelled: "RUNNING", other: "RUNNING"}
        slurm.said("scancel", cancelled)
        until(lambda: cancelled not in slurm.jobs(), 60, "the end of the job")
        (tmp_path / "go").touch()
        errors = driver.communicate(timeout=200)[1]
    finally:
        driver.kill()
        driver.communicate()
    assert driver.returncode == 0, errors
    assert begun(tmp_path).count(cancelled) == 1
    assert begun(tmp_path).count(other) == POINTS // 2, (
        "what was underway in the cancelled job was computed by the other"
    )
    kept = Counter(note["point"] for note in Store(store).journal())
    assert len(kept) == sum(kept.values()) == POINTS
    swept(tmp_path, "undisturbed", POINTS)
    assert content(store) == content(tmp_path / "undisturbed")
    until(lambda: not slurm.jobs(), 60, "the end of the other job")
