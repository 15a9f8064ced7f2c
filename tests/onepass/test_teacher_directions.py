"""Where teachers lie in the eigenbasis: a power of the rank, or rows of a file; random ones go without saying."""

import jax
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.onepass.start import draw_start
from dimfree.problem.toml import dumps, loads

POWER = {"kind": "power", "exponent": 1.5}


def problem(directions, covariance=POWER, units=1, **changes):
    data = {"kind": "teacher", "units": units, "covariance": covariance, "directions": directions}
    base = df.Problem(dimension=60, data=data, network={"width": 2})
    return base.replace(**changes) if changes else base


def test_random_directions_go_without_saying():
    said, silent = problem("random"), df.Problem(
        dimension=60, data={"kind": "teacher", "units": 1, "covariance": POWER}, network={"width": 2}
    )  # fmt: skip
    assert said.digest == silent.digest
    assert "directions" not in dumps(said)
    assert said.digest != problem({"power": 2.0}).digest


def test_problems_with_directions_are_written_and_read():
    one = problem({"power": 2.0})
    assert loads(dumps(one)) == one
    assert problem("random").replace(**{"data.directions": {"power": 2.0}}) == one


def test_the_signal_falls_as_a_power_of_the_rank():
    start = draw_start(problem({"power": 2.5}), jax.random.key(0), vectors=True)
    s, w = problem("random").spectrum.coordinates, np.asarray(start.weights)[-1]
    signal = s * w**2 / 60
    assert signal.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(signal / signal[0], np.arange(1.0, 61) ** -2.5, rtol=1e-10)
    assert 15 < (w > 0).sum() < 45
    students = draw_start(problem("random"), jax.random.key(0), vectors=True).weights[:2]
    np.testing.assert_array_equal(np.asarray(start.weights)[:2], students)


def test_two_teachers_have_the_overlaps_of_the_problem_on_levels_that_do_not_fall():
    levels = {"kind": "levels", "values": [0.5, 3.0, 0.0], "multiplicities": [30, 10, 20]}
    for vectors in (True, False):  # which decides nothing here: directions are told by vectors
        blocks = draw_start(problem({"power": 1.0}, levels, 2), jax.random.key(1), vectors=vectors).blocks
        P = np.asarray(blocks.Omega)[:, 2:, 2:]
        np.testing.assert_allclose(np.einsum("b,bij->ij", blocks.s, P), np.eye(2), atol=1e-12)
        signal = np.asarray(blocks.s) * np.trace(P, axis1=1, axis2=2)
        assert signal[2] == 0
        falls = 1 / np.arange(1.0, 41)
        assert signal[1] / signal[0] == pytest.approx(falls[:10].sum() / falls[10:].sum(), rel=0.3)


def test_rows_of_a_file_are_in_the_coordinates_of_the_user(tmp_path):
    rng = np.random.default_rng(2)
    W, values = rng.normal(size=(1, 60)), rng.uniform(0.5, 2.0, size=60)
    np.save(tmp_path / "Wstar.npy", W)
    one = problem({"file": str(tmp_path / "Wstar.npy")}, df.Covariance.spectrum(values))
    found = np.asarray(draw_start(one, jax.random.key(3), vectors=True).weights)[-1]
    wanted = W[0, np.argsort(-values)]
    np.testing.assert_allclose(found / found[0], wanted / wanted[0], rtol=1e-10)


def test_what_does_not_fit_is_told(tmp_path):
    np.save(tmp_path / "W.npy", np.ones((2, 60)))
    with pytest.raises(ProblemError, match=r"of shape \(2, 60\); it must be \(1, 60\), units x dimension"):
        draw_start(problem({"file": str(tmp_path / "W.npy")}), jax.random.key(0), vectors=True)
    with pytest.raises(ProblemError, match="given by power or by file; give one of the two"):
        problem({})
    with pytest.raises(ProblemError, match="say where a teacher lies in the eigenbasis"):
        problem({"power": 1.0}, {"kind": "isotropic"})
