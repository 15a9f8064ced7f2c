"""Many different problems in one process: memory and memory maps stay bounded, because what is not used is dropped.

`python benchmarks/soak.py --json benchmarks/soak.json` solves, simulates or compares and plots 300 problems of different
structures, drawn over all settings. It fails if there are too many memory maps, or if memory would be beyond its bound after
3,000 problems, growing as it did over the second half. Linux only: it reads /proc.
"""

import argparse
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

os.environ["DIMFREE_CACHE"] = "off"  # what is loaded from a file is held like what is compiled, but is quicker
# half of the time is compilation outside of dimfree's programs, which choose such options themselves
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_parallel_codegen_split_count=1 --xla_backend_optimization_level=0")

import numpy as np

import dimfree as df
from dimfree.programs import compiled, forms, remembered
from dimfree.registry import setting_of
from soak_problems import drawn

MANY = 3_000  # problems, to which memory is continued
MEGABYTES = 3_000  # at most, after so many
MAPS = 20_000  # at most: Linux allows 65,530


class Seen(NamedTuple):
    """A process after so many problems."""

    problems: int
    held: int
    alive: int
    maps: int
    megabytes: float


def soak(count: int, seed: int = 0) -> Iterator[Seen]:
    """The process after each of so many problems."""
    for number, (_, problem, verb) in enumerate(islice(drawn(seed), count), start=1):
        answer(problem, verb)
        maps = len(Path("/proc/self/maps").read_text().splitlines())
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        megabytes = round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
        yield Seen(number, len(compiled.FORMS), remembered.programs_alive(), maps, megabytes)


def answer(problem: df.Problem, verb: str) -> None:
    """Solve, simulate, or compare both; a problem that the theory refuses is simulated."""
    setting = setting_of(problem)
    try:
        if verb == "compare":
            compared = df.compare(problem, only=[setting.theory, setting.simulation], budget=None)
            compared.summary()
            with tempfile.TemporaryDirectory() as folder:
                compared.plot(Path(folder) / "curve.png")
        elif verb == "solve":
            df.solve(problem)
        else:
            df.simulate(problem)
    except df.RefusalError:
        df.simulate(problem)
    except df.DivergenceError:
        pass  # an answer as well


def slope(seen: Sequence[Seen]) -> float:
    """By how many megabytes a problem memory grows over the second half, on the line that fits it."""
    half = seen[len(seen) // 2 :]
    return float(np.polyfit([one.problems for one in half], [one.megabytes for one in half], 1)[0])


def continued(seen: Sequence[Seen]) -> float:
    """The megabytes after MANY problems, if memory goes on to grow as it did over the second half."""
    return max(one.megabytes for one in seen) + max(0.0, slope(seen)) * (MANY - len(seen))


def bounded(seen: Sequence[Seen]) -> bool:
    """Whether a session of MANY problems stays within its bounds."""
    return continued(seen) <= MEGABYTES and max(one.maps for one in seen) <= MAPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held", type=int, default=forms.MOST, help="programs that are held")
    parser.add_argument(
        "--made", type=int, default=remembered.MOST, help="programs after which jax's caches are cleared"
    )
    parser.add_argument("--json", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    compiled.FORMS, compiled.REMEMBERED = forms.Forms(arguments.held), remembered.Remembered(arguments.made)
    seen = list[Seen]()
    for one in soak(arguments.problems, arguments.seed):
        seen.append(one)
        print(*one, sep="\t", flush=True)
    found = {"bounded": bounded(seen), "megabytes_a_problem": slope(seen), "megabytes_after_3000": continued(seen)}
    if arguments.json:
        arguments.json.write_text(json.dumps({**found, "columns": Seen._fields, "after": seen}) + "\n")
    print(found)
    sys.exit(not found["bounded"])


if __name__ == "__main__":
    main()
