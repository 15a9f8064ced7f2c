"""Plan for five tables and record how far theory was off and what the plans were worth: python benchmarks/plans.py [NAME ...].

Numbers go to benchmarks/plans.json; `python docs/make_plans.py` writes them into docs/howto/plan.md. The two synthetic tables are
those of tests/questions/plan_tables.py.
"""

import json
import sys
from pathlib import Path
from typing import Any

import dimfree as df

ROOT = Path(__file__).parents[1]
FILE = ROOT / "benchmarks" / "plans.json"
SPLITS, SEEDS = 5, 4
KEPT = (
    *("table", "scale", "plan", "risk", "plan_against", "epochs", "off_by", "off_within_bracket"),
    *("verdicts", "warnings", "limits", "noise"),
)


def tables() -> dict[str, dict[str, Any]]:
    """Arguments of `plan` by the name of a table."""
    sys.path.insert(0, str(ROOT / "tests" / "questions"))
    import plan_tables

    return {
        "digits": {"features": "digits"},
        "breast-cancer": {"features": "breast-cancer"},
        "diabetes": {"features": "diabetes"},
        "power": {"features": plan_tables.power_table(), "target": "y"},
        "one-hot": {"features": plan_tables.one_hot_table(), "target": "y", "one_hot": True},
    }


def main(names: list[str]) -> None:
    """Plan, and write after every table."""
    for name, arguments in tables().items():
        if names and name not in names:
            continue
        found = df.plan(splits=SPLITS, seeds=SEEDS, **arguments)
        print(found.summary(), flush=True)
        numbers = found.to_dict()
        kept = {key: numbers[key] for key in KEPT} | {"splits": SPLITS, "seeds": SEEDS, "version": df.__version__}
        kept["table"] = {"rows": numbers["table"]["rows"], "columns": int(found.columns.varies.sum())}
        known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        FILE.write_text(json.dumps(known | {name: kept}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
