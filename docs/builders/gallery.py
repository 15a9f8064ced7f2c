"""The pages of the gallery: a page for every figure, from its record, and thumbnails by question."""

import json
import math
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from builders.markdown import fenced, linked, table, text

from dimfree.gallery.shelf import Shelved, shelved
from dimfree.machine import duration

QUESTIONS = {
    "Which limit does SGD follow?": (
        "classical-k2", "classical-k5", "high-dimensional", "regimes", "wide-networks", "mean-field-density", "momentum",
    ),
    "How long does SGD stay at mediocrity?": (
        "noise-matters", "width-matters", "information-exponent", "spectral-vs-sgd", "quartic",
    ),
    "In which steps is a target learned?": ("staircase", "not-a-staircase", "time-scales"),
    "What do the neurons of a wide network do?": (
        "gaussian-histogram", "gaussian-relu", "kappa-dichotomy", "risk-vs-delta", "truncated-relu", "noisy-sgd",
        "four-dynamics", "dimension-free",
    ),
    "Do features move, or only the readout?": ("lazy-to-rich", "kernels-lose", "xor-mixture"),
    "What does SGD do on a data set that it revisits?": (
        "mixture-vanilla", "mixture-persistent", "three-clusters", "effective-temperature", "temperature-persistent",
        "dmft-vs-size", "sign-retrieval", "reuse-batches", "overfitting-in-time", "momentum-on-data", "deep-linear",
        "batch-protocols", "specialisation-finite-data",
    ),
    "How many samples does a learner need?": (
        "perceptron", "double-descent", "robust", "covariate-ridge", "covariate-logistic",
    ),
    "What does the loss change?": ("perceptron-laws", "label-flips", "margin", "heavy-tails"),
    "What does the law of the inputs change?": ("hidden-manifold", "digits", "power-law", "plateau-spectrum"),
    "What does a budget of compute buy?": (
        "scaling-phases",
        "scaling-frontier-sgd",
        "scaling-digits",
        "scaling-chinchilla",
        "scaling-batch",
        "scaling-schedules",
    ),
    "Which learning rate is best?": ("optimal-schedule", "schedule-quenched", "batch-is-rate"),
}  # fmt: skip
DOCS = Path(__file__).parents[1]
NAMING = ("figures-index", "gallery")  # pages whose tables name figures
OTHER = "And what else?"  # figures of the shelf that stand under no question yet


def pages(docs: Path) -> dict[str, str]:
    """The text of every page by its path."""
    records = docs / "gallery" / "records"
    written = {f"gallery/entries/{name}.md": page(name, one, records) for name, one in shelved().items()}
    return {**written, "gallery/entries/index.md": overview(records)}


def link_names(app: Any, page: str, source: list[str]) -> None:
    """Sphinx calls this for every page that it reads: names of figures in tables lead to the pages of these figures."""
    if page in NAMING:
        source[0] = "\n".join(_row(line) if line.startswith("|") else line for line in source[0].split("\n"))


def _row(line: str) -> str:
    return re.sub(
        r"`([\w-]+)`",
        lambda name: f"[{name[0]}](gallery/entries/{name[1]}.md)" if name[1] in shelved() else name[0],
        line,
    )


@cache
def asked(docs: Path) -> dict[str, str]:
    """Code for figures that ask a question, or vary what a problem file cannot vary, from gallery/code.md."""
    found = (docs / "gallery" / "code.md").read_text(encoding="utf-8")
    return {match[1]: match[2] for match in re.finditer(r"^## ([\w-]+)\n\n```python\n(.*?)```", found, re.M | re.S)}


def record(name: str, records: Path) -> dict[str, Any] | None:
    """What was measured, or None for a figure that nobody has measured for the site yet."""
    path = records / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def overview(records: Path) -> str:
    """Thumbnails of all figures, by question."""
    listed = {name for names in QUESTIONS.values() for name in names}
    groups = {**QUESTIONS, OTHER: tuple(name for name in shelved() if name not in listed)}
    measured = [one for name in shelved() if (one := record(name, records))]
    claims = [claim for one in measured for claim in one["claims"]]
    parts = [
        "# Gallery",
        "Figures of the literature, measured anew, each with claims that are decided by a number. "
        f"Recorded here: {len(measured)} of {len(shelved())} figures; {sum(claim['holds'] for claim in claims)} of their "
        f"{len(claims)} claims hold. `dimfree reproduce NAME` measures one on your machine; "
        "[what is measured, at which sizes, and what the figures taught](../../gallery.md).",
    ]
    for question, names in groups.items():
        if names := [name for name in names if name in shelved()]:
            cards = "\n".join(_card(name, records) for name in names)
            parts.append(f"## {question}\n\n::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{cards}\n::::")
    parts.append(fenced("{toctree}", ":hidden:\n\n../../gallery.md"))
    return "\n\n".join(parts) + "\n"


def _card(name: str, records: Path) -> str:
    picture = f":img-top: ../records/{name}.webp\n:img-alt: {name}\n" if (records / f"{name}.webp").exists() else ""
    title = text(shelved()[name].title)
    return f":::{{grid-item-card}} {name}\n:link: {name}\n:link-type: doc\n{picture}\n{title}\n:::\n"


def page(name: str, shelf: Shelved, records: Path) -> str:
    """One figure: claims with their numbers, figure, code, files."""
    measured = record(name, records)
    module, _, cls = shelf.entry.partition(":")
    said = (import_module(module).__doc__ or "").strip().split("\n\n")
    parts = ["---\norphan: true\n---", f"# {name}", "[Gallery](index.md)", f"**{text(shelf.title)}**"]
    if measured is None:
        parts.append(
            f"```{{note}}\nThis figure takes {duration(shelf.seconds)} and is not recorded here. To measure it: "
            f"`dimfree reproduce {name} --out figures`; for this page: `python docs/make_gallery.py {name}`.\n```"
        )
    else:
        parts.append(f"![{name}](../records/{name}.webp)")
        parts += [linked(text(" ".join(block.split())), "../../") for block in said]
        rows = [
            (_verdict(claim), text(claim["statement"]), f"{claim['value']:.4g}", bounds(claim))
            for claim in measured["claims"]
        ]
        parts += ["## Claims", table(("", "statement", "measured", "must be"), rows)]
    parts += ["## The code", *_code(name, cls, module, measured)]
    if measured is not None:
        parts += ["## Files", *_files(name, measured, records)]
    return "\n\n".join(parts) + "\n"


def _verdict(claim: dict[str, Any]) -> str:
    return "✓\N{NO-BREAK SPACE}holds" if claim["holds"] else "✗\N{NO-BREAK SPACE}**fails**"


def bounds(claim: dict[str, Any]) -> str:
    """Where the number of a claim must lie; an open end is None in a record."""
    low, high = (math.nan if claim[end] is None else claim[end] for end in ("low", "high"))
    if math.isnan(low):
        return f"at most {high:.4g}"
    return f"at least {low:.4g}" if math.isnan(high) else f"{low:.4g} to {high:.4g}"


def _code(name: str, cls: str, module: str, measured: dict[str, Any] | None) -> list[str]:
    parts = [
        fenced("console", f"$ dimfree reproduce {name} --out figures"),
        "or in Python, where the ingredients of the figure are fields that you may change:",
        fenced(
            "python",
            f"from pathlib import Path\n\nfrom {module} import {cls}\nfrom dimfree.gallery.reproduce import reproduce\n\n"
            f'done = reproduce({cls}(), Path("figures"))\nprint(done.summary())',
        ),
    ]
    if name in (written := asked(DOCS)):
        parts += ["The same question about a problem of your own, at smaller sizes:", fenced("python", written[name])]
    elif measured and "problem" in measured:
        only = ", ".join(f'"{one}"' for one in measured["descriptions"])
        parts += [
            "One of its runs as a problem of your own:",
            fenced("python", f'import dimfree as df\n\nproblem = df.loads("""\n{measured["problem"].rstrip()}\n""")\n'
                   f"comparison = df.compare(problem, only=[{only}])\nprint(comparison.summary())"),
        ]  # fmt: skip
    return parts


def _files(name: str, measured: dict[str, Any], records: Path) -> list[str]:
    rows = [f"- {{download}}`{name}.json <../records/{name}.json>`: the claims with their numbers"]
    if (records / f"{name}.nc").exists():
        rows.append(
            f"- {{download}}`{name}.nc <../records/{name}.nc>`: its curves, averaged over runs, for `xarray.open_datatree`"
        )
    whole = measured["results_bytes"] / 1e6
    return [
        "\n".join(rows),
        f"`dimfree reproduce {name}` writes all runs ({whole:.2g} MB) and the figure in print quality. "
        f"This record: dimfree {measured['dimfree_version']}, {measured['cpu_seconds']:.0f} CPU seconds"
        + (", at the sizes of the documents." if measured["full"] else ", at the default sizes."),
    ]
