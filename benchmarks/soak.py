"""Many different problems in one process: memory and memory maps stay bounded, because programs that are not used are dropped.

`python benchmarks/soak.py --json benchmarks/soak.json` solves and simulates 300 problems, no two of one structure, and fails
unless the last third takes no more than the middle one, up to a tenth. Linux only: it reads /proc.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ["DIMFREE_CACHE"] = "off"  # what is loaded from a file is held like what is compiled, but is quicker

import dimfree as df
from dimfree.programs.compiled import FORMS

ROOM = 1.1  # of the largest numbers of the middle third, which those of the last third may reach


class Seen(NamedTuple):
    """A process after so many problems."""

    problems: int
    programs: int
    maps: int
    megabytes: float


def problems() -> Iterator[df.Problem]:
    """Problems whose programs differ: activations, widths, teachers, and how many times are saved."""
    kinds = itertools.product(range(3, 60), (1, 2, 3), (1, 2), ("erf", "relu", "linear"))
    for points, width, units, activation in kinds:
        yield df.Problem(
            dimension=30,
            data=df.Teacher(units=units, activation=activation),
            network=df.TwoLayer(width=width, activation=activation),
            run=df.Run(until=0.2, replicas=2, points=points),
        )


def soak(count: int) -> Iterator[Seen]:
    """The process after each of so many problems: every one is solved, and every fifth simulated."""
    for number, problem in enumerate(itertools.islice(problems(), count), start=1):
        df.solve(problem)
        if number % 5 == 0:
            df.simulate(problem)
        maps = len(Path("/proc/self/maps").read_text().splitlines())
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        yield Seen(number, len(FORMS), maps, round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1))


def bounded(seen: list[Seen]) -> bool:
    """Whether the last third takes no more than the middle one, up to ROOM."""
    third = len(seen) // 3
    middle, last = seen[third : 2 * third], seen[2 * third :]
    return all(
        max(getattr(one, name) for one in last) <= ROOM * max(getattr(one, name) for one in middle)
        for name in ("maps", "megabytes")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    seen = list[Seen]()
    for one in soak(arguments.problems):
        seen.append(one)
        if one.problems % 10 == 0:
            print(*one, sep="\t", flush=True)
    every_tenth = [one._asdict() for one in seen if one.problems % 10 == 0]
    if arguments.json:
        arguments.json.write_text(json.dumps({"bounded": bounded(seen), "after": every_tenth}, indent=2) + "\n")
    sys.exit(not bounded(seen))


if __name__ == "__main__":
    main()
