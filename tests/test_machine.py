"""How much memory a process may use: of the machine, of its container, of its SLURM job."""

import os
import sys

import pytest

import dimfree as df
from dimfree import machine
from dimfree.comparison.budget import plan
from dimfree.results.record import cost_of

GIGA = 1e9


@pytest.fixture(autouse=True)
def _no_limits(monkeypatch):
    for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)


def grouped(tmp_path, lines: str, files: dict[str, str]) -> list[float]:
    (tmp_path / "cgroup").write_text(lines)
    for name, text in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return sorted(machine._control_groups(tmp_path / "cgroup", tmp_path / "fs"))


def test_limits_of_control_groups_of_both_versions_and_of_all_around(tmp_path):
    second = {"job/task/memory.max": "max\n", "job/memory.max": f"{int(3e9)}\n", "memory.max": "max"}
    assert grouped(tmp_path, "0::/job/task\n", second) == [3 * GIGA]
    first = {"memory/a/b/memory.limit_in_bytes": f"{int(2e9)}", "memory/memory.limit_in_bytes": f"{int(9e9)}"}
    assert grouped(tmp_path, "4:memory:/a/b\n3:cpuset:/\n", first) == [2 * GIGA, 9 * GIGA]
    assert grouped(tmp_path, "3:cpuset:/\n", {}) == []
    assert list(machine._control_groups(tmp_path / "nowhere", tmp_path)) == []


def test_what_a_control_group_does_not_allow_is_left_out(tmp_path, monkeypatch):
    """A run that fits into the machine, but not into its container."""
    problem = df.Problem(dimension=40_000, run=df.Run(until=1.0, replicas=64))
    needed = cost_of(df.experiments.VectorSGD(), problem).memory
    assert [one.name for one in plan(problem, [df.experiments.VectorSGD()], 1e9).chosen] == ["sgd"]
    (tmp_path / "cgroup").write_text("0::/job\n")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "memory.max").write_text(str(int(needed)))
    real = machine._control_groups
    monkeypatch.setattr(machine, "_control_groups", lambda *_: real(tmp_path / "cgroup", tmp_path))
    (left,) = plan(problem, [df.experiments.VectorSGD()], 1e9).left_out
    assert f"GB of memory where the machine has {needed / 1e9:.3g}" in left.reason


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"MEM_PER_NODE": "2000"}, 2 * GIGA),
        ({"MEM_PER_CPU": "500", "CPUS_ON_NODE": "3"}, 1.5 * GIGA),
        ({"MEM_PER_CPU": "500"}, 0.5 * GIGA),
        ({"MEM_PER_NODE": "0"}, None),
        ({"MEM_PER_NODE": "all"}, None),
    ],
)
def test_limits_of_slurm(variables, expected, monkeypatch):
    before = machine.machine_memory()
    for name, value in variables.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert machine.machine_memory() == (expected or before)


def test_the_limit_of_the_shell(monkeypatch):
    resource = pytest.importorskip("resource", reason="the shell of this system sets no limits")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (int(1e9), -1))
    assert machine.machine_memory() == GIGA


def test_memory_where_there_is_no_limit_of_the_shell(monkeypatch):
    """As on Windows, where the module `resource` is missing."""
    before = machine.machine_memory()
    monkeypatch.setitem(sys.modules, "resource", None)
    assert machine.machine_memory() >= before
    monkeypatch.delattr(os, "sysconf")
    assert machine.machine_memory() >= before


def test_every_prediction_counts_the_process_itself():
    problem = df.Problem(dimension=40)
    assert all(
        cost_of(one, problem).memory > machine.BASELINE
        for one in (df.experiments.VectorSGD(), df.theories.HighDimensional())
    )
