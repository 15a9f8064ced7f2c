"""Numbers of accuracy and speed on the site are those of the files that benchmarks wrote."""

import copy
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs"))

import make_numbers

PAGE = make_numbers.PAGE.read_text(encoding="utf-8")


def test_the_page_has_the_numbers_of_the_files():
    assert make_numbers.renewed(PAGE, make_numbers.measured()) == PAGE, "run python docs/make_numbers.py"


def test_another_measurement_changes_the_page():
    found = copy.deepcopy(make_numbers.measured())
    found["results"]["ode_vs_euler"] |= {"ratio": 12.34, "holds": False}
    found["first_contact"]["README command"]["first"] = 1234.0
    next(iter(found["predictions"].values()))["seconds_ratio"] = 7.7
    renewed = make_numbers.renewed(PAGE, found)
    assert "| 12.3, missed | ≥ 40 |" in renewed
    assert "| README command | 1,230 |" in renewed
    assert "and 7.7 for seconds" in renewed


def test_every_benchmark_that_the_page_names_was_run():
    named = {
        line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `") and ("≤" in line or "≥" in line)
    }
    assert len(named) > 20
    assert named <= make_numbers.measured()["results"].keys()
