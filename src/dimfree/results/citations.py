"""References: what to cite for what was used."""

import re
from collections.abc import Iterable
from importlib.resources import files

from dimfree.errors import ProblemError


def entries() -> dict[str, str]:
    """Every entry of references.bib by its key."""
    text = files("dimfree").joinpath("references.bib").read_text(encoding="utf-8")
    return {match[1]: match[0].strip() for match in re.finditer(r"@\w+\{([^,]+),.*?\n\}", text, re.DOTALL)}


def bibliography(keys: Iterable[str]) -> str:
    """BibTeX of dimfree itself and of the given keys, each once."""
    known = entries()
    wanted = dict.fromkeys(["dimfree", *keys])
    missing = [key for key in wanted if key not in known]
    if missing:
        raise ProblemError(f"references.bib has no entry {missing[0]!r}.")
    return "\n\n".join(known[key] for key in wanted)
