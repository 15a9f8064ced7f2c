"""Curves never differ by colour alone: where two colours are drawn alike, one gets other markers or dashes.

Code that draws a figure chooses colours, lines and markers; this file makes a finished figure readable without its
colours. A line keeps its dashes and gets a few small markers, markers get another shape, a straight guide gets other
dashes. A colour has the same shape throughout a figure, and legends follow.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H")
_DASHES = (  # lengths of dashes and gaps; the first four styles are matplotlib's
    (),
    (3.7, 1.6),
    (1.0, 1.65),
    (6.4, 1.6, 1.0, 1.6),
    (1.0, 5.0),
    (10.0, 3.0),
    (5.0, 1.0, 1.0, 1.0, 1.0, 1.0),
)
_ENDS_OF_BARS = ("_", "|")
_PLACES = 6  # how many markers are put on a line
_FEW = 2  # a line with at most this many points is a straight guide, which has no room for markers


class Stroke(NamedTuple):
    """A line without its colour; empty dashes mean a full line, None means no line."""

    dashes: tuple[float, ...] | None
    marker: str


class _Drawn(NamedTuple):
    colour: str
    stroke: Stroke
    guide: bool


def alike(figure: "Figure") -> set[Stroke]:
    """The strokes that are used by two colours in one panel."""
    return {drawn.stroke for panel in _panels(figure) for drawn in _clashes(panel)}


def tell_apart(figure: "Figure") -> None:
    """Give a colour other strokes, if another colour in its panel has the same ones."""
    panels = _panels(figure)
    owners: dict[Stroke, str] = {}
    shapes: dict[str, str] = {}
    for drawn in (_drawn(line) for panel in panels for line in panel):
        if owners.setdefault(drawn.stroke, drawn.colour) == drawn.colour and drawn.stroke.marker in _SHAPES:
            shapes.setdefault(drawn.colour, drawn.stroke.marker)
    curves = {(one.colour, one.stroke) for panel in panels for one in map(_drawn, panel) if not one.guide}
    changes: dict[tuple[str, Stroke], Stroke] = {}
    for drawn in (drawn for panel in panels for drawn in _clashes(panel)):
        key = drawn.colour, drawn.stroke
        if key not in changes:
            changes[key] = _another(drawn._replace(guide=key not in curves), owners, shapes)
    for line in (line for panel in panels for line in panel):
        drawn = _drawn(line)
        if (change := changes.get((drawn.colour, drawn.stroke))) is not None:
            _change(line, drawn.stroke, change)
            if drawn.stroke.marker != change.marker and drawn.stroke.marker == "None":
                _space_out(line)
    # A legend shows the marker of a line with error bars as a line of its own.
    halves = {(c, Stroke(None, before.marker)): Stroke(None, after.marker) for (c, before), after in changes.items()}
    for line in _in_legends(figure):
        drawn = _drawn(line)
        if (change := (halves | changes).get((drawn.colour, drawn.stroke))) is not None:
            _change(line, drawn.stroke, change)


def _another(drawn: _Drawn, owners: dict[Stroke, str], shapes: dict[str, str]) -> Stroke:
    """A stroke that no other colour has; if possible with the marker that its colour has elsewhere."""
    if drawn.guide:
        choices = [Stroke(dashes, drawn.stroke.marker) for dashes in _DASHES]
    else:
        unused = [shape for shape in _SHAPES if shape not in shapes.values()]
        wished = [shapes[drawn.colour]] if drawn.colour in shapes else []
        choices = [Stroke(drawn.stroke.dashes, shape) for shape in (*wished, *unused, *_SHAPES)]
    chosen = next((one for one in choices if owners.get(one, drawn.colour) == drawn.colour), choices[-1])
    owners[chosen] = drawn.colour
    if not drawn.guide:
        shapes.setdefault(drawn.colour, chosen.marker)
    return chosen


def _change(line: "Line2D", before: Stroke, after: Stroke) -> None:
    if before.dashes != after.dashes:
        line.set_linestyle((0, after.dashes) if after.dashes else "-")
        return
    line.set_marker(after.marker)
    if before.marker == "None":
        line.set(markersize=4, markerfacecolor=line.get_color(), markeredgewidth=0.0)


def _space_out(line: "Line2D") -> None:
    """A few markers along the line, in places that depend on their shape."""
    every = max(1, _points(line) // _PLACES)
    line.set_markevery((_SHAPES.index(str(line.get_marker())) * every // len(_SHAPES), every))


def _clashes(panel: "list[Line2D]") -> list[_Drawn]:
    """The lines that are drawn like an earlier one of another colour in their panel."""
    first: dict[Stroke, str] = {}
    found = [_drawn(line) for line in panel if _points(line)]
    return [drawn for drawn in found if first.setdefault(drawn.stroke, drawn.colour) != drawn.colour]


def _panels(figure: "Figure") -> "list[list[Line2D]]":
    return [[line for line in axes.lines if _counts(line)] for axes in figure.axes]


def _in_legends(figure: "Figure") -> "list[Line2D]":
    from matplotlib.lines import Line2D

    legends = [legend for axes in figure.axes if (legend := axes.get_legend())] + figure.legends
    found = [line for legend in legends for line in legend.findobj(Line2D)]
    return [line for line in found if isinstance(line, Line2D) and _counts(line)]


def _counts(line: "Line2D") -> bool:
    stroke = _drawn(line).stroke
    return line.get_visible() and stroke != Stroke(None, "None") and stroke.marker not in _ENDS_OF_BARS


def _drawn(line: "Line2D") -> _Drawn:
    from matplotlib.colors import to_hex

    pattern = line._unscaled_dash_pattern[1]  # type: ignore[attr-defined]  # of own dashes no public method tells
    dashes = None if line.get_linestyle() in ("None", "", " ") else tuple(pattern or ())
    marker = str(line.get_marker())
    marker = "None" if marker in ("", " ", "None", "none") else marker
    return _Drawn(to_hex(line.get_color()), Stroke(dashes, marker), marker == "None" and _points(line) <= _FEW)


def _points(line: "Line2D") -> int:
    return int(np.size(np.asarray(line.get_xdata())))
