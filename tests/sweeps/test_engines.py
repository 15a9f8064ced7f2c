import os
import secrets

import dask_jobqueue
import distributed
import numpy as np
import psutil
import pytest
import xarray as xr
from accounts import BASE, RATES, Decay, Square
from killing import survives

import dimfree as df
from dimfree.sweeps.cluster import Cluster
from dimfree.sweeps.engines import KILLED
from dimfree.sweeps.slurm import slurm_options

SEED = int(os.environ.get("DIMFREE_RANDOM_SEED", secrets.randbits(32)))
OVER = {RATES: [1.0, 2.0, 5.0, 7.0]}


def test_another_process_computes_what_this_one_does():
    accounts = [Square(), Decay()]
    here = df.sweep(BASE, OVER, descriptions=accounts)
    xr.testing.assert_identical(df.sweep(BASE, OVER, descriptions=accounts, processes=1), here)


@pytest.mark.slow
def test_whoever_kills_his_process_is_known(tmp_path):
    deadly, once = {RATES: [1.0, 9.0, 2.0, 3.0]}, str(tmp_path / "killed")
    accounts = [Square(), Square(once=once, label="once")]
    found = df.sweep(BASE, deadly, descriptions=accounts, processes=2)
    assert found["failure"].values.tolist() == [["", KILLED, "", ""], ["", "", "", ""]]
    assert found["risk"].sel(description="once").values.tolist() == [1.0, 81.0, 4.0, 9.0]


@pytest.mark.slow
def test_all_engines_give_the_same_bits():
    """Among them real SGD, whose seeds belong to the point, and theories that are solved many at once."""
    problem = df.Problem(dimension=60, network=df.TwoLayer(width=2), run=df.Run(until=2.0, replicas=2, points=6))
    over, accounts = {RATES: [0.5, 1.0, 2.0]}, ["sgd", "chain", "ode"]
    here = df.sweep(problem, over, descriptions=accounts)
    assert (here["failure"] == "").all()
    xr.testing.assert_identical(df.sweep(problem, over, descriptions=accounts, processes=2), here)
    xr.testing.assert_identical(df.sweep(problem, over, descriptions=accounts, processes=2, cluster="local"), here)
    alone = df.simulate(problem.replace(**{RATES: 2.0}), "chain")["risk"].values
    np.testing.assert_array_equal(here["risk"].sel({RATES: 2.0, "description": "chain"}), alone)
    solved = df.solve(problem.replace(**{RATES: 2.0}), "ode")["risk"].values[:, 0]
    np.testing.assert_allclose(here["risk"].sel({RATES: 2.0, "description": "ode"})[:, 0], solved, rtol=1e-6)


def test_what_cannot_be_sent_is_said_before_anything_runs():
    problem = BASE.replace(**{"network.activation": lambda x: x})
    with pytest.raises(df.ProblemError, match=r"cannot be sent to another process .*; name its functions"):
        df.sweep(problem, OVER, descriptions=[Square()], processes=1)


def test_points_at_once_are_points_alone(monkeypatch):
    with monkeypatch.context() as alone:  # what cannot be stacked falls back to it, and nothing here may
        alone.setattr("dimfree.sweeps.batches._alone", lambda one, problem: pytest.fail("a point was computed alone"))
        together = df.sweep(BASE, {RATES: [1.0, 2.0, 3.0, 4.0]}, descriptions=[Decay()])
    assert together["failure"].values[0].tolist() == ["", "", "it fails at 3.", ""]
    for rate in (1.0, 2.0, 4.0):
        problem = BASE.replace(**{RATES: rate, "run.times": together["time"].values[1:].tolist(), "run.until": 2.0})
        alone = df.solve(problem, Decay())["risk"].values
        assert together["risk"].sel({RATES: rate}).values[0, :, :1] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"processes": 0}, "processes = 0 was given"),
        ({"cluster": "lokal"}, "'lokal' is not known; give local, slurm, or the address"),
        ({"cluster": "slurm"}, "needs a value for 'interface'"),
        ({"cluster": "slurm", "slurm": {"interface": "ib0", "jobs": 0}}, "got jobs = 0"),
        ({"descriptions": ["oed"]}, "there is no description 'oed'"),
        ({"descriptions": [Square(), Square()]}, "two descriptions are called 'square'"),
        ({"steps": 0}, "steps = 0 was given"),
        ({"steps": 10**400}, "was given; give the number of steps"),
    ],
)
def test_what_does_not_make_sense_is_one_sentence(more, said):
    with pytest.raises(df.ProblemError, match=r"^[^\n]*$") as caught:
        df.sweep(BASE, OVER, **{"descriptions": [Square()], **more})
    assert said in str(caught.value)


def test_a_scheduler_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("dimfree.sweeps.cluster._PATIENCE", 0.1)
    df.sweep(BASE, {RATES: [1.0]}, descriptions=[Square()], store=tmp_path / "s")
    with pytest.raises(
        df.OutputError, match=r"^there is no scheduler at 'tcp://127.0.0.1:1' .*with the cluster 'local'.$"
    ):
        df.sweep(BASE, OVER, descriptions=[Square()], store=tmp_path / "s", cluster="tcp://127.0.0.1:1")
    assert df.open_sweep(tmp_path / "s")["risk"].values[0, 0] == 1.0


def test_slurm_gets_what_the_table_says_and_no_dashboard():
    options, jobs = slurm_options(
        {"interface": "lo", "cores": 2, "memory": "4 GB", "queue": "short", "walltime": "01:00:00", "jobs": 3}
    )
    assert jobs == 3
    assert options["scheduler_options"] == {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    handed = {name: options[name] for name in ("cores", "memory", "queue", "walltime")}
    job = dask_jobqueue.slurm.SLURMJob(scheduler="tcp://127.0.0.1:1", name="x", **handed)
    script = job.job_script()
    assert "#SBATCH -p short" in script
    assert "#SBATCH -t 01:00:00" in script


def listening() -> set[str]:
    """The addresses on which this process and its children wait for others."""
    here = psutil.Process()
    found = [one for process in (here, *here.children(recursive=True)) for one in process.net_connections("inet")]
    return {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}


@pytest.mark.slow
def test_nothing_listens_but_where_the_user_says():
    assert not listening()
    with Cluster("local", 1)._own(distributed) as cluster:
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        assert listening() == {"127.0.0.1"}
    options, _ = slurm_options({"interface": "lo", "cores": 1, "memory": "1 GB"})
    with dask_jobqueue.SLURMCluster(**options) as cluster:
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        assert listening() == {"127.0.0.1"}


@pytest.mark.slow
def test_a_scheduler_that_is_running_is_used_where_it_is():
    with Cluster("local", 1)._own(distributed) as cluster:
        found = df.sweep(BASE, OVER, descriptions=[Square()], cluster=cluster.scheduler_address)
    xr.testing.assert_identical(found, df.sweep(BASE, OVER, descriptions=[Square()]))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_killed_sweep_goes_on_as_if_nothing_had_happened(engine, tmp_path):
    """benchmarks/kills.py does it ten times, with 200 points."""
    whom = "driver" if engine == "processes" else "worker"
    assert survives(tmp_path, engine, 60, whom, 1, SEED)["points"] == 60
