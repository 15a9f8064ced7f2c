"""The page of the lab in a browser: from the move of a slider to the redrawn curve, SGD in the page, and the size of the file.

These are no ratios: milliseconds, steps a second and kilobytes of the embedded problem, which two quiet cores are held to.
Without a Chromium nothing is measured.
"""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import dimfree as df
from clock import Bar

BARS = {
    "saved_page_kilobytes": Bar(True, 150),
    "saved_drag_thread_ms": Bar(True, 33),  # of the page's own thread, which sliders wait for, as the browser counts it
    "saved_drag_ms": Bar(True, 100),  # until the curve is drawn
    "saved_sgd_steps_a_second": Bar(False, 300_000),
    "served_drag_ms": Bar(True, 100),
}
_TOKEN = "a-token-of-benchmarks"
_SLIDER = '[data-path="training.learning_rate"] input[type="range"]'
_RESTED = "() => !lab.film.running() && lab.store.all().some(one => one.real)"


def ratios(smoke: bool) -> dict[str, float]:
    """Medians over the moves of a drag, of which the first ones, in which the browser compiles, are left out."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        return {}
    from playwright.sync_api import sync_playwright

    from dimfree.lab.saved import save_page

    problem = df.Problem().replace(**{"run.until": 5.0}) if smoke else df.Problem()
    moves, first = (2, 0) if smoke else (50, 20)
    with TemporaryDirectory() as folder, sync_playwright() as driver, _served(problem) as address:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        file = Path(folder) / "page.html"
        save_page(problem, file)
        saved = _opened(chromium, file.as_uri())
        speed = saved.evaluate("() => lab.store.all().find(one => one.real).steps_per_second")
        by_hand = _dragged(saved, first, moves)
        served = _dragged(_opened(chromium, address), first, moves)
        chromium.close()
        return {
            "saved_page_kilobytes": file.stat().st_size / 1000,
            "saved_drag_thread_ms": median(one["thread"] for one in by_hand),
            "saved_drag_ms": median(one["wall"] for one in by_hand),
            "saved_sgd_steps_a_second": speed,
            "served_drag_ms": median(one["wall"] for one in served),
        }


def _opened(chromium: Any, address: str) -> Any:
    """A tab in which the theories are solved and SGD has come to its end."""
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(300_000)
    page.goto(address)
    page.wait_for_function(_RESTED)
    return page


def _dragged(page: Any, first: int, moves: int) -> list[dict[str, float]]:
    """What the page measured of the last moves of a mouse that holds the thumb of a slider."""
    box = page.locator(_SLIDER).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    browser = page.context.new_cdp_session(page)
    browser.send("Performance.enable", {"timeDomain": "threadTicks"})
    busy = [_busy(browser)]
    for move in range(first + moves):
        before = page.evaluate("() => lab.measured.length")
        page.mouse.move(box["x"] + box["width"] * (0.4 + 0.2 * (move + 0.5) / (first + moves)), middle)
        page.wait_for_function("before => lab.measured.length > before", arg=before)
        busy.append(_busy(browser))
    page.mouse.up()
    threads = [1000 * (after - before) for before, after in pairwise(busy)]
    measured = page.evaluate("() => lab.measured")
    return [one | {"thread": thread} for one, thread in zip(measured[-moves:], threads[-moves:], strict=True)]


def _busy(browser: Any) -> float:
    """CPU seconds of the thread of the page so far: scripts, layout, painting, and looks of this benchmark."""
    metrics = {one["name"]: one["value"] for one in browser.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


@contextmanager
def _served(problem: df.Problem) -> Iterator[str]:
    """The address of a server of the problem."""
    import uvicorn

    from dimfree.lab import serve
    from dimfree.lab.guard import door
    from dimfree.lab.server import application

    listening = serve.listen(serve.LOOPBACK, 0)
    port = listening.getsockname()[1]
    server = uvicorn.Server(serve.config(application(problem, door(serve.LOOPBACK, port, _TOKEN))))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield f"http://{serve.LOOPBACK}:{port}/?token={_TOKEN}"
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
