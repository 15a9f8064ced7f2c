"""Speed as ratios inside one run, in CPU time, against the bars that dimfree promises.

`python benchmarks/run.py` prints the table; `--only SUBJECT` one part of it; `--json FILE` writes it; `--smoke` only shows that
everything runs. A bar that is missed is shown as missed, with the exit code 1 (0 with --smoke): machines are noisy, numbers
are not hidden.
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

SUBJECTS = (
    "overlaps",
    "losses",
    "structured",
    "wide",
    "exits",
    "dmft",
    "networks",
    "gaussians",
    "lazy",
    "curves",
    "sweeps",
    "schedules",
    "scaling",
    "lab",
    "saved_page",
    "lab_page",
    "siege",
)


def measure(subject: str, smoke: bool) -> dict[str, dict[str, Any]]:
    """One row per ratio of a subject."""
    module = import_module(subject)
    return {
        name: {"ratio": ratio, "bar": str(module.BARS[name]), "holds": module.BARS[name].holds(ratio)}
        for name, ratio in module.ratios(smoke).items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SUBJECTS, help="one part of the table")
    parser.add_argument("--json", type=Path, help="write the table to this file")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    arguments = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    for subject in [arguments.only] if arguments.only else SUBJECTS:
        measured = measure(subject, arguments.smoke)
        for name, row in measured.items():
            verdict = "not measured" if arguments.smoke else "holds" if row["holds"] else "MISSED"
            print(f"{name:<28}{row['ratio']:>10.3g}   bar {row['bar']:<10}{verdict}", flush=True)
        rows |= measured
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if arguments.smoke or all(row["holds"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
