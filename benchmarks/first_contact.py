"""First answers: CPU seconds of fresh processes, with an empty and with a full cache of programs, over those of a bare import.

`python benchmarks/first_contact.py` prints the table, `--json FILE` writes it; run it where nothing but `pip install .` was
installed, as a newcomer does (xarray imports all of dask where it finds it). Ratios are to `import jax, diffrax, xarray` in a
process of its own in the same run, because machines differ and are noisy; of two tries the better one counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CPU = "import resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
IMPORTS = "import jax, diffrax, xarray"
SAMPLE = """
import dimfree as df
problem = df.Problem(
    dimension=200,
    data=df.Teacher(units=2, noise=1e-3),
    network=df.TwoLayer(width=4),
    training=df.OnePass(learning_rate=1.0),
)
df.compare(problem, until=5, replicas=4).summary()
"""
SOLVE = """
import dimfree as df
problem = df.Problem(
    dimension=500,
    data=df.Teacher(units=2, noise=1e-3, activation="{0}"),
    network=df.TwoLayer(width={1}, activation="{0}"),
)
df.solve(problem, "ode", until=5)
"""
NEW_WIDTH = (
    SOLVE.format("relu", 4)
    + """
import resource
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before = cpu()
wider = problem.replace(**{"network.width": 6})
df.solve(wider, "ode", until=5), df.solve(wider, "gradient-flow", until=5)
print(cpu() - before)
"""
)
COMMAND = "from dimfree.cli import main; import sys; sys.argv = ['dimfree', 'compare', '--out', 'results']; main()"


def environment(cache: Path) -> dict[str, str]:
    """That of a newcomer: no settings, and modules that Python need not compile again."""
    changed = ("DIMFREE_CACHE", "XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")
    return {name: text for name, text in os.environ.items() if name not in changed} | {"XDG_CACHE_HOME": str(cache)}


def seconds(code: str, cache: Path, told: bool = True) -> float:
    """CPU seconds of a fresh process with this folder as its cache: what it prints last, or its children's."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{CPU}" if told else code],
        env=environment(cache),
        cwd=cache,
        capture_output=True,
        text=True,
        check=True,
    )
    after = os.times()
    if told:
        return float(done.stdout.split()[-1])
    return after.children_user + after.children_system - before.children_user - before.children_system


def measured() -> dict[str, dict[str, float]]:
    """Every case with an empty cache, and again."""
    cases = {
        "README sample in Python": SAMPLE,
        **{f"solve ode, {name}, width 4": SOLVE.format(name, 4) for name in ("erf", "relu", "tanh")},
    }
    with tempfile.TemporaryDirectory() as place:
        bare = min(seconds(IMPORTS, Path(place)) for _ in range(3))
        table = {"import jax, diffrax, xarray": {"first": bare}}
        for name, code in cases.items():
            tries = []
            for number in range(2):
                cache = Path(place) / f"{name.replace(' ', '-')}-{number}"
                cache.mkdir()
                tries.append((seconds(code, cache), seconds(code, cache)))
            table[name] = dict(zip(("first", "second process"), map(min, zip(*tries, strict=True)), strict=True))
        cache = Path(place) / "width"
        cache.mkdir()
        both = subprocess.run(
            [sys.executable, "-c", NEW_WIDTH],
            env=environment(cache),
            capture_output=True,
            text=True,
            check=True,
        )
        table["a new ReLU width, ode and gradient-flow"] = {"first": float(both.stdout.split()[-1])}
        cache = Path(place) / "command"
        cache.mkdir()
        table["README command"] = {
            "first": seconds(COMMAND, cache, told=False),
            "second process": seconds(COMMAND, cache, told=False),
        }
    return {
        name: {k: round(v, 2) for k, v in row.items()} | {"ratio": round(row["first"] / bare, 1)}
        for name, row in table.items()
    }


def main() -> None:
    """Print, and write if asked to."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--json", type=Path)
    options = asked.parse_args()
    table = measured()
    for name, row in table.items():
        print(f"{name:<44}" + "  ".join(f"{key} {value:.2f}" for key, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
