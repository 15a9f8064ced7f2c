"""What a user of the page does and sees, in the words of the tests."""

import json
import re


def spoken(page) -> str:
    """The risk plot as a screen reader says it: every curve with its first and last value."""
    return page.locator("#risk-plot canvas").get_attribute("aria-label")


def last_risks(page) -> dict[str, float]:
    """The last risk of every curve that is shown."""
    found = re.findall(r"([\w -]+): [^ ]+ at first, ([^ ]+) at t = ", spoken(page))
    return {name.strip(): float(value) for name, value in found}


def wait_for_curve(page, name: str) -> None:
    page.wait_for_function("name => lab.store.all().some(one => one.name === name)", arg=name)
    settle(page)


def settle(page) -> None:
    """Two frames: what has arrived is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page, place: str = "#risk-plot") -> str:
    return page.evaluate("place => document.querySelector(place + ' canvas').toDataURL()", place)


def slider(page, path: str):
    return page.locator(f'[data-path="{path}"] input[type="range"]')


def drag(page, path: str, share: float, steps: int = 8) -> None:
    """Take the thumb of a slider with the mouse and put it down at a share of the track."""
    box = slider(page, path).bounding_box()
    at = float(slider(page, path).input_value()) / float(slider(page, path).get_attribute("max"))
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8 + at * (box["width"] - 16), middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), middle, steps=steps)
    page.mouse.up()


def problem_of(page) -> dict:
    return json.loads(page.evaluate("() => JSON.stringify(lab.problem())"))
