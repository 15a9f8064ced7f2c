import json
import os
import select
import subprocess
import sys

import pytest
import xarray as xr
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app

runner = CliRunner()
QUICK = ["--set", "dimension=40", "--set", "run.until=0.5", "--set", "run.replicas=2", "--set", "run.points=8"]
FOUR = ["sgd", "chain", "ode", "gradient-flow"]  # all accounts run in tests/comparison
ONLY = [word for name in FOUR for word in ("--only", name)]


def invoke(*arguments: str):
    return runner.invoke(app, list(arguments))


def one_sentence(result, code: int) -> str:
    assert result.exit_code == code, result.output
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.output
    return lines[0]


def test_compare_writes_a_figure_and_results_and_says_where(tmp_path):
    result = invoke("compare", *QUICK, *ONLY, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert "gradient-flow" in result.stdout
    assert str(tmp_path / "out" / "comparison.png") in result.stderr
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["comparison.nc", "comparison.png"]


EVERY = {*FOUR, "mean-field", "dimensionless", "pde", "diffusion"}


@pytest.mark.parametrize(
    ("options", "expected"), [(ONLY, {*FOUR}), pytest.param([], EVERY, marks=pytest.mark.slow)], ids=["only", "all"]
)
def test_compare_json_is_data_on_stdout_alone(options, expected, tmp_path):
    result = invoke("compare", *QUICK, *options, "--json", "--seed", "3", "--out", str(tmp_path))
    found = json.loads(result.stdout)
    assert found["problem"]["run"]["seed"] == 3
    assert set(found["descriptions"]) == expected
    assert result.stderr == ""


@pytest.mark.parametrize(("verb", "name"), [("solve", "ode"), ("simulate", "chain")])
def test_one_description(verb, name, tmp_path):
    result = invoke(verb, *QUICK, "--with", name, "--json", "--out", str(tmp_path))
    found = json.loads(result.stdout)
    assert found["description"] == name
    assert len(found["time"]) == len(found["risk"]) == 8
    assert (tmp_path / f"{name}.nc").exists()


@pytest.mark.slow
def test_solve_and_simulate_take_the_descriptions_of_the_setting(tmp_path):
    small = ["--set", "data.kind=two-clusters", "--set", "dimension=40", "--set", "run.until=1.0", "--json"]
    small += ["--set", "training.loss=square", "--out", str(tmp_path)]
    assert json.loads(invoke("solve", *small).stdout)["description"] == "dmft"
    assert json.loads(invoke("simulate", *small).stdout)["description"] == "multi-pass"
    ends = json.loads(invoke("solve", *small, "--with", "static").stdout)
    assert {"risk", "m", "norm", "train_loss"} <= set(ends)
    assert "time" not in ends
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dmft.nc",
        "dmft.png",
        "multi-pass.nc",
        "multi-pass.png",
        "static.nc",
    ]


@pytest.mark.slow
def test_replicas_of_single_descriptions_and_nonsense(tmp_path):
    options = ("--only", "chain", "--only", "ode", "--replicas", "chain=3", "--json", "--out", str(tmp_path))
    assert invoke("compare", *QUICK, *options).exit_code == 0
    with xr.open_datatree(tmp_path / "comparison.nc", engine="h5netcdf") as tree:
        assert tree["chain"].sizes["replica"] == 3
    assert "--replicas got 'chain=no'" in one_sentence(invoke("compare", *QUICK, "--replicas", "chain=no"), 2)


@pytest.mark.parametrize(
    "kind", ["teacher", "multi-index", "two-gaussians", "hypercube", "two-clusters", "phase-retrieval"]
)
def test_new_writes_a_problem_of_every_setting(kind, tmp_path):
    file = tmp_path / "problem.toml"
    written = invoke("new", str(file), "--data", kind)
    assert written.exit_code == 0
    assert json.loads(invoke("show", str(file), "--json").stdout)["problem"]["data"]["kind"] == kind


def test_new_writes_another_kind_of_training_of_the_same_data(tmp_path):
    file = tmp_path / "problem.toml"
    assert invoke("new", str(file), "--data", "teacher", "--training", "multi-pass").exit_code == 0
    assert "# samples per dimension" in file.read_text()
    assert df.load(file) == df.extend.NetworkProblem()
    assert "did you mean 'multi-pass'" in one_sentence(invoke("new", str(file), "--force", "--training", "multipas"), 2)


def test_another_kind_of_data_keeps_the_run_of_the_file(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text("dimension = 55\n[run]\nseed = 7\nuntil = 2.0\nreplicas = 3")
    shown = json.loads(invoke("show", str(file), "--set", "data.kind=two-clusters", "--json").stdout)["problem"]
    assert (shown["dimension"], shown["run"]["seed"], shown["run"]["until"], shown["run"]["replicas"]) == (55, 7, 2, 3)


def test_another_kind_of_training_says_what_it_leaves_behind(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text("[network]\nwidth = 3\n[data]\nunits = 1\n[training]\nbatch = 2")
    shown = invoke("show", str(file), "--set", "training.kind=multi-pass", "--json")
    assert "training.kind = 'multi-pass' makes this a problem of another setting" in shown.stderr
    assert shown.stderr.count("left behind: training.batch.") == 1


def test_new_show_and_problem_files(tmp_path):
    file = tmp_path / "problem.toml"
    assert invoke("new", str(file)).exit_code == 0
    assert "already" in one_sentence(invoke("new", str(file)), 1)
    assert invoke("new", str(file), "--force").exit_code == 0
    shown = json.loads(invoke("show", str(file), "--json").stdout)
    embedded = json.loads(invoke("show", "--json").stdout)
    assert shown["problem"] == embedded["problem"], "the template spells out the defaults"
    refused = invoke("show", str(file), "--set", "training.learning_rate=1000.0")
    assert "ode            refuses: one step is as large as the network" in refused.stdout


@pytest.mark.slow
def test_huge_dimensions_answer_with_the_ode_and_start_no_sgd(tmp_path):
    result = invoke("compare", "--set", "dimension=1000000000", "--json", "--out", str(tmp_path))
    found = json.loads(result.stdout)
    assert "ode" in found["descriptions"]
    assert found["left_out"]["sgd"].startswith("it needs 2e+12 steps")
    assert found["left_out"]["chain"].startswith("it needs 2e+12 steps")


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("[data]\nnois = 1", "[data] has no key 'nois'; did you mean 'noise'?"),
        ("[network]\nwidth = 'four'", "[network]: width = 'four' is not a number"),
        ("[network]\nwidth = -4", "[network] got width = -4: input should be greater than 0."),
        ("[training]\nlearning_rate = nan", "[training] got learning_rate = nan: input should be a finite number."),
        (
            "[data]\noverlap = [[1.0, 2.0], [2.0, 1.0]]",
            "overlap is not positive semi-definite: its smallest eigenvalue is -1",
        ),
        (
            "[start]\nkind = 'weights'\nfile = 'nowhere.npz'",
            "[start] names the file 'nowhere.npz', which does not exist.",
        ),
        ("[network]\nactivation = 'nomodule:f'", "network.activation = 'nomodule:f' names code"),
        ("dimension = [", "is not valid TOML"),
    ],
)
def test_wrong_problems_are_one_sentence(toml, sentence, tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(toml)
    assert sentence in one_sentence(invoke("compare", str(file), *QUICK, "--out", str(tmp_path)), 2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (("data.contrast=1.0",), "contrast = 1.0: input should be less than 1"),
        (("data.signal=50", "dimension=40"), "data.signal = 50 coordinates do not fit into dimension 40"),
        (("training.inverse_temperature=0",), "inverse_temperature = 0: input should be greater than 0"),
        (("training.inverse_temperature=-3.0",), "inverse_temperature = -3.0: input should be greater than 0"),
    ],
)
def test_wrong_two_gaussians_are_one_sentence(changes, sentence, tmp_path):
    settings = [word for change in ("data.kind=two-gaussians", *changes) for word in ("--set", change)]
    assert sentence in one_sentence(invoke("compare", *settings, "--out", str(tmp_path)), 2)
    assert list(tmp_path.iterdir()) == []


def test_wrong_shape_of_a_start_file(tmp_path):
    import numpy as np

    np.savez(tmp_path / "start.npz", W=np.zeros((3, 40)), Wstar=np.zeros((2, 40)))
    changes = ("--set", "start.kind=weights", "--set", f"start.file={tmp_path / 'start.npz'}")
    sentence = one_sentence(invoke("compare", *QUICK, *changes, "--out", str(tmp_path)), 2)
    assert "has shape (3, 40); this problem needs (4, 40)" in sentence


def test_missing_file_unwritable_folder_bad_override_and_refusal(tmp_path):
    assert "there is no problem file" in one_sentence(invoke("compare", str(tmp_path / "no.toml")), 2)
    (tmp_path / "file").write_text("")
    assert "choose another one" in one_sentence(invoke("compare", *QUICK, "--out", str(tmp_path / "file" / "x")), 1)
    assert "write it as key=value" in one_sentence(invoke("compare", "--set", "nonsense"), 2)
    refused = invoke(
        "solve", *QUICK, "--set", "run.until=50.0", "--set", "training.learning_rate=1000.0", "--out", str(tmp_path)
    )
    assert "ode refuses: one step is as large as the network" in one_sentence(refused, 3)


@pytest.mark.slow
def test_divergence_is_one_sentence(tmp_path):
    wild = ("--set", "network.activation=he3", "--set", "data.activation=he3", "--set", "training.learning_rate=30.0")
    result = invoke("simulate", *QUICK, "--set", "run.until=20.0", *wild, "--out", str(tmp_path))
    assert "lower training.learning_rate (try 7.5)" in one_sentence(result, 1)
    assert list(tmp_path.iterdir()) == []


def test_list_cite_doctor():
    listed = " ".join(invoke("list").stdout.split())
    assert "high-dimensional limit" in listed
    assert "losses: square, logistic, hinge, squared-hinge, exponential" in listed
    assert "losses: logistic, square, smooth-hinge, hinge, huber, absolute, insensitive" in listed
    assert "@article{saad1995" in invoke("cite", "ode").stdout
    assert "float64" in invoke("doctor").stdout
    assert "did you mean 'ode'?" in one_sentence(invoke("cite", "odee"), 2)


def test_regime_speaks_in_words():
    plateau = invoke("regime", "--set", "network.width=1").stdout
    wide = invoke("regime", "--set", "network.width=1000").stdout
    assert plateau != wide
    assert "One unit of time takes 300,000 samples" in " ".join(wide.split())


def test_python_m_is_the_same_program_and_help_imports_nothing_large():
    command = [sys.executable, "-X", "importtime", "-m", "dimfree", "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: dimfree" in result.stdout
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"jax", "numpy", "scipy", "xarray", "pandas", "matplotlib", "pydantic", "sklearn", "equinox"}


@pytest.mark.slow
def test_progress_appears_on_a_terminal_only(tmp_path):
    pty = pytest.importorskip("pty", reason="there are no terminals of Unix here")
    arguments = [sys.executable, "-m", "dimfree", "compare", *QUICK, "--only", "chain", "--out", str(tmp_path)]
    quiet = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "━" not in quiet.stderr
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    seen = b""
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                seen += os.read(ours, 4096)
            except OSError:
                break
    os.close(ours)
    assert process.wait() == 0
    assert "━".encode() in seen
    assert b"chain" in seen


@pytest.mark.parametrize("terminal", [True, False])
def test_an_error_fits_a_terminal_and_is_one_line_for_programs(terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert app(["compare", "--set", "network.activation=relu6x"], standalone_mode=False) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (2 if terminal else 1)
    assert max(map(len, lines)) <= 80 or not terminal
    assert " ".join(line.strip() for line in lines).endswith("can be named as 'module:function'.")


def in_folder(folder, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dimfree", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit", "SystemExit"),
        ("def f(x:", "SyntaxError"),
        ("1/0", "ZeroDivisionError: division by zero"),
        ("f = 3", "is not a function but a int"),
    ],
)
def test_code_that_a_problem_names_runs_only_when_it_is_allowed(code, told, tmp_path):
    (tmp_path / "mine.py").write_text(code)
    file = tmp_path / "problem.toml"
    file.write_text("[network]\nactivation = 'mine:f'")
    refused = one_sentence(invoke("show", str(file)), 2)
    assert "network.activation = 'mine:f' names code" in refused
    assert "--allow-code" in refused
    assert "names code" in one_sentence(invoke("show", "--set", "network.activation=mine:f"), 2)
    assert told in one_sentence(invoke("show", str(file), "--allow-code"), 2)
    sys.modules.pop("mine", None)


@pytest.mark.slow
def test_modules_beside_the_file_are_found_and_do_not_shadow_installed_ones(tmp_path):
    (tmp_path / "neighbour_of_the_problem.py").write_text("import jax.numpy as jnp\ndef f(x):\n    return jnp.tanh(x)")
    (tmp_path / "numpy.py").write_text("raise SystemExit(99)")
    (tmp_path / "jax.py").write_text("raise SystemExit(99)")
    file = tmp_path / "problem.toml"
    file.write_text("[network]\nactivation = 'neighbour_of_the_problem:f'")
    shown = in_folder(tmp_path, "show", "problem.toml", "--allow-code", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["problem"]["network"]["activation"] == "neighbour_of_the_problem:f"
