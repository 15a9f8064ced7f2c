"""Whether every link of a built site leads somewhere: python docs/check_links.py SITE.

Links inside the site need a file and, after #, an element of that name; links to other hosts are not fetched, and must be
well-formed. Every dead link is printed, and the exit code is 1 if there is one.
"""

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}


class Page(HTMLParser):
    """The links of a page, and the names that links may lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.names = list[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element links to and what it is called."""
        given = dict(attrs)
        self.names |= {str(given[key]) for key in ("id", "name") if given.get(key)}
        if tag in _LINKS and given.get(_LINKS[tag]) is not None:
            self.links.append(str(given[_LINKS[tag]]))


@cache
def read(path: Path) -> Page:
    """A page of the site."""
    return Page(path.read_text(encoding="utf-8"))


def dead(site: Path, live: str = "live") -> Iterator[str]:
    """A sentence for every link that leads nowhere; saved pages of the lab are programs, and name what follows # themselves."""
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue
        for link in read(path).links:
            reason = wrong(site, path, link, live)
            if reason:
                yield f"{path.relative_to(site)}: {link} {reason}"


def wrong(site: Path, path: Path, link: str, live: str) -> str | None:
    """Why a link of a page leads nowhere, or None."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https"):
        host = parts.hostname or ""
        return None if "." in host and " " not in link else "is not a well-formed address"
    if parts.scheme in ("data", "mailto", "javascript"):
        return None
    if parts.scheme or parts.netloc:
        return "is not a well-formed address"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(site.resolve()):
        return "leads out of the site"
    if not target.exists():
        return "leads to no file"
    named = target.suffix == ".html" and parts.fragment and live not in target.stem and live not in target.parent.name
    if named and unquote(parts.fragment) not in read(target).names:
        return f"names nothing on {target.name}"
    return None


def main() -> int:
    """Print every dead link of the site."""
    found = list(dead(Path(sys.argv[1])))
    print("\n".join(found) if found else "every link leads somewhere")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
