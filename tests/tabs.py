"""A real browser for tests: Chromium as the system has it, and tabs that must stay quiet."""

import shutil
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """Chromium; the test is skipped only where no browser is installed."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium is installed (apt-get install chromium), and this test needs a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser) -> Iterator[Callable]:
    """Opens tabs. At the end none may have written an error to the console, or asked any host but the one of its page."""
    opened, wrong = [], []

    def open_tab(address: str, **options):
        """A tab in a profile of its own: another one shares no cookie with it."""
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}, **options})
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        host = urlsplit(address)[:2]
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda failure: wrong.append(str(failure)))

        def asked(request) -> None:
            parts = urlsplit(request.url)
            if parts.scheme not in ("data", "blob") and parts[:2] != host:
                wrong.append(f"asked {request.url}")

        def connected(socket) -> None:
            if urlsplit(socket.url)[1] != host[1]:
                wrong.append(f"connected to {socket.url}")

        page.on("request", asked)
        page.on("websocket", connected)
        page.goto(address)
        return page

    yield open_tab
    for context in opened:
        context.close()
    assert not wrong
