"""The live pages of the course: docs/learn/live/NAME.toml becomes learn/live/NAME.html of the built site.

    python docs/live_pages.py FOLDER    # writes every page into FOLDER

Such a page holds the theories of its problem and SGD as JavaScript and makes no request. A page that is newer than its problem
is kept. As a Sphinx extension this module writes the pages when the site is built.
"""

import sys
from pathlib import Path
from typing import Any

PROBLEMS = Path(__file__).parent / "learn" / "live"


def write(folder: Path) -> None:
    """Write the page of every problem."""
    import dimfree as df
    from dimfree.lab.saved import save_page

    folder.mkdir(parents=True, exist_ok=True)
    for problem in sorted(PROBLEMS.glob("*.toml")):
        page = folder / f"{problem.stem}.html"
        if not page.exists() or page.stat().st_mtime < problem.stat().st_mtime:
            save_page(df.load(problem), page)


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("build-finished", lambda app, failed: failed or write(Path(app.outdir) / "learn" / "live"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write(Path(sys.argv[1]))
