"""A sweep file from somewhere else runs no code unless that is allowed: not by its axes, and not by its jobs."""

import pytest
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.sweeps.run import define
from dimfree.sweeps.slurm import check_slurm
from dimfree.sweeps.toml import read_sweep

AXES = {
    "a list": '[over]\n"network.activation" = ["erf", "CODE:f"]',
    "a list of several keys": '[over.x]\nzip = { "network.activation" = ["erf", "CODE:f"], dimension = [40, 50] }',
    "a whole section": '[over]\nnetwork = [{ width = 2 }, { width = 2, activation = "CODE:f" }]',
    "with steps": 'steps = 10\n[over]\n"network.activation" = ["erf", "CODE:f"]',
    "the teacher": '[over]\n"data.activation" = ["erf", "CODE:f"]\ndimension = [40, 50]',
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A module that leaves a trace when it is imported; its name is used once, because modules stay imported."""
    monkeypatch.chdir(tmp_path)
    name = f"foreign_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\nf = abs\n")
    return tmp_path, name


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
def test_no_value_of_an_axis_runs_code(folder, axes):
    where, name = folder
    (where / "s.toml").write_text(axes.replace("CODE", name))
    result = CliRunner().invoke(app, ["sweep", "s.toml"])
    assert result.exit_code == 2, result.output
    assert f"{name}:f' names code" in result.stderr
    assert "--allow-code" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (where / "ran").exists()
    assert not (where / "s.zarr").exists(), "it was refused before anything ran"


def test_allowed_code_of_an_axis_is_found_beside_the_file(folder):
    where, name = folder
    (where / "s.toml").write_text(AXES["a list"].replace("CODE", name))
    points = read_sweep(where / "s.toml", allow_code=True).sweep.points
    assert [point.problem.network.activation for point in points] == ["erf", abs]
    assert (where / "ran").exists()


def test_in_python_a_path_is_the_callers_own():
    plan = define(df.Problem(), {"network.activation": ["erf", "jax.numpy:tanh"]}, ["ode"])
    assert plan.points[1].problem.network.activation == "jax.numpy:tanh"


@pytest.mark.parametrize(
    "line",
    [
        'job_script_prologue = ["touch ran"]',
        'python = "sh -c true"',
        'shebang = "#!/bin/evil"',
        'job_extra_directives = ["--output=.bashrc"]',
        'worker_extra_args = ["--preload", "evil.py"]',
        'worker_command = "evil"',
        'local_directory = "/; touch ran"',
        'log_directory = "/etc"',
        "scheduler_options = { preload = 'evil' }",
    ],
)
def test_no_job_runs_code_of_the_file(folder, line):
    where, _ = folder
    (where / "s.toml").write_text(f"[over]\ndimension = [40]\n[slurm]\n{line}\n")
    with pytest.raises(df.ProblemError, match=r"^\[slurm\] \w+ decides what runs on the cluster.*allow_code[^\n]*$"):
        read_sweep("s.toml")
    assert read_sweep("s.toml", allow_code=True).slurm


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("queue", "short\ntouch ran"),
        ("queue", "short --wrap=touch"),
        ("account", "$(touch ran)"),
        ("interface", "lo --preload evil.py"),
        ("interface", "lo;touch"),
        ("job_name", "`touch ran`"),
        ("walltime", "1:00\ntouch ran"),
        ("memory", "1 GB\n"),
        ("job_mem", "1G;true"),
        ("cores", "1; touch ran"),
        ("cores", 0),
        ("cores", True),
        ("processes", 1.5),
        ("jobs", -1),
        ("death_timeout", "60 & touch ran"),
    ],
)
def test_options_of_a_job_are_what_they_are_called(option, value):
    with pytest.raises(df.ProblemError, match=rf"^\[slurm\] got {option} = .*; give .*\.$"):
        check_slurm({option: value}, allow_code=True)


def test_usual_options_pass_and_others_are_not_known():
    check_slurm(
        {
            **{
                "jobs": 8,
                "cores": 4,
                "processes": 4,
                "memory": "16 GB",
                "walltime": "1-02:00:00",
                "queue": "short,long",
            },
            **{"account": "physics.theory", "interface": "ib0", "job_name": "a-b", "job_cpu": 4, "job_mem": "16G"},
        },
        allow_code=False,
    )
    with pytest.raises(df.ProblemError, match=r"^\[slurm\] has no option 'quue'; did you mean 'queue'\?$"):
        check_slurm({"quue": "short"}, allow_code=True)
