"""A process that answers drawn command lines one after the other, each in an empty folder, and says how each of them ended.

    python fuzz_child.py SEED FIRST COUNT GOOD_RESULTS

One JSON object a line: before a case its number and arguments, after it how it ended and the memory that it took.
"""

import io
import json
import os
import random
import resource
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from dimfree.cli.commands import app
from fuzz_cases import Case, draw

ADDRESSES = 12 * 10**9  # bytes, which libraries reserve generously: beyond them an allocation fails
SPARSE = 2 * 10**11  # bytes of files that would not fit into memory and take no room on the disk


def main(seed: str, first: int, count: int, good: Path) -> None:
    """Answer the cases of these numbers."""
    home = Path.cwd()
    results = good.read_bytes()
    for number in range(first, first + count):
        chance = random.Random(f"{seed} {number}")
        case = draw(chance)
        print(json.dumps({"number": number, "arguments": case.arguments, "files": case.files}), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for name, (kind, damage) in case.files.items():
                make(chance, Path(name), kind, damage, results)
            print(json.dumps(answer(case)), flush=True)
            os.chdir(home)


def answer(case: Case) -> dict[str, object]:
    """How one call ends."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = memory("VmRSS")
    found = CliRunner().invoke(app, case.arguments)
    raised = found.exception is not None and not isinstance(found.exception, SystemExit)
    return {
        "code": found.exit_code,
        "raised": "".join(traceback.format_exception(*found.exc_info)[-4:]) if raised and found.exc_info else "",
        "said": found.stderr[-2000:],
        "silent": not found.output.strip(),
        "traceback": "Traceback" in found.output,
        "taken": memory("VmHWM") - before,
        "left": sorted(entry for entry in os.listdir() if entry.startswith(".dimfree-")),
    }


def memory(name: str) -> int:
    """Bytes, from the status of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1000 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def make(chance: random.Random, path: Path, kind: str, damage: str, results: bytes) -> None:
    """A file of some kind, damaged in some way."""
    path.parent.mkdir(exist_ok=True)
    if kind == "written":
        path.write_text(damage, encoding="utf-8")
    elif kind == "store":
        path.mkdir()
        text = {"text": "no JSON", "empty": "", "foreign": "[]", "shape": '{"attributes": {"kind": "dimfree sweep"}}'}
        (path / "zarr.json").write_text(
            text.get(damage, '{"attributes": {"kind": "dimfree sweep", "layout": {"axes": 3}}}')
        )
    elif damage == "fifo":
        os.mkfifo(path)
    elif damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes(damaged(chance, content(chance, kind, damage, results), damage))
        if damage == "huge" and path.suffix not in (".npy", ".npz"):
            os.truncate(path, SPARSE)


def damaged(chance: random.Random, good: bytes, damage: str) -> bytes:
    """What is left of the content of a file."""
    match damage:
        case "truncated":
            return good[: chance.randrange(len(good))]
        case "flipped":
            turned = bytearray(good)
            for _ in range(chance.choice([1, 3, 30])):
                turned[chance.randrange(len(turned))] ^= 1 << chance.randrange(8)
            return bytes(turned)
        case "empty":
            return b""
        case "text":
            return "no such file: é".encode(chance.choice(["utf-8", "latin-1"]))
        case "foreign":
            return chance.choice(
                [npy(np.ones(3)), npz(x=npy(np.ones(3))), b"[problem]\n", b"{}", b"\x00" * 99, b"a,b\n1\n"]
            )
        case _:
            return good


def content(chance: random.Random, kind: str, damage: str, results: bytes) -> bytes:
    """The content of a good file, but for shapes and numbers that are wrong in it."""
    rng = np.random.default_rng(chance.getrandbits(32))
    X, y = rng.normal(size=(40, 8)), np.where(rng.random(40) < 0.5, -1.0, 1.0)
    eye = np.eye(8)
    members = {
        "weights": {"W": rng.normal(size=(4, 8)), "Wstar": np.sqrt(8) * np.eye(2, 8)},
        "points": {"X": X, "y": y},
        "covariances": {"Psi": eye, "Phi": eye / 2, "Omega": eye, "theta": np.ones(8)},
    }
    arrays = {"matrix": eye, "spectrum": np.ones(8), "rows": X, "table": X, "labels": y}
    texts = {
        "csv": "a,b,c\n" + "\n".join(f"{i},{i % 3},{i % 2}" for i in range(20)),
        "problem": "dimension = 30\n[data]\nkind = 'teacher'\n",
        "sweep": "[over]\ndimension = [1000000000000]\n",
        "reference": json.dumps({"items": [{"id": "a", "kind": chance.choice(["kernel", "leap", "x"]), "inputs": {}}]}),
    }
    if kind in members:
        return npz(**{name: spoilt(chance, array, damage) for name, array in members[kind].items()})
    if kind in arrays:
        return spoilt(chance, arrays[kind], damage)
    return results if kind == "results" else texts[kind].encode()


def spoilt(chance: random.Random, array: np.ndarray, damage: str) -> bytes:
    """An array of another shape, of complex numbers, or of which there is the header alone."""
    if damage == "huge":
        file = io.BytesIO()
        shape = chance.choice([(10**6, 10**6), (10**18,), (10**5, 10**5)])
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
        return file.getvalue() + bytes(100)
    if damage == "complex":
        return npy(array * 1j)
    if damage == "shape":
        others = [array.reshape(-1), array[..., None], array[:1], array[:0], np.zeros(()), array * np.nan, array > 0]
        return npy(chance.choice(others))
    return npy(array)


def npy(array: np.ndarray) -> bytes:
    """As np.save writes it."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**members: bytes) -> bytes:
    """As np.savez writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)
    return file.getvalue()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
