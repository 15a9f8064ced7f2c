"""What is told of a spectrum: in results, in the figure, and before anything runs."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import dimfree as df
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.notes import remark
from dimfree.onepass.spectrum_figure import draw_spectrum, draws_spectrum
from dimfree.results.dataset import dataset

LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "shares": [0.125, 0.375, 0.5]}


def problem(covariance, dimension=80):
    return df.Problem(
        dimension=dimension,
        data={"kind": "teacher", "covariance": covariance},
        network={"width": 2},
        run={"until": 2.0},
    )


def told(blocks, one):
    """A result with overlaps for so many blocks."""
    seen = {"risk": np.ones((2, 1)), "Q_block": np.ones((2, 1, blocks, 2, 2))}
    return dataset(one, HighDimensional(), np.array([0.0, 1.0]), seen, {})


def test_blocks_are_told_with_eigenvalue_and_weight():
    found = told(3, problem(LEVELS))
    tau = 3 * 0.125 + 0.375 + 0.1
    np.testing.assert_allclose(found["eigenvalue"], np.array([3.0, 1.0, 0.2]) / tau)
    assert found["weight"].values.tolist() == [0.125, 0.375, 0.5]
    assert found["Q_block"].sel(block=0)["eigenvalue"] == pytest.approx(3 / tau)
    assert "eigenvalue" not in told(2, problem(LEVELS)).coords  # blocks that stand for something else
    assert (
        "eigenvalue"
        not in dataset(df.Problem(), HighDimensional(), np.array([0.0]), {"risk": np.ones((1, 1))}, {}).coords
    )


def test_nodes_and_their_error_are_told_before_anything_runs():
    said = remark(problem({"kind": "power", "exponent": 1.0}, 600))
    assert "Inputs have 600 distinct eigenvalues, trace 600, the largest 86" in said
    assert "nodes for the signal and" in said
    assert "for the noise stand for all eigenvalues, with an estimated error of" in said
    assert "nodes" not in remark(problem(LEVELS))


@pytest.mark.parametrize("kind", ["levels", "power"])
def test_a_spectrum_is_drawn_by_rank_with_nodes_as_ticks(kind):
    one = problem(LEVELS) if kind == "levels" else problem({"kind": "power", "exponent": 1.0}, 600)
    axes = Figure().subplots()
    draw_spectrum(axes, one)
    eigenvalues, *ticks = axes.lines
    assert (np.diff(eigenvalues.get_ydata()) <= 0).all()
    assert eigenvalues.get_ydata()[0] == pytest.approx(one.spectrum.largest)
    assert len(ticks) == (kind == "power")
    assert axes.get_title().endswith("eigenvalues" if ticks else "3 eigenvalues, effective rank 38")


def test_isotropic_inputs_and_files_that_are_gone_have_no_spectrum_to_draw(tmp_path):
    assert not draws_spectrum(df.Problem())
    np.save(tmp_path / "s.npy", np.arange(1.0, 9))
    one = problem({"kind": "spectrum", "file": str(tmp_path / "s.npy")}, 8)
    assert draws_spectrum(one)
    (tmp_path / "s.npy").unlink()
    assert not draws_spectrum(one)
