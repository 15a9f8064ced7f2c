"""Predicted against measured: CPU seconds (compilation included) and peak memory of single runs, each in a process of its own.

`python benchmarks/predictions.py` prints the table, `--json FILE` writes it; the exit code is 1 where a prediction is off by more
than a factor of two.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TEACHER: dict[str, Any] = {"data": {"kind": "teacher", "units": 2}}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "ode, erf, width 4": ("ode", TEACHER),
    "ode, ReLU, width 8": (
        "ode",
        {
            "data": {"units": 2, "activation": "relu"},
            "network": {"width": 8, "activation": "relu"},
            "run": {"until": 50.0},
        },
    ),
    "ode, tanh, width 2": (
        "ode",
        {
            "data": {"units": 1, "activation": "tanh"},
            "network": {"width": 2, "activation": "tanh"},
            "run": {"until": 50.0},
        },
    ),
    "gradient-flow, erf, width 32": ("gradient-flow", {**TEACHER, "network": {"width": 32}, "run": {"until": 50.0}}),
    "mean-field, erf, width 64": ("mean-field", {**TEACHER, "network": {"width": 64}, "run": {"until": 50.0}}),
    "dimensionless, erf, width 2000": (
        "dimensionless",
        {**TEACHER, "network": {"width": 2000}, "run": {"until": 20.0}},
    ),
    "diffusion, erf, width 2": (
        "diffusion",
        {**TEACHER, "network": {"width": 2}, "run": {"until": 50.0, "replicas": 64}},
    ),
    "sgd, erf, d = 500": ("sgd", {**TEACHER, "run": {"until": 100.0}}),
    "sgd, ReLU, d = 4000": (
        "sgd",
        {
            "dimension": 4000,
            "data": {"units": 2, "activation": "relu"},
            "network": {"width": 8, "activation": "relu"},
            "run": {"until": 2.0, "replicas": 32},
        },
    ),
    "sgd, a moment": ("sgd", {**TEACHER, "run": {"until": 0.5, "replicas": 2}}),
    "chain, erf, d = 10⁵": ("chain", {"dimension": 100_000, **TEACHER, "run": {"until": 1.0, "replicas": 64}}),
    "pde, two Gaussians": ("pde", {"data": {"kind": "two-gaussians"}}),
    "multi-pass, two clusters": ("multi-pass", {"data": {"kind": "two-clusters"}}),
    "multi-pass, d = 3000": (
        "multi-pass",
        {"dimension": 3000, "data": {"kind": "two-clusters"}, "run": {"replicas": 4}},
    ),
    "dmft, square": ("dmft", {"data": {"kind": "two-clusters"}, "training": {"loss": "square"}}),
    "dmft, logistic": ("dmft", {"data": {"kind": "two-clusters"}}),
    "static, logistic": ("static", {"data": {"kind": "two-clusters"}, "training": {"weight_decay": 0.1}}),
}


def measured(name: str, values: dict[str, Any]) -> dict[str, float]:
    """What one run was predicted to take and took; run in a fresh process."""
    import resource

    import dimfree as df
    from dimfree.comparison.run import run_one
    from dimfree.registry import description
    from dimfree.results.record import cost_of

    problem = df.Problem(**values)
    one = description(name)
    began = time.process_time()
    cost = cost_of(one, problem)
    run_one(problem, one, lambda title, done: None)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "predicted_seconds": cost.seconds,
        "cpu_seconds": spent,
        "predicted_memory": cost.memory,
        "memory": peak,
    }


def in_process(name: str, values: dict[str, Any]) -> dict[str, float]:
    """The same in a process without a cache of compiled programs."""
    called = [sys.executable, __file__, "--one", json.dumps([name, values])]
    done = subprocess.run(called, env=os.environ | {"DIMFREE_CACHE": "off"}, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the table to this file")
    parser.add_argument("--only", help="runs whose title has these words")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(*json.loads(arguments.one))))
        return 0
    rows, fine = {}, True
    print(f"{'run':<34}{'CPU s':>8}{'predicted':>11}{'ratio':>7}{'MB':>8}{'predicted':>11}{'ratio':>7}")
    for title, (name, values) in RUNS.items():
        if arguments.only and arguments.only not in title:
            continue
        row = in_process(name, values)
        seconds, memory = row["predicted_seconds"] / row["cpu_seconds"], row["predicted_memory"] / row["memory"]
        rows[title] = row | {"seconds_ratio": seconds, "memory_ratio": memory}
        fine &= all(0.5 <= ratio <= 2 for ratio in (seconds, memory))
        print(
            f"{title:<34}{row['cpu_seconds']:>8.1f}{row['predicted_seconds']:>11.1f}{seconds:>7.2f}"
            f"{row['memory'] / 1e6:>8.0f}{row['predicted_memory'] / 1e6:>11.0f}{memory:>7.2f}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
