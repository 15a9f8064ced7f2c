"""The background of a figure: white, transparent, or dark for a slide, with colours that stay readable on it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BACKGROUNDS = ("white", "transparent", "dark")
_DARK, _LIGHT = "#14171c", "#f2f2f2"
_CONTRAST = 4.5  # the contrast of text that the accessibility guidelines (WCAG 2) ask for
_STEP = 0.1  # share of white that is added, again and again, until a colour stands out

Colour = tuple[float, float, float, float]


def dark_look() -> dict[str, Any]:
    """Matplotlib's settings of a dark figure, for all that is drawn without a colour of its own."""
    light = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")
    return {"figure.facecolor": _DARK, "axes.facecolor": _DARK} | dict.fromkeys(light, _LIGHT)


def lighten(figure: "Figure") -> None:
    """Make every colour stand out on the dark background: black becomes white, and dark colours become lighter."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    legends = [legend for axes in figure.axes if (legend := axes.get_legend())] + figure.legends
    drawn = [one for axes in figure.axes for one in (*axes.lines, *axes.collections, *axes.patches, *axes.texts)]
    for artist in (*drawn, *(one for legend in legends for one in legend.findobj())):
        if isinstance(artist, Line2D):
            face, edge = artist.get_markerfacecolor(), artist.get_markeredgecolor()
            artist.set_color(readable(artist.get_color()))
            artist.set(markerfacecolor=hollow(face), markeredgecolor=readable(edge))
        elif isinstance(artist, Collection) and artist.get_array() is None:
            artist.set_facecolor([readable(one) for one in artist.get_facecolor()])
            artist.set_edgecolor([readable(one) for one in artist.get_edgecolor()])
        elif isinstance(artist, Patch):
            artist.set_facecolor(readable(artist.get_facecolor()))
        elif isinstance(artist, Text):
            artist.set_color(readable(artist.get_color()))


def clear(figure: "Figure") -> None:
    """Leave the background out, so that a slide shows through."""
    figure.patch.set_alpha(0.0)
    for axes in figure.axes:
        axes.patch.set_alpha(0.0)


def readable(colour: Any) -> Any:
    """The colour itself if it stands out on the dark background or is that background; else a lighter one of the same hue."""
    from matplotlib.colors import to_rgba

    if isinstance(colour, str) and colour in ("none", "auto"):
        return colour
    found: Colour = to_rgba(colour)
    *parts, alpha = found
    if found[:3] == to_rgba(_DARK)[:3]:
        return found
    if max(parts) - min(parts) < 0.05:  # a grey
        parts = parts if contrast(found) >= _CONTRAST else [1 - part for part in parts]
    while contrast((parts[0], parts[1], parts[2], alpha)) < _CONTRAST:
        parts = [part + _STEP * (1 - part) for part in parts]
    return (*parts, alpha)


def hollow(face: Any) -> Any:
    """The fill of a marker, where white becomes the background."""
    from matplotlib.colors import same_color

    return _DARK if same_color(face, "white") else readable(face)


def contrast(colour: Colour) -> float:
    """The contrast of a colour with the dark background, from 1 to 21, as WCAG 2 defines it."""
    from matplotlib.colors import to_rgba

    high, low = sorted((_luminance(colour), _luminance(to_rgba(_DARK))), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
