"""The page can be read by colour-blind people, in light and in dark: its colours as each of them sees them."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

# What is left of a colour (linear red, green, blue) without one kind of cones: G. M. Machado, M. M. Oliveira and
# L. A. F. Fernandes, IEEE Transactions on Visualization and Computer Graphics 15, 1291 (2009), severity 1.
VISIONS = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
LINES = [f"c{number}" for number in range(1, 8)]


def source(name: str) -> str:
    return files("dimfree.lab").joinpath("page", name).read_text(encoding="utf-8")


def palettes() -> dict[str, dict[str, str]]:
    """The colours by name, light and dark."""
    light, dark = re.findall(r":root \{(.*?)\}", source("style.css"), flags=re.DOTALL)[:2]
    return {
        name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", text)) for name, text in (("light", light), ("dark", dark))
    }


def linear(colour: str) -> np.ndarray:
    share = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def perceived(colour: str, vision: str) -> np.ndarray:
    """In CIELAB, where a distance of 2 or so can just be seen side by side."""
    xyz = TO_XYZ @ np.clip(np.array(VISIONS[vision]) @ linear(colour), 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    dim, bright = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_lines_differ_for_everybody_and_from_the_ground(ground):
    colours = palettes()[ground]
    for vision in VISIONS:
        seen = {name: perceived(colours[name], vision) for name in LINES}
        nearest = min((np.linalg.norm(seen[one] - seen[other]), one, other) for one, other in combinations(LINES, 2))
        assert nearest[0] > 10, (vision, nearest)
    for name in (*LINES, "sgd", "accent", "guess"):
        assert contrast(colours[name], colours["card"]) >= 3, name
    for name in ("ink", "dim", "good"):
        assert contrast(colours[name], colours["card"]) >= 4.5, name
    assert contrast(colours["warn"], colours["warn-bg"]) >= 4.5
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


def test_curves_differ_in_their_strokes_too():
    dashes = re.findall(r'colour: "--c\d", dash: (null|\[[\d, ]+\])', source("curves.js"))
    assert len(dashes) == len(set(dashes)) == len(LINES)
