"""Write the measured numbers of some pages anew from the files that benchmarks wrote: python docs/make_numbers.py.

In docs/accuracy.md rows of the table of speed are found by the name of their benchmark, in benchmarks/results.json; first
answers are all of benchmarks/first_contact.json; the range of predictions is that of benchmarks/predictions.json.
docs/programs.md says what benchmarks/soak.json has, docs/scaling.md and docs/schedules.md three numbers of results.json.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
FILES = ("results", "first_contact", "predictions", "soak")
_FREED = 150  # megabytes by which memory falls when programs are dropped, and not by chance
_SIGNS = {">=": "≥", "<=": "≤"}


def main() -> None:
    """Write the pages."""
    found = measured()
    for name, renew in PAGES.items():
        page = ROOT / "docs" / name
        page.write_text(renew(page.read_text(encoding="utf-8"), found), encoding="utf-8")


def measured() -> dict[str, Any]:
    """What the benchmarks wrote, by file."""
    return {name: json.loads((ROOT / "benchmarks" / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}


def renewed(page: str, found: dict[str, Any]) -> str:
    """The page with the numbers of these files."""
    page = re.sub(
        r"^(\| `(\w+)` \| .*) \| [^|]* \| [^|]* \|$", lambda row: speed(row, found["results"]), page, flags=re.M
    )
    first = "\n".join(first_answer(name, one) for name, one in found["first_contact"].items())
    head = "| CPU seconds | empty cache | second process |\n|---|---|---|\n"
    page = re.sub(f"({re.escape(head)})(?:\\|.*\n)*", lambda match: f"{match[1]}{first}\n", page)
    ranges = [extent(found["predictions"], f"{kind}_ratio") for kind in ("seconds", "memory")]
    said = f"between {ranges[0]} for seconds and between {ranges[1]} for memory"
    return re.sub(r"between \S+ and \S+ for seconds and between \S+ and \S+ for memory", said, page)


def soaked(page: str, found: dict[str, Any]) -> str:
    """The page about programs: the largest numbers of the long run, and its memory after programs were dropped."""
    rows = found["soak"]["after"]  # of every problem: its number, programs held and alive, memory maps, megabytes
    maps, memory = max(row[3] for row in rows), max(row[4] for row in rows)
    after = [late for early, late in pairwise(rows) if early[4] - late[4] > _FREED]
    freed = ", ".join(f"{row[4] / 1000:.2f} GB after {row[0]}" for row in after)
    page = re.sub(r"at most [\d,]+ maps and [\d.]+ GB", f"at most {maps:,} maps and {memory / 1000:.2f} GB", page)
    return re.sub(r"\d\.\d\d GB after \d+(, \d\.\d\d GB after \d+)*", freed, page)


def scaled(page: str, found: dict[str, Any]) -> str:
    """The page about scaling laws: how fast its descriptions are."""
    fast, equivalent = (
        found["results"][name]["ratio"] for name in ("eigenbasis_over_genuine", "equivalent_1e9_inputs")
    )
    page = re.sub(r"\d+ times as fast at d = 1024", f"{fast:.0f} times as fast at d = 1024", page)
    return re.sub(r"[\d.]+ CPU seconds at v = 10⁹", f"{equivalent:.1g} CPU seconds at v = 10⁹", page)


def scheduled(page: str, found: dict[str, Any]) -> str:
    """The page about schedules: what a gradient costs."""
    ratio = found["results"]["schedule_gradient"]["ratio"]
    return re.sub(
        r"gradient over value: a factor of about \d+", f"gradient over value: a factor of about {ratio:.0f}", page
    )


PAGES = {"accuracy.md": renewed, "programs.md": soaked, "scaling.md": scaled, "schedules.md": scheduled}


def speed(row: re.Match[str], results: dict[str, Any]) -> str:
    """A row of the table of speed with what was reached and the bar; a row of another table as it is."""
    if row[2] not in results:
        return row[0]
    one = results[row[2]]
    sign, bar = one["bar"].split()
    return (
        f"{row[1]} | {spoken(one['ratio'])}{'' if one['holds'] else ', missed'} | {_SIGNS[sign]} {spoken(float(bar))} |"
    )


def first_answer(name: str, one: dict[str, float]) -> str:
    """A row of the table of first answers."""
    return f"| {name} | {spoken(one['first'])} | {spoken(one['second process']) if 'second process' in one else ''} |"


def extent(rows: dict[str, Any], key: str) -> str:
    """The smallest and the largest of some numbers, in words."""
    values = [row[key] for row in rows.values()]
    return f"{min(values):.2g} and {max(values):.2g}"


def spoken(number: float) -> str:
    """Three digits of a number, without an exponent unless it is very small."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


if __name__ == "__main__":
    main()
