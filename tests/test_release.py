"""What a release says of itself: one version, the same requirements everywhere, and a README that an index can show."""

import re
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

import dimfree as df

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)]*)\)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def metadata(folder: Path) -> ProjectMetadata:
    """What is written into a wheel that is built from a folder."""
    return ProjectMetadata(str(folder), PluginManager())


def test_every_file_names_the_same_version():
    assert re.search(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE)[1] == df.__version__
    released = re.search(r"^## \[(\d[^]]*)\] - (\S+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert df.__version__.partition(".dev")[0] == released[1]
    assert re.search(r"^date-released: (\S+)$", text("CITATION.cff"), re.MULTILINE)[1] == released[2]
    assert f'version = "{released[1]}"' in text("conda/meta.yaml")


def test_the_conda_recipe_requires_what_the_package_requires():
    recipe = text("conda/meta.yaml").partition("  run:\n")[2].partition("\ntest:")[0]
    required = {line.strip("- ").replace(" >=", ">=") for line in recipe.splitlines() if line.startswith("    - ")}
    project = tomllib.loads(text("pyproject.toml"))["project"]
    named = {one.replace("matplotlib>", "matplotlib-base>") for one in project["dependencies"]}
    assert required == named | {"python" + project["requires-python"]}


def test_what_the_sdist_should_hold_is_there():
    targets = tomllib.loads(text("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]
    assert not [name for name in targets["sdist"]["include"] if not (ROOT / name).exists()]


def test_every_link_of_the_readme_is_absolute_where_an_index_shows_it(tmp_path):
    alone = metadata(ROOT).core.readme
    assert not LINK.findall(alone), "there is no host yet that relative links could lead to"
    assert not re.search(r"docs/comparison|risk and overlaps", alone), "nor a place for figures"
    assert "the folder `docs` of the source distribution" in alone
    assert "\npip install dimfree && dimfree compare\n" in alone, "readers of an index have no folder to install from"
    for name in ("README.md", "LICENSE", "hatch_build.py", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    hosted = text("pyproject.toml").replace(
        "[project.scripts]", '[project.urls]\nSource = "https://host/us/dimfree"\n\n[project.scripts]'
    )
    (tmp_path / "pyproject.toml").write_text(hosted, encoding="utf-8")
    given, shown = LINK.findall(text("README.md")), LINK.findall(metadata(tmp_path).core.readme)
    assert len(given) == len(shown) > 20
    for path, link in zip(given, shown, strict=True):
        assert re.fullmatch(rf"https://host/us/dimfree/(blob|raw)/v{re.escape(df.__version__)}/{re.escape(path)}", link)
        assert (ROOT / path).exists()


def test_a_built_wheel_shows_no_link_that_leads_nowhere(tmp_path):
    """By hatchling itself, from these files: what `python -m build` does, without an environment of its own."""
    (made,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with ZipFile(made) as wheel:
        (name,) = [one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")]
        headers, _, shown = wheel.read(name).decode().partition("\n\n")
    assert f"\nVersion: {df.__version__}\n" in headers
    assert "\nDescription-Content-Type: text/markdown" in headers
    assert "# dimfree" in shown
    addresses = [*LINK.findall(shown), *re.findall(r"^Project-URL: [^,]+, (.*)$", headers, re.MULTILINE)]
    assert not [one for one in addresses if not re.match(r"https://|#", one)]


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda path: path.stem)
def test_workflows_pin_every_action_by_its_hash_and_ask_for_reading_only(path):
    found = path.read_text(encoding="utf-8")
    actions = re.findall(r"uses: (\S+)", found)
    assert actions
    assert not [one for one in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one)]
    assert "\npermissions:\n  contents: read\n" in found
