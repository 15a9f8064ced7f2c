"""Figures that move: a scene is drawn once and moved from one saved time to the next, and every frame goes into a file.

Nothing is interpolated: a frame shows numbers of the results at one of their own times. GIF and WebP are written by Pillow,
which matplotlib needs anyway; MP4 is written by the program ffmpeg.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimfree.drawing import Values
from dimfree.errors import OutputError, ProblemError
from dimfree.files import replacing
from dimfree.pages import Page
from dimfree.progress import ShareWatcher, unseen
from dimfree.strokes import tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL.Image import Image

FILM = Page(dpi=80)
FRAMES = 100
_MOST_FRAMES = 600
_MOST_PIXELS = 2e8  # in all frames together: drawing them takes about a minute, and writing the GIF 200 MB
_RATE = 15  # frames a second
_LAST = 2.0  # seconds for which the last frame is shown
_COLOURS = 255  # that all frames of a GIF share; the 256th marks pixels that do not change
_RARE = 3  # a colour of fewer pixels than this is only a shade along the edge of a line
_VEIL = 0.75  # opacity of the veil over the part of a curve that is still to come

Move = Callable[[float], None]  # called with a time, it shows the scene at that time


class Scene(NamedTuple):
    """A figure that can move: the function that moves it, and the first time that is worth a frame."""

    move: Move
    since: float = 0.0


class Curve(NamedTuple):
    """A curve that a point runs along."""

    colour: str
    time: Values
    values: Values


def index_at(times: Values, time: float) -> int:
    """The index of the last saved time that is not later than `time`."""
    return max(0, int(np.searchsorted(times, time, side="right")) - 1)


def running_points(axes: "Axes", curves: Sequence[Curve]) -> Move:
    """A point on every curve at the time that is shown, which the title names; what comes later is faded."""
    left, right = axes.get_xlim()
    veil = axes.axvspan(left, right, color=axes.get_facecolor(), alpha=_VEIL, lw=0, zorder=6)
    axes.set_xlim(left, right)
    points = [axes.plot([], [], "o", color=one.colour, ms=8, mec="white", mew=1, zorder=8)[0] for one in curves]

    def move(time: float) -> None:
        axes.set_title(f"$t$ = {time:.3g}")
        veil.set_x(max(time, left))
        veil.set_width(max(0.0, right - max(time, left)))
        for point, curve in zip(points, curves, strict=True):
            now = index_at(curve.time, time)
            point.set_data(curve.time[now : now + 1], curve.values[now : now + 1])

    return move


def animate(
    draw: "Callable[[Figure], Scene]",
    times: Values,
    path: str | Path,
    *,
    frames: int = FRAMES,
    page: Page = FILM,
    watch: ShareWatcher = unseen,
) -> Path:
    """Write a scene to a file, with at most `frames` frames, each at a saved time; a failed write leaves no file."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    write = _writer(path)
    if not 2 <= frames <= _MOST_FRAMES:
        raise ProblemError(f"an animation of {frames} frames cannot be written; give 2 to {_MOST_FRAMES}.")
    if page.panels or page.background == "transparent":
        raise ProblemError(
            "an animation cannot be split into one file per panel, nor be transparent; leave these two options out."
        )
    with matplotlib.rc_context(page.checked().look()):
        figure = Figure(layout="constrained", dpi=page.dpi)
        canvas = FigureCanvasAgg(figure)
        scene = draw(figure)
        tell_apart(figure)
        page.lay_out(figure)
        shown = times[times >= scene.since]
        shown = shown[np.unique(np.linspace(0, len(shown) - 1, frames).round().astype(int))]
        _refuse_too_large(figure, len(shown), page.dpi)
        scene.move(shown[-1])
        _pixels(canvas)
        _freeze(figure)
        with replacing(path) as temporary:
            write(temporary, canvas, scene.move, shown, watch)
    return path


def _freeze(figure: "Figure") -> None:
    """Fix panels and legends where they are at the last time; otherwise legends would move to avoid the curves."""
    figure.set_layout_engine("none")
    for axes in figure.axes:
        if (legend := axes.get_legend()) is not None:
            box = legend.get_window_extent().transformed(axes.transAxes.inverted())
            legend.set_loc((box.x0, box.y0))
            legend.set(zorder=9)  # drawn above the veil


def _refuse_too_large(figure: "Figure", frames: int, dpi: int) -> None:
    width, height = (round(dpi * side) for side in figure.get_size_inches())
    if frames * width * height > _MOST_PIXELS:
        raise ProblemError(
            f"{frames} frames of {width} x {height} pixels are {frames * width * height:.2g} pixels, and an animation may have "
            f"{_MOST_PIXELS:.0e}; give fewer frames, a smaller size or fewer dots per inch."
        )


_Writer = Callable[[Path, "FigureCanvasAgg", Move, Values, ShareWatcher], None]


def _writer(path: Path) -> _Writer:
    writers: dict[str, _Writer] = {".gif": _write_gif, ".webp": _write_webp, ".mp4": _write_mp4}
    ending = path.suffix.lower()
    if ending not in writers:
        raise OutputError(
            f"an animation cannot be written to {str(path)!r}, whose ending is not one of: gif, mp4, webp."
        )
    if ending == ".mp4":
        from matplotlib.animation import FFMpegWriter

        if not FFMpegWriter.isAvailable():
            raise OutputError(
                f"{str(path)!r} needs the program ffmpeg, which was not found; install it, or write a .gif or a .webp."
            )
    return writers[ending]


def _frames(canvas: "FigureCanvasAgg", move: Move, times: Values, watch: ShareWatcher) -> "Iterator[Image]":
    for number, time in enumerate(times, 1):
        yield _frame(canvas, move, time)
        watch(number / len(times))


def _frame(canvas: "FigureCanvasAgg", move: Move, time: float) -> "Image":
    from PIL import Image

    move(float(time))
    return Image.fromarray(_pixels(canvas))


def _pixels(canvas: "FigureCanvasAgg") -> "np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]":
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def _durations(frames: int) -> list[int]:
    """How long every frame is shown, in milliseconds."""
    return [round(1000 / _RATE)] * (frames - 1) + [round(1000 * _LAST)]


def _write_gif(path: Path, canvas: "FigureCanvasAgg", move: Move, times: Values, watch: ShareWatcher) -> None:
    from PIL import Image

    samples = np.concatenate([np.asarray(_frame(canvas, move, times[i])) for i in (0, len(times) // 2, -1)])
    # every colour counts once, however many pixels have it, so that a thin line keeps its own
    colours, counts = np.unique(samples.reshape(-1, 3), axis=0, return_counts=True)
    kept = colours[counts >= _RARE]
    palette = Image.fromarray(kept[None].copy()).quantize(_COLOURS, dither=Image.Dither.NONE)
    first, *rest = (
        frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in _frames(canvas, move, times, watch)
    )
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=_durations(len(times)), loop=0)


def _write_webp(path: Path, canvas: "FigureCanvasAgg", move: Move, times: Values, watch: ShareWatcher) -> None:
    frames = _frames(canvas, move, times, watch)
    first = next(frames)
    first.save(path, format="WEBP", save_all=True, append_images=frames, duration=_durations(len(times)), lossless=True)


def _write_mp4(path: Path, canvas: "FigureCanvasAgg", move: Move, times: Values, watch: ShareWatcher) -> None:
    from matplotlib.animation import FFMpegWriter

    writer = FFMpegWriter(fps=_RATE)
    try:
        with writer.saving(canvas.figure, str(path), canvas.figure.dpi):
            for number, time in enumerate([*times, *[times[-1]] * round(_LAST * _RATE)], 1):
                move(float(time))
                writer.grab_frame()
                watch(min(1.0, number / len(times)))
    except CalledProcessError as failure:
        raise OutputError(f"ffmpeg could not write {str(path)!r} and ended with {failure.returncode}.") from None
