"""Peak memory of planning for a table of 10^6 rows and 300 columns: python benchmarks/plan_memory.py [ROWS].

The table is written to a temporary file of 8 bytes a number; a process of its own plans for it, and says how far its peak lies
above what importing dimfree takes. The result goes to benchmarks/plan_memory.json.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent / "plan_memory.json"
BAR = 1.5e9  # bytes beyond the process
COLUMNS, PIECE = 300, 10_000


def written(folder: Path, rows: int) -> tuple[Path, Path]:
    """Gaussian rows with eigenvalues 1/k, and noisy labels of one unit."""
    chance = np.random.default_rng(0)
    scale = np.arange(1.0, COLUMNS + 1) ** -0.5
    direction = chance.normal(size=COLUMNS)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (rows, COLUMNS))
    y = np.empty(rows)
    for at in range(0, rows, PIECE):
        part = chance.normal(size=(min(PIECE, rows - at), COLUMNS)) * scale
        X[at : at + len(part)] = part
        y[at : at + len(part)] = np.tanh(part @ direction) + 0.3 * chance.normal(size=len(part))
    np.save(folder / "y.npy", y)
    return folder / "X.npy", folder / "y.npy"


def peak() -> float:
    """Bytes that this program has held at most; what getrusage says includes the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024.0 * next(float(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def planned(features: str, target: str) -> None:
    """Plan, and print the peak before and after."""
    import dimfree as df
    from dimfree.questions.plan import teacher

    teacher._STEPS = 3  # every step of a fit takes the same memory
    before = peak()
    found = df.plan(features=features, target=target, splits=1, seeds=2, widths=[2], budget=20_000)
    print(json.dumps({"before": before, "after": peak(), "rows": found.table.moments.count}))


def main(rows: int) -> None:
    """Write the table, plan for it in another process, and record what that took."""
    with tempfile.TemporaryDirectory() as folder:
        files = map(str, written(Path(folder), rows))
        run = [sys.executable, __file__, "--plan", *files]
        found = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    beyond = found["after"] - found["before"]
    print(f"{found['rows']} rows: {beyond / 1e9:.2f} GB beyond the process; the bar is {BAR / 1e9:g} GB")
    kept = {"rows": rows, "columns": COLUMNS, "bytes_beyond_the_process": beyond, "bar": BAR}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    sys.exit(beyond > BAR)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--plan"]:
        planned(*sys.argv[2:])
    else:
        main(int(float(sys.argv[1])) if sys.argv[1:] else 1_000_000)
