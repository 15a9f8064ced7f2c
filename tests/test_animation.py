"""Animations: frames at saved times, what the panels show, bounds, and files that are complete or not there."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.animation import FFMpegWriter
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner

import dimfree as df
from dimfree.animation import Curve, running_points
from dimfree.cli.commands import app
from dimfree.comparison.comparison import Comparison
from dimfree.errors import OutputError, ProblemError
from dimfree.onepass.scene import draw_scene
from dimfree.pages import Page

TIME = np.array([0.0, 0.1, 1.0, 10.0, 100.0])
RISK = np.array([1.0, 0.9, 0.5, 0.3, 0.01])
SMALL = Page(size=(6.0, 2.4), dpi=30)


def account(real: bool, teachers: int = 2, sign: float = 1.0) -> xr.Dataset:
    """Units of width 3 that walk to the teachers; numbers are made up, so that nothing has to run."""
    target = np.eye(3, teachers) + np.eye(3, teachers, -teachers)
    overlaps = sign * (1 - RISK)[:, None, None, None] * np.broadcast_to(target, (2, 3, teachers))
    variables = {
        "risk": (("time", "replica"), np.stack([RISK, RISK], 1), {"long_name": "population risk"}),
        "M": (("time", "replica", "unit", "teacher"), overlaps),
        "Q": (("time", "replica", "unit", "unit_"), np.broadcast_to(np.eye(3), (5, 2, 3, 3))),
    }
    time = ("time", TIME, {"units": "steps"})
    return xr.Dataset(variables, {"time": time}, {"real": real, "scatters": True, "title": "x", "warnings": ""})


PROBLEM = df.Problem(dimension=20, data=df.Teacher(units=2), network=df.TwoLayer(width=3))
ACCOUNTS = {"sgd": account(True), "ode": account(False, sign=0.5)}


def frames_of(path):
    with Image.open(path) as film:
        return [np.asarray(film.convert("RGB")) for number in range(film.n_frames) if film.seek(number) is None]


@pytest.fixture
def comparison():
    return Comparison(PROBLEM, xr.DataTree.from_dict(ACCOUNTS), ())


def test_points_are_at_saved_times_and_what_comes_later_is_veiled():
    axes = Figure().subplots()
    axes.plot(TIME, RISK)
    move = running_points(axes, [Curve("red", TIME, RISK)])
    for time, value in ((1.0, 0.5), (9.9, 0.5), (100.0, 0.01)):
        move(time)
        assert axes.lines[-1].get_ydata() == [value]
        assert axes.patches[0].get_x() == time
    assert axes.get_title() == "$t$ = 100"


def test_the_scene_of_two_teachers_shows_risk_overlaps_and_units():
    figure = Figure()
    scene = draw_scene(figure, PROBLEM, ACCOUNTS)
    scene.move(10.0)
    risk, overlaps, units = figure.axes[:3]
    assert risk.get_title() == "$t$ = 10"
    np.testing.assert_array_equal(overlaps.images[0].get_array(), ACCOUNTS["sgd"]["M"].values[3, 0])
    dots = [line.get_xydata()[0] for line in units.lines if line.get_marker() != "None" and len(line.get_xdata()) == 1]
    teachers, theory, real = np.array(dots[:2]), np.array(dots[2:5]), np.array(dots[5:])
    np.testing.assert_allclose(teachers, [[1, 0], [0, 1]])
    np.testing.assert_allclose(theory, ACCOUNTS["ode"]["M"].values[3, 0])
    np.testing.assert_allclose(real, ACCOUNTS["sgd"]["M"].values[3, 0])
    assert 0 < scene.since < 1.0, "before the first event a logarithmic axis shows nothing"


def test_units_of_one_teacher_lie_along_and_across_it():
    figure = Figure()
    problem = PROBLEM.replace(**{"data.units": 1})
    draw_scene(figure, problem, {"sgd": account(True, teachers=1)}).move(100.0)
    dot = figure.axes[2].lines[2].get_xydata()[0]
    np.testing.assert_allclose(dot, [0.99, np.sqrt(1 - 0.99**2)])
    assert figure.axes[2].get_ylim()[0] > -0.5, "nothing lies below"


def test_directions_of_clusters_are_no_teachers():
    figure = Figure()
    draw_scene(figure, df.Problem(data=df.Clusters()), {"sgd": account(True)}).move(1.0)
    assert [text.get_text() for text in figure.axes[2].get_legend().get_texts()] == ["directions"]


@pytest.mark.parametrize("data", [{"kind": "two-clusters"}, {"kind": "drawn-points"}])
def test_a_setting_without_a_scene_shows_its_risk(data, tmp_path):
    accounts = {"real": ACCOUNTS["sgd"].drop_vars(["M", "Q"])}
    Comparison(df.Problem(data=data), xr.DataTree.from_dict(accounts), ()).animate(
        tmp_path / "a.gif", frames=2, page=SMALL
    )
    assert len(frames_of(tmp_path / "a.gif")) == 2


@pytest.mark.parametrize("name", ["a.gif", "a.webp"])
def test_a_file_has_a_frame_for_every_time_that_is_shown(comparison, tmp_path, name):
    shares = []
    done = comparison.animate(tmp_path / name, frames=3, page=SMALL._replace(background="dark"), watch=shares.append)
    frames = frames_of(done)
    assert [frame.shape for frame in frames] == [(72, 180, 3)] * 3
    assert shares == pytest.approx([1 / 3, 2 / 3, 1])
    assert np.any(frames[0] != frames[1])
    assert np.any(frames[1] != frames[2])
    assert frames[0][0, 0].max() < 60, "the background is dark"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_failure_leaves_the_old_file(comparison, tmp_path):
    (tmp_path / "a.gif").write_text("old")

    def fails(done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        comparison.animate(tmp_path / "a.gif", frames=2, page=SMALL, watch=fails)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("a.gif", {"frames": 1}, "an animation of 1 frames cannot be written; give 2 to 600"),
        ("a.avi", {}, "whose ending is not one of: gif, mp4, webp"),
        ("a.mp4", {}, "needs the program ffmpeg, which was not found; install it, or write a .gif or a .webp"),
        (
            "a.gif",
            {"page": Page(background="transparent")},
            "cannot be split into one file per panel, nor be transparent",
        ),
        (
            "a.gif",
            {"page": Page(size=(50.0, 50.0), dpi=400)},
            "frames of 20000 x 20000 pixels are .* give fewer frames",
        ),
        ("a.gif", {"observable": "rsik"}, "no account has an observable 'rsik'; did you mean 'risk'"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_drawn(
    comparison, tmp_path, monkeypatch, name, options, sentence
):
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises((OutputError, ProblemError), match=sentence):
        comparison.animate(tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="needs the program ffmpeg")
def test_ffmpeg_writes_a_film(comparison, tmp_path):
    assert comparison.animate(tmp_path / "a.mp4", frames=2, page=SMALL).stat().st_size > 1000


@pytest.mark.slow
def test_the_command_writes_an_animation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    df.compare(df.Problem(dimension=20, run=df.Run(until=0.5, points=3)), only="gradient-flow").save("a.nc")
    done = CliRunner().invoke(
        app, ["plot", "a.nc", "--animate", "a.gif", "--frames", "2", "--size", "6", "2", "--dpi", "30"]
    )
    assert done.exit_code == 0, done.output
    assert done.stdout == "a.gif\n"
    assert len(frames_of("a.gif")) == 2
    wrong = CliRunner().invoke(app, ["plot", ".", "--animate", "a.gif"])
    assert wrong.exit_code == 2
    assert "is the store of a sweep, which cannot be animated; give a results file" in " ".join(wrong.output.split())
