"""Sizes of the packages and the time of an import, of this version and of an earlier one; and what a light core would save.

`python benchmarks/packages.py` prints the numbers, `--json FILE` writes them, `--before REVISION` measures another revision of
the repository beside this one. Wheel and sdist are built by hatchling; the wheel is installed into a fresh environment, where
the distributions are weighed. CPU seconds are the least of five processes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CANDIDATES = ("matplotlib", "pandas", "scikit-learn", "typer")  # what a light core could leave to an extra
CPU = "import resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
LOADED = "import sys; print([one for one in ('matplotlib', 'pandas', 'sklearn', 'typer') if one in sys.modules])"
WEIGHED = """
import importlib.metadata as m, json, re
name = lambda text: re.sub(r"[-_.]+", "-", text).lower()
needed, bytes_of = {}, {}
for one in m.distributions():
    required = [re.match(r"[\\w.-]+", r)[0] for r in one.requires or [] if "extra ==" not in r]
    needed[name(one.metadata["Name"])] = [name(r) for r in required]
    files = [one.locate_file(f) for f in one.files or []]
    bytes_of[name(one.metadata["Name"])] = sum(f.stat().st_size for f in files if f.is_file() and f.suffix != ".pyc")
print(json.dumps([needed, bytes_of]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--before", metavar="REVISION", help="an earlier revision, measured as well")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = {"now": measured(ROOT, folder / "now")}
        if given.before:
            found["before"] = {
                "revision": given.before,
                **measured(checked_out(given.before, folder), folder / "before"),
            }
        found["light_core"] = light_core(folder / "now" / "bin" / "python")
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def checked_out(revision: str, folder: Path) -> Path:
    """The files of a revision in a folder."""
    target = folder / "checked-out"
    target.mkdir()
    packed = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "--extract", "--directory", target], input=packed, check=True)
    return target


def measured(source: Path, environment: Path) -> dict[str, Any]:
    """Sizes of what is built from a folder, and the CPU seconds of an import beyond those of Python itself."""
    built = environment.with_name(f"{environment.name}-dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", built], cwd=source, check=True, capture_output=True
    )
    wheel, sdist = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, stderr=subprocess.DEVNULL)
    needed, bytes_of = json.loads(said(python, WEIGHED))
    return {
        "version": wheel.name.split("-")[1],
        "wheel_bytes": wheel.stat().st_size,
        "sdist_bytes": sdist.stat().st_size,
        "installed_bytes": sum(bytes_of[one] for one in closure(needed, {"dimfree"})),
        "import_seconds": seconds(python, "import dimfree") - seconds(python, "pass"),
    }


def light_core(python: Path) -> dict[str, Any]:
    """Which share of the installed bytes only the candidates need, and which of them a theory loads."""
    needed, bytes_of = json.loads(said(python, WEIGHED))
    whole = closure(needed, {"dimfree"})
    kept = closure({**needed, "dimfree": [one for one in needed["dimfree"] if one not in CANDIDATES]}, {"dimfree"})
    loaded = said(python, f"import dimfree as df; df.solve(until=0.1); {LOADED}").strip().splitlines()[-1]
    return {
        "candidates": list(CANDIDATES),
        "needed_in_any_case": sorted(kept & {*CANDIDATES}),
        "share_of_bytes_saved": sum(bytes_of[one] for one in whole - kept) / sum(bytes_of[one] for one in whole),
        "loaded_by_import": said(python, f"import dimfree; {LOADED}").strip(),
        "loaded_by_solve": loaded,
    }


def closure(needed: dict[str, list[str]], first: set[str]) -> set[str]:
    """All installed distributions that some of them need, directly or not."""
    found, waiting = set[str](), [*first]
    while waiting:
        one = waiting.pop()
        if one in needed and one not in found:
            found.add(one)
            waiting += needed[one]
    return found


def said(python: Path, code: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, cwd=tempfile.gettempdir())
    return done.stdout


def seconds(python: Path, code: str) -> float:
    """CPU seconds of a fresh process, the least of five."""
    return min(float(said(python, f"{code}; {CPU}")) for _ in range(5))


if __name__ == "__main__":
    main()
