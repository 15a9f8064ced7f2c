"""Measure figures of the gallery and keep a record of each for the site: python docs/make_gallery.py [NAMES] [--check].

A record is what the pages of the site are built from, in docs/gallery/records: the claims with their numbers and the problem
that was run (NAME.json), the figure (NAME.webp), and the curves, averaged over runs (NAME.nc). Without names, every figure is
measured, cheapest first. With --check nothing is written; the exit code is 0 only if the claims hold and are the recorded ones.
"""

import argparse
import json
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import xarray as xr
from PIL import Image

from dimfree.errors import ProblemError
from dimfree.gallery.reproduce import reproduce
from dimfree.gallery.shelf import shelved
from dimfree.problem import loads
from dimfree.problem.problem import as_tables
from dimfree.registry import names
from dimfree.results.store import load

RECORDS = Path(__file__).parent / "gallery" / "records"
LARGEST = 128_000  # bytes of a figure, and of the curves
_CHEAP = 8  # figures among which --draw chooses
_WIDTH = 1200  # pixels of a figure
_LONGEST = (4096, 1024, 256, 64, 16)  # numbers of one observable: the first with which the curves are not too large
_KEPT = ("description", "title", "real", "figure", "full", "cites", "created_at", "dimfree_version")


def keep(name: str, folder: Path, records: Path = RECORDS) -> None:
    """Make the record of a figure from the three files that `dimfree reproduce` wrote into a folder."""
    records.mkdir(parents=True, exist_ok=True)
    measured = load(folder / f"{name}.nc")
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    record["results_bytes"] = (folder / f"{name}.nc").stat().st_size
    del record["files"]
    record |= first_run(measured)
    (records / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    save_picture(folder / f"{name}.png", records / f"{name}.webp")
    save_curves(measured, records / f"{name}.nc")


def first_run(measured: xr.DataTree) -> dict[str, Any]:
    """The first problem that was run, with the keys that differ from the defaults, and what it was run with."""
    for node in measured.subtree:
        accounts = [one.attrs.get("description") for one in node.children.values()]
        if accounts and all(accounts) and "problem" in node.children[next(iter(node.children))].attrs:
            text = node.children[next(iter(node.children))].attrs["problem"]
            try:
                short = shortest(text)
            except (
                ProblemError
            ):  # it has a function that a file cannot name: the page shows the class of the figure alone
                return {}
            return {"problem": short, "descriptions": [one for one in dict.fromkeys(accounts) if one in names()]}
    return {}


def shortest(text: str) -> str:
    """A problem as TOML with the keys that differ from the defaults of their sections, or from what the kind fills in."""
    problem = loads(text)
    tables = as_tables({"whole": problem})["whole"]
    ordered = sorted(tables, key=[*(name for name in type(problem).model_fields if name != "run"), "run"].index)
    filled_in = loads(_written({name: _kept(tables[name], getattr(problem, name)) for name in ordered}))
    kept = {name: _kept(tables[name], getattr(problem, name), getattr(filled_in, name)) for name in ordered}
    short = re.sub(r",?\s*\n\s*(?=\])|(?<=\[)\n\s+", "", re.sub(r"(?<=,)\n\s+(?=[^\]\s])", " ", _written(kept)))
    assert loads(short) == problem
    return short


def _written(tables: dict[str, Any]) -> str:
    return tomli_w.dumps({name: value for name, value in tables.items() if value != {}})


def _kept(table: Any, section: Any, filled_in: Any = None) -> Any:
    """The keys of a section without those that have their default, unless the kind of data fills in another value."""
    if not isinstance(table, dict):
        return table
    fields, plain = type(section).model_fields, section.model_dump(mode="json", exclude_none=True)

    def is_kept(name: str) -> bool:
        value = getattr(section, name)
        return name == "kind" or value != fields[name].default or getattr(filled_in or section, name) != value

    return {
        name: plain[name] for name in sorted(table.keys() & plain.keys(), key=["kind", *fields].index) if is_kept(name)
    }


def save_curves(measured: xr.DataTree, target: Path) -> None:
    """Averages over runs with their standard errors, in single precision; the longest observables stay out if need be."""
    for longest in _LONGEST:
        measured.map_over_datasets(_averaged, kwargs={"longest": longest}).to_netcdf(target, engine="h5netcdf")
        if target.stat().st_size <= LARGEST:
            return
    target.unlink()


def _averaged(data: xr.Dataset, longest: int) -> xr.Dataset:
    kept = {}
    for name, values in data.data_vars.items():
        runs = values.sizes.get("replica", 1)
        if np.issubdtype(values.dtype, np.number) and values.size / runs <= longest:
            kept[name] = (values.mean("replica") if "replica" in values.dims else values).astype("float32")
            if runs > 1:
                kept[f"{name}_error"] = (values.std("replica", ddof=1) / np.sqrt(runs)).astype("float32")
    attrs = {name: value for name, value in data.attrs.items() if name in _KEPT}
    return xr.Dataset(kept, attrs=attrs)


def save_picture(source: Path, target: Path) -> None:
    """A figure as WebP, below the largest size."""
    picture = Image.open(source).convert("RGB")
    picture.thumbnail((_WIDTH, 4 * _WIDTH))
    for quality in range(85, 20, -10):
        picture.save(target, quality=quality, method=6)
        if target.stat().st_size <= LARGEST:
            return


def same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether all claims hold, and are the recorded statements with the recorded bounds."""
    claims = [[(c["statement"], c["low"], c["high"]) for c in one["claims"]] for one in (old, new)]
    return bool(new["holds"]) and claims[0] == claims[1]


def main() -> int:
    """Measure and keep, or measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="figures; left out, all of them")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the records still hold")
    parser.add_argument(
        "--draw", type=int, metavar="N", help=f"instead of names: N of the {_CHEAP} cheapest with a record, at random"
    )
    given = parser.parse_args()
    failed, cheapest = False, sorted(shelved(), key=lambda one: shelved()[one].seconds)
    recorded = [name for name in cheapest if (RECORDS / f"{name}.json").exists()]
    drawn = random.sample(recorded[:_CHEAP], given.draw) if given.draw else cheapest
    for name in given.names or drawn:
        with tempfile.TemporaryDirectory() as folder:
            done = reproduce(name, Path(folder))
            print(done.summary(), flush=True)
            failed |= not done.holds
            if not given.check:
                keep(name, Path(folder))
            elif not same(json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8")), done.to_dict()):
                print(f"{name}: the record in {RECORDS.name} has other claims; run make_gallery.py {name}.")
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
