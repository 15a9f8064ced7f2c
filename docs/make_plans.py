"""Write the measured tables of docs/howto/plan.md anew from benchmarks/plans.json: python docs/make_plans.py.

`python benchmarks/plans.py` measures them.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "howto" / "plan.md"
_VERDICT = re.compile(r"Gaussian theory (.*?) for this table")


def main() -> None:
    """Write the page."""
    found = json.loads((ROOT / "benchmarks" / "plans.json").read_text(encoding="utf-8"))
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def renewed(page: str, found: dict[str, Any]) -> str:
    """The page with these numbers."""
    for head, row in (("| table, run | ", courses), ("| table | plan |", ends)):
        rows = "".join(row(name, one) for name, one in found.items())
        page = re.sub(
            rf"^({re.escape(head)}.*\n\|-.*\n)(?:\|.*\n)*", lambda match, rows=rows: match[1] + rows, page, flags=re.M
        )
    return page


def courses(name: str, one: dict[str, Any]) -> str:
    """Predicted over measured risk, minus 1, along both runs, total and excess."""
    lines = ""
    for run, off in one["off_by"].items():
        for kind in ("total", "excess"):
            cells = " | ".join(map(said, off[kind]))
            verdict = _VERDICT.search(one["verdicts"][0])
            assert verdict is not None
            last = (
                f"{verdict[1]} | {within(one.get('off_within_bracket', ()))}"
                if (run, kind) == ("plan", "total")
                else " | "
            )
            lines += f"| {name}, {run}, {kind} | {cells} | {last} |\n"
    return lines


def within(off: Sequence[float]) -> str:
    """The largest deviations at both ends of the bracket of the label noise, in per cent."""
    return " and ".join(f"{100 * one:.0f}" for one in off)


def ends(name: str, one: dict[str, Any]) -> str:
    """What was planned, its held-out risk, and that beside the baselines."""
    plan, risk = one["plan"], one["risk"]["plan"]
    words = f"width {plan['width']}, rate {plan['rate']:.3g}, batch {plan['batch']}, {plan['family']}"
    beside = " | ".join(said(number) for number in one["plan_against"].values())
    return f"| {name} | {words} | {risk['mean']:.4f}({risk['error']:.4f}) | {beside} |\n"


def said(number: dict[str, float | None]) -> str:
    """A mean and its error in per cent; a ratio to an excess that is not above 0 is unknown."""
    mean, error = number["mean"], number["error"]
    return "unknown" if mean is None or error is None else f"{100 * mean:+.0f}({100 * error:.0f})"


if __name__ == "__main__":
    main()
