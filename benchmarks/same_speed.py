"""CPU seconds of the same runs with two states of the sources: python benchmarks/same_speed.py OLD NEW [--json FILE].

OLD and NEW are checkouts, as for same_bits.py; same_speed.json compares the last commit before dimfree knew other losses than
the square one with a later one. Both have a process of their own, which take turns, since other work on a machine changes its
speed; a ratio is the median over rounds of what NEW takes over what OLD takes. Every run is the second one of its process, when
programs are compiled.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BAR = 1.03
ROUNDS = 9
LONG = {"points": 4, "spacing": "linear", "replicas": 32}
RUNS: dict[str, tuple[str, int, dict[str, Any]]] = {  # account, dimension and keys: one to three CPU seconds each
    "sgd": ("sgd", 200, {"run": LONG | {"until": 20.0}}),
    "chain": ("chain", 1000, {"run": LONG | {"until": 40.0}}),
    "chain, momentum": ("chain", 1000, {"run": LONG | {"until": 20.0}, "training": {"momentum": 0.5}}),
    "ode": ("ode", 1000, {"run": LONG | {"until": 4000.0}}),
    "ode, ReLU": (
        "ode",
        1000,
        {"run": LONG | {"until": 400.0}, "network": {"activation": "relu"}, "data": {"activation": "relu"}},
    ),
}


def serve() -> None:
    """Answer the name of a run by its CPU seconds, until there are no more names."""
    import dimfree as df

    for line in sys.stdin:
        account, dimension, keys = RUNS[line.strip()]
        problem = df.Problem(dimension=dimension, **keys)
        run = df.solve if account == "ode" else df.simulate
        started = time.process_time()
        run(problem, account)
        print(time.process_time() - started, flush=True)


class Sources:
    """A process that has imported one state of the sources."""

    def __init__(self, checkout: Path, cache: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src"), "XDG_CACHE_HOME": cache}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def seconds(self, name: str) -> float:
        """Of one run."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        if not (answer := self.process.stdout.readline()):
            sys.exit(f"the process that runs {name!r} has ended.")
        return float(answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--json", type=Path, help="write the table to this file")
    if sys.argv[1:2] == ["--serve"]:
        serve()
        return 0
    arguments = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as cache:
        old, new = (Sources(checkout, f"{cache}/{i}") for i, checkout in enumerate((arguments.old, arguments.new)))
        for name in RUNS:
            for one in (old, new):
                one.seconds(name)  # compiles
            pairs = [(old.seconds(name), new.seconds(name)) for _ in range(ROUNDS)]
            ratio = statistics.median(after / before for before, after in pairs)
            spent = statistics.median(before for before, _ in pairs)
            rows[name] = {"ratio": ratio, "bar": f"<= {BAR}", "holds": ratio <= BAR, "old_seconds": spent}
            print(f"{name:<20}{ratio:>8.3f}   bar <= {BAR}   {spent:.2f} s before", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
