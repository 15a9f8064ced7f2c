"""The README as a package index shows it: links that are relative to the repository lead nowhere there.

Where `[project.urls]` names the repository as `Source`, links lead to its files of this version. Until then their words stay
without a link, figures are left out, and a sentence says that the pages are in the source distribution. In both cases the
package is installed by its name.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]*)\)")
_FIGURES = re.compile(r"^\|[^\n]*\|\n\|[-|]+\|\n\|[^\n]*!\[[^\n]*\n\n", re.MULTILINE)  # the table that holds them
_WHERE = "The pages that this text names are in the folder `docs` of the source distribution, which holds the tests as well.\n"


class IndexReadme(MetadataHookInterface):
    """Fill in the dynamic field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        shown = for_index(text, metadata.get("urls", {}).get("Source"), metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}


def for_index(text: str, source: str | None, version: str) -> str:
    """The text for readers of an index, with links to the files that are tagged in the repository `source`, or without links."""

    def absolute(found: re.Match[str]) -> str:
        image, words, path = found.groups()
        if source is None:
            return words
        return f"{image}[{words}]({source.rstrip('/')}/{'raw' if image else 'blob'}/v{version}/{path})"

    if source is None:
        text = _FIGURES.sub("", text) + "\n" + _WHERE
    return _RELATIVE.sub(absolute, text).replace("pip install . &&", "pip install dimfree &&")
