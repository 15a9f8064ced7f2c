"""Write the measured numbers of docs/accuracy.md anew from the files that benchmarks wrote: python docs/make_numbers.py.

Rows of the table of speed are found by the name of their benchmark, in benchmarks/results.json; first answers are all of
benchmarks/first_contact.json; the range of predictions is that of benchmarks/predictions.json.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
FILES = ("results", "first_contact", "predictions")
_SIGNS = {">=": "≥", "<=": "≤"}


def main() -> None:
    """Write the page."""
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), measured()), encoding="utf-8")


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
