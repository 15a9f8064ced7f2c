"""SIGKILL of the driver and of workers at random moments in sweeps of 200 points; after resuming, nothing is lost.

`python benchmarks/kills.py --json benchmarks/kills.json` kills each of them ten times, with the pool of processes and with
Dask, and fails unless the store is, bit for bit, that of a sweep which nobody disturbed.
"""

import argparse
import json
import secrets
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "sweeps"))

from killing import survives


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10, help="of each kind")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--json", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    rows = {}
    for engine, whom in (("dask", "worker"), ("dask", "driver"), ("processes", "driver"), ("processes", "worker")):
        with tempfile.TemporaryDirectory() as folder:
            done = survives(Path(folder), engine, arguments.points, whom, arguments.kills, arguments.seed)
        rows[f"{whom} of {engine}"] = {**done, "bit_for_bit": True, "seed": arguments.seed}
        print(f"{whom} of {engine}: {done}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
