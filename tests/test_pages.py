"""Figures for a paper or a talk: type, size, dots, and one file for every panel."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.image import imread
from matplotlib.text import Text
from typer.testing import CliRunner

import dimfree as df
from dimfree.backgrounds import contrast
from dimfree.cli.commands import app
from dimfree.drawing import drawing
from dimfree.errors import ProblemError
from dimfree.pages import Page, panels

X = np.linspace(0, 1, 20)


def three(figure):
    """Two panels that share labels and a legend, and a map with a colour bar."""
    figure.set_size_inches(9, 3)
    left, middle, right = figure.subplots(1, 3, sharey=True)
    for axes in (left, middle):
        axes.plot(X, X, label="one")
        axes.plot(X, X**2, label="two")
    left.set(ylabel="risk", title="left")
    left.legend(fontsize=6)
    mesh = right.pcolormesh(np.outer(X, X))
    figure.colorbar(mesh, ax=right, label="height")


def smallest(figure):
    figure.canvas.draw()
    return min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text())


def test_type_is_larger_in_a_talk():
    paper, talk = drawing(three), drawing(three, page=Page("talk"))
    assert smallest(paper) == 6
    assert smallest(talk) >= 15
    assert talk.get_size_inches() == pytest.approx(1.5 * paper.get_size_inches())
    assert talk.axes[0].lines[0].get_linewidth() > paper.axes[0].lines[0].get_linewidth()


def test_size_and_dots_are_those_that_were_asked_for(tmp_path):
    drawing(three, tmp_path / "a.png", Page(size=(5.0, 2.0), dpi=50))
    assert imread(tmp_path / "a.png").shape[:2] == (100, 250)


def test_every_panel_has_a_file_with_what_it_shared(tmp_path):
    page = Page(panels=True, dpi=40)
    whole = drawing(three, tmp_path / "a.png", page)
    assert len(panels(whole)) == 3
    names = [path.name for path in page.files(tmp_path / "a.png", whole)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names == ["a-1.png", "a-2.png", "a-3.png"]
    assert {imread(tmp_path / name).shape for name in names} == {(176, 256, 4)}


def test_a_panel_alone_keeps_labels_legend_and_colour_bar(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, path, dpi: (shown.append(self), path.touch()))
    drawing(three, tmp_path / "a.png", Page(panels=True))
    assert [len(figure.axes) for figure in shown] == [1, 1, 2]
    middle = shown[1].axes[0]
    assert middle.get_ylabel() == "risk"
    assert [text.get_text() for text in middle.get_legend().get_texts()] == ["one", "two"]
    assert shown[2].axes[1].get_ylabel() == "height"


def test_a_dark_figure_is_readable(tmp_path):
    def draw(figure):
        axes = figure.subplots()
        axes.plot(X, X, "o", color="black", mfc="white", label="real")
        axes.plot(X, X**2, color="#7570b3")
        axes.fill_between(X, X, X**2, color="#1b1b6b", alpha=0.5)
        axes.axhline(0.5, color="grey")
        axes.text(0, 0, "a", color="#000080")
        axes.legend()

    figure = drawing(draw, tmp_path / "a.png", Page(background="dark", dpi=40))
    axes = figure.axes[0]
    colours = [to_rgba(line.get_color()) for line in (*axes.lines, *axes.get_legend().get_lines())]
    colours += [
        to_rgba(axes.texts[0].get_color()),
        to_rgba(axes.xaxis.label.get_color()),
        tuple(axes.collections[0].get_facecolor()[0].tolist()),
    ]
    assert min(map(contrast, colours)) >= 4.5
    assert contrast(to_rgba(axes.lines[0].get_markerfacecolor())) == 1, "a hollow marker shows the background"
    assert contrast(to_rgba("#7570b3")) < 4.5, "this colour had to change"
    assert axes.collections[0].get_facecolor()[0][3] == 0.5
    assert contrast(tuple(imread(tmp_path / "a.png")[0, 0].tolist())) == pytest.approx(1, abs=0.02)


def test_a_slide_shows_through_a_transparent_figure(tmp_path):
    for background, alpha in (("transparent", 0), ("white", 1)):
        drawing(three, tmp_path / "a.png", Page(background=background, dpi=40))
        assert imread(tmp_path / "a.png")[0, 0, 3] == alpha


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (Page("tlak"), "the style 'tlak' is not known; did you mean 'talk'"),
        (Page(background="drak"), "the background 'drak' is not known; did you mean 'dark'"),
        (Page(size=(0.0, 3.0)), "a figure of 0 x 3 inches cannot be drawn; give sides of 0.5 to 100 inches"),
        (Page(dpi=0), "0 dots per inch cannot be drawn; give 20 to 2400"),
    ],
)
def test_what_cannot_be_drawn_is_said(page, sentence):
    with pytest.raises(ProblemError, match=sentence):
        drawing(three, page=page)


@pytest.mark.slow
def test_the_command_draws_for_a_talk(tmp_path):
    problem = df.Problem(dimension=20, run=df.Run(until=0.5, points=3))
    df.compare(problem, only="gradient-flow").save(tmp_path / "a.nc")
    options = ["--style", "talk", "--size", "5", "3", "--dpi", "40", "--panels"]
    done = CliRunner().invoke(app, ["plot", str(tmp_path / "a.nc"), *options])
    assert done.exit_code == 0, done.output
    written = sorted(str(path) for path in tmp_path.glob("*.png"))
    assert done.stdout.split() == written
    assert imread(written[0]).shape[:2] == (120, 200)
    wrong = CliRunner().invoke(app, ["plot", str(tmp_path / "a.nc"), "--style", "poster"])
    assert wrong.exit_code == 2
    assert "the style 'poster' is not known" in wrong.output
