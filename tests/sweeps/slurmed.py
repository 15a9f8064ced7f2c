"""A sweep by jobs of SLURM as a script of its own: python slurmed.py FOLDER STORE POINTS."""

import os
import sys
import time
from pathlib import Path

from accounts import BASE, RATES, Square

import dimfree as df

STEP = 0.001  # from the rate of one point to that of the next


class Gated(Square):
    """The points wait for a file `start`; from a rate on they say which job has begun them, and wait for another, `go`."""

    folder: str = ""
    gated_from: float = 0.0

    def solve(self, model):
        rate, folder = float(model.gamma), Path(self.folder)
        _wait_for(folder / "start")
        if rate >= self.gated_from:
            with (folder / "begun").open("a") as notes:
                notes.write(f"{os.environ.get('SLURM_JOB_ID', 'here')} {rate!r}\n")
            _wait_for(folder / "go")
        return super().solve(model)


def _wait_for(path):
    while not path.exists():
        time.sleep(0.02)


def swept(folder, store, points, **how):
    rates = [STEP * number for number in range(1, points + 1)]
    account = Gated(folder=str(folder), gated_from=STEP * (points // 2 + 0.5))
    return df.sweep(BASE, {RATES: rates}, descriptions=[account], store=folder / store, **how)


if __name__ == "__main__":
    from slurmed import swept as sent  # workers know what is sent to them by this name

    job = {"jobs": 2, "cores": 1, "processes": 1, "memory": "1.5 GB", "queue": "short", "interface": "lo"}
    sent(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), cluster="slurm", slurm={**job, "walltime": "00:10:00"})
