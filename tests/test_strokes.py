"""Figures can be read without their colours: whatever is drawn, two colours of a panel differ in a marker or in dashes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from dimfree.drawing import drawing
from dimfree.strokes import alike, tell_apart

X = np.linspace(1, 2, 40)
COLOURS = ("#d95f02", "#1b9e77", "#7570b3", "#e7298a")


def in_hues(figure):
    """Two panels whose curves, markers with error bars and guides differ in colour only."""
    for axes in figure.subplots(1, 2):
        for n, colour in enumerate(COLOURS):
            axes.plot(X, n + X, color=colour, label=f"theory {n}")
            axes.plot(X, n + X**2, "--", color=colour)
            axes.errorbar(X[::8], n + X[::8], 0.1, fmt="o", color=colour, capsize=2, label=f"runs {n}")
            axes.errorbar(X[::8], n - X[::8], 0.1, fmt="o-", color=colour, label=f"both {n}")
            axes.axhline(n, ls=":", color=colour)
        axes.legend()


@pytest.fixture
def figure():
    drawn = Figure()
    in_hues(drawn)
    return drawn


def test_no_two_colours_are_drawn_alike(figure):
    assert len(alike(figure)) == 5
    tell_apart(figure)
    assert alike(figure) == set()
    assert alike(drawing(in_hues)) == set()


def test_dashes_say_what_they_said_and_a_colour_has_one_shape(figure):
    tell_apart(figure)
    axes = figure.axes[0]
    for colour in COLOURS:
        shapes = {line.get_marker() for line in axes.lines if line.get_color() == colour} - {"None", "_", "|"}
        assert len(shapes) == 1
    curves = [line for line in axes.lines if len(line.get_xdata()) == len(X)]
    assert [line.get_linestyle() for line in curves] == ["-", "--"] * len(COLOURS)


def test_guides_have_dashes_that_can_be_told_apart(figure):
    tell_apart(figure)
    guides = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert len({tuple(np.round(line._unscaled_dash_pattern[1] or ())) for line in guides}) == len(COLOURS)


def test_a_legend_shows_what_is_drawn(figure):
    tell_apart(figure)
    for axes in figure.axes:
        shown = {(line.get_color(), line.get_marker()) for line in axes.get_legend().get_lines()}
        for line in axes.lines:
            if line.get_label().startswith("theory"):
                assert (line.get_color(), line.get_marker()) in shown


def test_what_differs_already_stays_as_it_is():
    figure = Figure()
    axes = figure.subplots()
    lines = [axes.plot(X, X, style, color=c)[0] for style, c in zip(("-", "--", "o", "s-"), COLOURS, strict=True)]
    lines += axes.plot(X, 2 * X, "-", color=COLOURS[0])  # the same colour may come twice
    before = [(line.get_linestyle(), line.get_marker(), line.get_markevery()) for line in lines]
    tell_apart(figure)
    assert [(line.get_linestyle(), line.get_marker(), line.get_markevery()) for line in lines] == before


def test_a_guide_and_a_curve_of_one_colour_and_dash_stay_alike():
    figure = Figure()
    axes = figure.subplots()
    for colour in COLOURS[:2]:
        axes.axhline(1.0, color=colour)
        axes.plot(X, X, color=colour)
    tell_apart(figure)
    assert alike(figure) == set()
    assert [line.get_marker() for line in axes.lines] == ["None", "None", "o", "o"]
