"""An outside package brings a setting in one file (tests/plugin), beside neighbours that are broken (tests/neighbours)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Both packages installed by path, into a folder that only these tests look into."""
    folder = tmp_path_factory.mktemp("plugins")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder))
    packages = [str(HERE / name) for name in ("plugin", "neighbours")]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *packages], check=True, capture_output=True)
    return folder


def run(installed: Path, code: str, cwd: Path) -> str:
    """What a fresh process prints that finds the plug-ins."""
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COMMANDS = """
import json, sys
from typer.testing import CliRunner
from dimfree.cli.commands import app
found = {}
for line in json.loads(sys.argv[1]) if len(sys.argv) > 1 else LINES:
    result = CliRunner().invoke(app, line)
    found[" ".join(line)] = [result.exit_code, result.stdout, result.stderr]
print(json.dumps(found))
"""


def commands(installed: Path, cwd: Path, *lines: list[str]) -> dict[str, tuple[int, str, str]]:
    """Exit code, stdout and stderr of commands, one after another in one process."""
    printed = run(installed, COMMANDS.replace("LINES", repr(list(lines))), cwd)
    return {line: tuple(found) for line, found in json.loads(printed.splitlines()[-1]).items()}


LAPLACE = """
import warnings
import dimfree as df
warnings.simplefilter("ignore")
given = {"data.kind": "laplace", "network.width": 1, "network.activation": "linear", "training.learning_rate": 0.2}
problem = df.Problem(dimension=40, run=df.Run(until=4.0, points=5)).replace(**given)
risk = df.simulate(problem, replicas=4)["risk"].mean("replica").values
print(risk[0], risk[-1])
"""


KIND = ["--set=data.kind=laplace", "--set=network.width=1", "--set=network.activation=linear"]


@pytest.mark.slow  # two processes that compile
def test_an_outside_package_brings_a_kind_of_data(installed, tmp_path):
    before, after = map(float, run(installed, LAPLACE, tmp_path).split())
    assert after < 0.01 * before, "a linear network learns a linear label"
    done = commands(
        installed,
        tmp_path,
        ["show", "--set", "data.kind=laplace", "--json"],
        ["solve", "--set", "data.kind=laplace", "--with", "pde"],
        ["compare", *KIND, "--set", "dimension=20", "--set", "run.until=0.5", "--out", "kind", "--json"],
        ["show", "--set", "data.kind=laplac"],
    )
    shown, refused, compared, misspelt = done.values()
    assert [row["description"] for row in json.loads(shown[1])["descriptions"]] == ["sgd", "pde", "laplace-flow"]
    assert refused[0] == 3
    assert "it is not derived for fresh samples of Laplace inputs; use sgd." in " ".join(refused[2].split())
    assert compared[0] == 0
    assert [*json.loads(compared[1])["descriptions"]] == ["sgd", "laplace-flow"]
    assert (tmp_path / "kind" / "comparison.png").exists()
    assert "did you mean 'laplace'" in " ".join(misspelt[2].split())


def test_every_command_works_with_a_setting_from_outside(installed, tmp_path):
    done = commands(
        installed,
        tmp_path,
        ["new", "bowl.toml", "--data", "bowl"],
        ["show", "bowl.toml", "--json"],
        ["list", "--json"],
        ["compare", "bowl.toml", "--out", "out", "--json"],
        ["compare", "--set", "data.kind=bowl", "--set", "data.curvature=3.0", "--only", "small-steps", "--json"],
        ["plot", "out/comparison.nc"],
        ["plot", "out/comparison.nc", "--observable", "temperature", "--out", "temperature.png"],
        ["solve", "bowl.toml", "--out", "out"],
        ["simulate", "bowl.toml", "--out", "out"],
        ["solve", "bowl.toml", "--with", "ode"],
        ["show", "--set", "data.kind=bow"],
    )
    *fine, refused, misspelt = done.values()
    assert [code for code, _, _ in fine] == [0] * len(fine), done
    assert "curvature = 2.0   # of the loss" in (tmp_path / "bowl.toml").read_text()
    shown = json.loads(done["show bowl.toml --json"][1])
    assert [row["description"] for row in shown["descriptions"]] == ["ball", "small-steps"]
    listed = json.loads(done["list --json"][1])
    assert listed["data"]["a bowl"] == ["bowl"]
    assert {"ball", "small-steps", "ode"} <= set(listed["descriptions"])
    compared = json.loads(done["compare bowl.toml --out out --json"][1])
    assert compared["reference"] == "ball", "an outside experiment is what theories are measured against"
    assert compared["descriptions"]["small-steps"]["grade"] == "holds"
    for name in ("comparison.png", "small-steps.png", "ball.png"):
        assert (tmp_path / "out" / name).stat().st_size > 10_000
    assert (tmp_path / "temperature.png").stat().st_size > 10_000
    assert refused[0] == 3
    assert "ode refuses: it describes training on fresh samples of a teacher" in refused[2]
    assert "[data] got kind = 'bow'; did you mean 'bowl'?" in misspelt[2]


@pytest.mark.slow
def test_broken_neighbours_warn_by_name_and_harm_nothing(installed, tmp_path):
    done = commands(
        installed, tmp_path, ["list"], ["show"], ["cite", "ode"], ["show", "--set", "data.kind=two-clusters"]
    )
    for code, stdout, _ in done.values():
        assert code == 0
        assert stdout
    said = done["list"][2]
    assert said.count("'broken' of dimfree-neighbours") == 1
    assert "it cannot be loaded (RuntimeError: it was written for another version)" in said
    assert "'lost' of dimfree-neighbours" in said
    assert "'ode' of dimfree-neighbours: it is ignored, because the name already belongs to dimfree" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_python_sees_the_setting_too(installed, tmp_path):
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import dimfree as df, dimfree_bowl as bowl\n"
        "problem = df.Problem(data=bowl.Bowl(curvature=1.0), run=df.Run(until=1.0, replicas=2))\n"
        "assert type(problem) is bowl.BowlProblem\n"
        "assert df.loads(df.dumps(problem)) == problem\n"
        "data = df.solve(problem)\n"
        "assert data['temperature'].attrs['long_name'].startswith('noise of the steps')\n"
        "assert df.simulate(problem).sizes['replica'] == 2\n"
        "print('fine')"
    )
    assert run(installed, code, tmp_path) == "fine\n"


@pytest.mark.parametrize(
    ("page", "plugin"), [("extend.md", "dimfree_bowl.py"), ("howto/kind.md", "dimfree_laplace.py")]
)
def test_a_page_on_extending_is_a_file_that_is_installed_here(page, plugin):
    page = (HERE.parent / "docs" / page).read_text(encoding="utf-8")
    blocks = page.split("```python\n")[1:]
    explained = "\n\n".join(block.split("```")[0].strip("\n") for block in blocks)
    plugin = (HERE / "plugin" / plugin).read_text(encoding="utf-8")
    assert [line for line in explained.splitlines() if line] == [line for line in plugin.splitlines() if line]
