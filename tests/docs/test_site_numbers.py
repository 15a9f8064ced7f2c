"""Numbers of accuracy and speed on the site are those of the files that benchmarks wrote."""

import copy
import json
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs"))

import make_numbers
import pytest
from sentences import SENTENCES

ROOT = make_numbers.ROOT
PAGE = make_numbers.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return make_numbers.measured()


@pytest.mark.parametrize("name", make_numbers.pages())
def test_a_page_has_the_numbers_of_the_files(name, found):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert make_numbers.renew(name, page, found) == page, "run python docs/make_numbers.py"


def test_another_measurement_changes_the_page(found):
    found = copy.deepcopy(found)
    found["results"]["ode_vs_euler"] |= {"ratio": 12.34, "holds": False}
    found["first_contact"]["README command"]["first"] = 1234.0
    next(iter(found["predictions"].values()))["seconds_ratio"] = 7.7
    found["soak"]["after"][100][3:] = [12345, 9870.0]
    found["lazy"]["gap"][0] = 0.777
    found["own_rows"]["ratios"]["digits, one scale"]["linear, 0.2"][1] = {"mean": 1.234, "error": 0.056}
    for name in ("eigenbasis_over_genuine", "equivalent_1e9_inputs", "schedule_gradient"):
        found["results"][name]["ratio"] = 77.0
    renewed = make_numbers.renewed(PAGE, found)
    assert "| 12.3, missed | ≥ 40 |" in renewed
    assert "| README command | 1,230 |" in renewed
    assert "and 7.7 for seconds" in renewed
    others = {
        name: make_numbers.renew(name, (ROOT / "docs" / name).read_text(encoding="utf-8"), found)
        for name in ("programs.md", "scaling.md", "schedules.md", "lazy.md", "your-data.md")
    }
    assert "at most 12,345 maps and 9.87 GB" in others["programs.md"]
    assert "77 times as fast" in others["scaling.md"]
    assert "8e+01 CPU seconds" in others["scaling.md"]
    assert "a factor of about 77" in others["schedules.md"]
    assert "| 0.78 |" in others["lazy.md"]
    assert "| 1.23(6) |" in others["your-data.md"]


@pytest.mark.parametrize("one", SENTENCES, ids=lambda one: f"{one.page}: {one.words[:30]}")
def test_other_numbers_change_a_sentence(one, found):
    page = (ROOT / "docs" / one.page).read_text(encoding="utf-8")
    count = len(one.numbers(found))
    changed = make_numbers.spelled(page, one._replace(numbers=lambda found: (7.0,) * count), found)
    assert changed != page
    with pytest.raises(ValueError, match="has 0 sentences"):
        make_numbers.spelled("other words", one, found)


def test_every_benchmark_that_the_page_names_was_run(found):
    named = {
        line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `") and ("≤" in line or "≥" in line)
    }
    assert len(named) > 20
    assert named <= found["results"].keys()


def rounded(number):
    return f"{float(format(number, '.2g')):g}"


def test_the_table_of_the_paper_has_the_numbers_of_its_file_and_every_reference_exists():
    paper, found = (ROOT / "paper.md").read_text(), json.loads((ROOT / "benchmarks" / "peers.json").read_text())
    rows = [line.split("|") for line in paper.splitlines() if line.startswith("| ")][1:]
    assert [row[3].strip() for row in rows] == [rounded(one["ratio"]) for one in found.values()]
    assert [row[4].strip() for row in rows] == [
        f"{one['difference']:.0e}" if "difference" in one else "" for one in found.values()
    ]
    cited = {*re.findall(r"@(\w+\d{4}\w*)", paper)}
    assert cited == {*re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(), re.M)}
    figures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", paper)
    assert len(figures) == 2
    assert all((ROOT / figure).is_file() for figure in figures)


def test_a_light_core_would_save_less_than_a_fifth_and_the_wheel_is_small():
    found = json.loads((ROOT / "benchmarks" / "packages.json").read_text())
    assert found["light_core"]["share_of_bytes_saved"] < 0.2
    assert found["light_core"]["loaded_by_import"] == "[]"
    assert found["now"]["wheel_bytes"] <= 2_000_000
