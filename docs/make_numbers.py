"""Write the measured numbers of some pages anew from the files that benchmarks wrote: python docs/make_numbers.py.

In docs/accuracy.md rows of the table of speed are found by the name of their benchmark, in benchmarks/results.json; first
answers are all of benchmarks/first_contact.json; the range of predictions is that of benchmarks/predictions.json.
docs/programs.md says what benchmarks/soak.json has, docs/your-data.md has the table of own_rows.json, docs/lazy.md that of a
gallery record. Single sentences of any page are in docs/sentences.py, with the files that their numbers are read from.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import xarray as xr
from sentences import SENTENCES, Sentence

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
FILES = ("results", "first_contact", "predictions", "soak", "own_rows", "plan_memory", "same_speed")
RECORDS = ROOT / "docs" / "gallery" / "records"
_FAR = 3  # from this ratio on only its order of magnitude is given
_LAZY_TABLE = (1, 10, 100, 1000)  # output scales times width
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_FREED = 150  # megabytes by which memory falls when programs are dropped, and not by chance
_SIGNS = {">=": "≥", "<=": "≤"}


def main() -> None:
    """Write the pages."""
    found = measured()
    for name in pages():
        page = ROOT / "docs" / name
        page.write_text(renew(name, page.read_text(encoding="utf-8"), found), encoding="utf-8")


def pages() -> list[str]:
    """The pages that have numbers of these files."""
    return sorted({*PAGES, *(one.page for one in SENTENCES)})


def renew(name: str, page: str, found: dict[str, Any]) -> str:
    """This page with the numbers of these files."""
    if name in PAGES:
        page = PAGES[name](page, found)
    for one in SENTENCES:
        if one.page == name:
            page = spelled(page, one, found)
    return page


def measured() -> dict[str, Any]:
    """What the benchmarks wrote, by file; the claims of all gallery records, and the data of three."""
    found = {name: json.loads((ROOT / "benchmarks" / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}
    records = [json.loads(path.read_text(encoding="utf-8")) for path in RECORDS.glob("*.json")]
    found["claims"] = {one["name"]: one["claims"] for one in records}
    found["lazy"] = xr.load_dataset(RECORDS / "lazy-to-rich.nc")
    found["kernels"] = xr.load_dataset(RECORDS / "kernels-lose.nc")
    found["spectral"] = xr.load_dataset(RECORDS / "spectral-vs-sgd.nc", group="case-3/spectral")
    return found


def spelled(page: str, one: Sentence, found: dict[str, Any]) -> str:
    """The page with the numbers of a sentence; lines may end anywhere between its words."""
    words = [re.escape(part).replace("\\ ", r"\s+") for part in re.split(r"\{[^}]*\}", one.words)]
    numbers = [form.format(x) for form, x in zip(re.findall(r"\{[^}]*\}", one.words), one.numbers(found), strict=True)]
    page, count = re.subn(
        _NUMBER.join(f"({part})" for part in words),
        lambda match: "".join(part + number for part, number in zip(match.groups(), [*numbers, ""], strict=True)),
        page,
    )
    if count != 1:
        raise ValueError(f"docs/{one.page} has {count} sentences with {one.words!r}; write it as in docs/sentences.py.")
    return page


def renewed(page: str, found: dict[str, Any]) -> str:
    """The page with the numbers of these files."""
    page = re.sub(
        r"^(\| `(\w+)` \| .*) \| [^|]* \| [^|]* \|$", lambda row: speed(row, found["results"]), page, flags=re.M
    )
    first = "\n".join(first_answer(name, one) for name, one in found["first_contact"].items())
    head = "| CPU seconds | empty cache | second process |\n|---|---|---|\n"
    page = re.sub(f"({re.escape(head)})(?:\\|.*\n)*", lambda match: f"{match[1]}{first}\n", page)
    ranges = [extent(found["predictions"], f"{kind}_ratio") for kind in ("seconds", "memory")]
    said = f"between {ranges[0]} for seconds and between {ranges[1]} for memory"
    return re.sub(r"between \S+ and \S+ for seconds and between \S+ and \S+ for memory", said, page)


def soaked(page: str, found: dict[str, Any]) -> str:
    """The page about programs: the largest numbers of the long run, and its memory after programs were dropped."""
    rows = found["soak"]["after"]  # of every problem: its number, programs held and alive, memory maps, megabytes
    maps, memory = max(row[3] for row in rows), max(row[4] for row in rows)
    after = [late for early, late in pairwise(rows) if early[4] - late[4] > _FREED]
    freed = ", ".join(f"{row[4] / 1000:.2f} GB after {row[0]}" for row in after)
    page = re.sub(r"at most [\d,]+ maps and [\d.]+ GB", f"at most {maps:,} maps and {memory / 1000:.2f} GB", page)
    return re.sub(r"\d\.\d\d GB after \d+(, \d\.\d\d GB after \d+)*", freed, page)


def lazy(page: str, found: dict[str, Any]) -> str:
    """The page about the lazy limit: means over networks, by output scale."""
    data = found["lazy"].mean("network")
    rows = ""
    for scale in _LAZY_TABLE:
        one = data.sel(scale=scale / float(data["width"]), method="nearest")
        cells = (f"{float(one[key]):.2g}" for key in ("movement", "kernel_change", "gap", "risk", "linear_risk"))
        rows += f"| {scale} | {' | '.join(cells)} |\n"
    return re.sub(r"^(\| γN \|.*\n\|-.*\n)(?:\|.*\n)*", lambda match: match[1] + rows, page, flags=re.M)


def real_rows(page: str, found: dict[str, Any]) -> str:
    """The page about rows of your own: ratios of risks, with the last digits of their errors in brackets."""
    rows = "".join(
        f"| {table} | {network} | {' | '.join(map(compared, ratios))} |\n"
        for table, networks in found["own_rows"]["ratios"].items()
        for network, ratios in networks.items()
    )
    return re.sub(r"^(\| rows \| network.*\n\|-.*\n)(?:\|.*\n)*", lambda match: match[1] + rows, page, flags=re.M)


def compared(ratio: dict[str, float | None]) -> str:
    """A ratio and its error; far from 1 its order of magnitude only."""
    mean, error = ratio["mean"], ratio["error"]
    if mean is None or error is None:
        return "diverges"
    return f"{mean:.2f}({100 * error:.0f})" if mean < _FAR else spoken(float(f"{mean:.1g}"))


PAGES = {"accuracy.md": renewed, "programs.md": soaked, "lazy.md": lazy, "your-data.md": real_rows}


def speed(row: re.Match[str], results: dict[str, Any]) -> str:
    """A row of the table of speed with what was reached and the bar; a row of another table as it is."""
    if row[2] not in results:
        return row[0]
    one = results[row[2]]
    sign, bar = one["bar"].split()
    return (
        f"{row[1]} | {spoken(one['ratio'])}{'' if one['holds'] else ', missed'} | {_SIGNS[sign]} {spoken(float(bar))} |"
    )


def first_answer(name: str, one: dict[str, float]) -> str:
    """A row of the table of first answers."""
    return f"| {name} | {spoken(one['first'])} | {spoken(one['second process']) if 'second process' in one else ''} |"


def extent(rows: dict[str, Any], key: str) -> str:
    """The smallest and the largest of some numbers, in words."""
    values = [row[key] for row in rows.values()]
    return f"{min(values):.2g} and {max(values):.2g}"


def spoken(number: float) -> str:
    """Three digits of a number, without an exponent unless it is very small."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


if __name__ == "__main__":
    main()
