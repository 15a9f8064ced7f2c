"""The page of the lab: its files as a server hands them out, and all of them in one file that needs no server."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_BACKEND = "<!-- backend -->"
_COMMENT = re.compile("  // [^\"'`]*$")  # at the end of a line of code, where no text can hold it
# What runs in the workers of the saved page, after the emitted theory: times, start, random numbers, verdict, one step
# in slow motion, and the loop.
_WORKER = ("saved_times.js", "start.js", "generator.js", "verdict.js", "slow.js", "worker.js")
_SERVED = ("density.js", "sketches.js", "remote.js")  # what a saved page does without, and the backend
_MAGNIFIER = ("generator.js", "slow.js", "magnifier.js")  # after the emitted chain, in a worker of the served page


def served() -> str:
    """The page that asks a server."""
    scripts = "".join(f'<script src="{name}"></script>' for name in _SERVED)
    return _text("index.html").replace(_BACKEND, scripts)


def asset(name: str) -> tuple[bytes, str] | None:
    """A file that the served page asks for, and its content type; None if there is no such file."""
    known = {path.name: path for path in _FOLDER.iterdir() if path.suffix in _TYPES}
    return (known[name].read_bytes(), _TYPES[known[name].suffix]) if name in known else None


def magnifier(chain: str) -> str:
    """What a worker of the served page runs to show one step of SGD, after JavaScript that defines makeChain."""
    return "\n".join((chain, *map(_text, _MAGNIFIER)))


def refusing(sentence: str) -> str:
    """A worker that answers with a sentence."""
    return f"onmessage = () => postMessage({json.dumps({'sentence': sentence})});\n"


def one_file(emitted: str, hello: Mapping[str, Any]) -> str:
    """The page with the emitted theory and chain, in one file that makes no request.

    **Arguments:**

    - `emitted`: JavaScript that defines makeTheory and makeChain. Only workers run it; with all that they need it stands in the
        page as compressed data, together with `hello`.
    - `hello`: What the page knows first: the problem, its controls, what can be opened, the recipe of the start, the words of
        verdicts.

    **Returns:**

    The text of an HTML file.
    """
    inside = "\n".join(_lean(source) for source in (emitted, *map(_text, _WORKER)))
    known = json.dumps({"hello": hello, "worker": inside}, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(known.encode(), mtime=0)).decode()
    scripts = ("problem_text.js", *(["tabulated.js"] if hello.get("grid") else []), "local.js")
    blocks = "\n".join(
        [
            f'<script type="text/plain" id="packed">{packed}</script>',
            *(f'<script src="{name}"></script>' for name in scripts),
        ]
    )
    page = _text("index.html").replace(_BACKEND, blocks)
    hashes: dict[str, list[str]] = {"script": [], "style": []}

    def inlined(kind: str, name: str) -> str:
        lean = _lean_style if kind == "style" else _lean
        source = "\n" + _quoted(lean(_text(name))) + "\n"
        hashes[kind].append(f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'")
        return f"<{kind}>{source}</{kind}>"

    page = re.sub(r'<link rel="stylesheet" href="([\w.]+)">', lambda found: inlined("style", found[1]), page)
    page = re.sub(r'<script src="([\w.]+)"></script>', lambda found: inlined("script", found[1]), page)
    policy = (
        f"default-src 'none'; script-src {' '.join(hashes['script'])}; style-src {' '.join(hashes['style'])}; "
        "worker-src blob:; img-src data:"
    )
    return page.replace(
        '<meta charset="utf-8">',
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
    )


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _quoted(source: str) -> str:
    """Text that cannot end the element that it stands in."""
    return source.replace("</", "<\\/").replace("<!--", "<\\!--")


def _lean(source: str) -> str:
    """JavaScript or CSS without indentation, empty lines and comments, on lines of their own or behind two spaces."""
    lines = (_COMMENT.sub("", line).strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


def _lean_style(source: str) -> str:
    """CSS without spaces that part nothing."""
    return re.sub(r"\s*([{};,])\s*|(?<=\w): ", lambda found: found[1] or ":", _lean(source)).replace(";}", "}")
