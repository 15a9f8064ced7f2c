"""A problem lies in the phase diagram where its regime says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from dimfree.errors import ProblemError
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Problem, Run
from dimfree.questions.regimes.answer import regime
from dimfree.questions.regimes.formulas import classify, classify_exponents, exponents
from dimfree.questions.regimes.plane import REGIONS


def problem(d: int, p: int, gamma: float) -> Problem:
    one_step = gamma / (p * d)
    run = Run(until=max(1.0, one_step))
    return Problem(dimension=d, network=TwoLayer(width=p), training=OnePass(learning_rate=gamma), run=run)


@given(st.integers(2, 10**6), st.integers(1, 10**5), st.floats(1e-6, 1e6))
def test_the_exponents_add_up_to_the_one_of_the_regime(d, p, gamma):
    kappa, delta = exponents(d, p, gamma, 1)
    assert kappa + delta == pytest.approx(classify(d, p, gamma).s_eff, abs=1e-9)
    assert d**kappa == pytest.approx(p)
    assert d ** (-delta) == pytest.approx(gamma)


@pytest.mark.parametrize(
    ("kappa", "delta", "label"),
    [
        (0.0, 0.5, "gradient_flow"),
        (0.5, -0.5, "saad_solla"),
        (0.0, -0.25, "noise_dominated"),
        (0.25, -1.0, "no_ode"),
    ],
)
def test_a_point_of_every_region_is_drawn(kappa, delta, label, tmp_path):
    d = 10_000
    p, gamma = round(d**kappa), d ** (-delta)
    point = problem(d, p, gamma)
    assert classify_exponents(*(round(x, 6) for x in exponents(d, p, gamma, 1))) == label
    assert label in REGIONS
    path = tmp_path / "regimes.png"
    regime(point).plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [one.name for one in tmp_path.iterdir()] == ["regimes.png"]


def test_the_point_is_where_it_is_said_to_be(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *args, **kwargs: drawn.append(self))
    regime(problem(1000, 10, 100.0)).plot(tmp_path / "regimes.png")
    (axes,) = drawn[0].axes
    (star,) = [line for line in axes.lines if line.get_marker() == "*"]
    assert star.get_xydata()[0] == pytest.approx([1 / 3, -2 / 3])
    assert "bad learning" in axes.texts[0].get_text()


@pytest.mark.parametrize("batch", [1, 30, 3000])
def test_words_instead_of_letters_and_borders_of_the_batch(batch):
    """A rate just below the largest that has a limit lies just above the border of the region without one."""
    d = 1000
    largest = 4 * min((d * batch) ** 0.5, d)
    point = Problem(
        dimension=d, network=TwoLayer(width=4), training=OnePass(learning_rate=0.999 * largest, batch=batch)
    )
    figure = regime(point).plot()
    (axes,) = figure.axes
    (star,) = [line for line in axes.lines if line.get_marker() == "*"]
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert sum(star.get_xydata()[0]) == pytest.approx(sum(dashed.get_xydata()[0]), abs=1e-3)
    assert sum(star.get_xydata()[0]) > sum(dashed.get_xydata()[0])
    written = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "width = dimension" in written
    assert not set(written) & set("αβγδκΨψΔ\\")
    assert ("batch" in written) == (batch > 1)


def test_one_dimension_has_no_exponents():
    with pytest.raises(ProblemError, match="dimension = 1 was given"):
        exponents(1, 4, 1.0, 1)
