"""The built site in Chromium: no other host is asked, nothing is written to the console, search finds what readers look for."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "index.html",
    "live-figure.html",
    "learn/02-committee.html",
    "theory/committee.html",
    "gallery/entries/index.html",
    "gallery/entries/three-clusters.html",
    "reference/api/verbs/compare.html",
    "reference/generated/schema.html",
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site: the one that DIMFREE_SITE names, or one that is built here."""
    folder = os.environ.get("DIMFREE_SITE", "")
    if not folder:
        if any(
            find_spec(name) is None for name in ("sphinx", "myst_parser", "furo", "sphinx_design", "sphinx_copybutton")
        ):
            pytest.skip("the site cannot be built without the extra docs (pip install '.[docs]')")
        folder = str(tmp_path_factory.mktemp("site"))
        subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), folder], check=True)
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *said):
        pass


def opened(tab, address):
    """A page that has as long to load as a machine of any load needs."""
    page = tab(address)
    page.set_default_timeout(300_000)
    return page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_and_asks_no_other_host(site, tab, name):
    page = opened(tab, f"{site}/{name}")
    page.wait_for_load_state("networkidle")
    assert page.title()


def test_mathematics_is_rendered_with_its_numbers(site, tab):
    page = opened(tab, f"{site}/theory/committee.html")
    page.wait_for_selector("mjx-container")
    page.wait_for_function("document.querySelectorAll('mjx-container').length > 100")
    assert page.locator("mjx-merror").count() == 0
    assert page.locator("mjx-labels, mjx-mlabeledtr").count() > 10


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "theory").glob("*.md")))
def test_no_formula_of_a_sheet_is_an_error(site, tab, name):
    page = opened(tab, f"{site}/theory/{name}.html")
    page.wait_for_load_state("networkidle")
    if "$" in (DOCS / "theory" / f"{name}.md").read_text(encoding="utf-8"):
        page.wait_for_selector("mjx-container")
        page.wait_for_function("MathJax.startup.promise.then(() => true)")
    wrong = page.locator("mjx-merror")
    assert not [one.get_attribute("data-mjx-error") for one in wrong.all()]


@pytest.mark.parametrize("words", ["exit time", "persistence", "logistic"])
def test_search_finds(site, tab, words):
    page = opened(tab, f"{site}/search.html?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results ul.search li a")
    assert page.locator("#search-results ul.search li").count() >= 3
