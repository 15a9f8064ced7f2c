"""Problem files and results files of released versions: they are read, and give the same numbers."""

import json
import platform
from pathlib import Path

import jax
import numpy as np
import pytest

import dimfree as df

RELEASED = Path(__file__).parents[1] / "released"
PROBLEMS = sorted(path.relative_to(RELEASED) for path in RELEASED.glob("*/problems/*.toml"))
# Inputs are of single precision, and jax 0.11 and other processors add their products up in another order.
SAME_STEPS = 1e-12 if jax.__version__.startswith("0.10.") and platform.machine() == "x86_64" else 1e-6


@pytest.fixture(scope="module", params=sorted(path.name for path in RELEASED.iterdir()))
def release(request):
    return RELEASED / request.param


def test_results_are_read_judged_and_drawn(release, tmp_path):
    found = df.open(release / "comparison.nc")
    assert {"sgd", "chain", "ode"} <= {*found.accounts}
    assert "the reference" in found.summary()
    found.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_theory_gives_the_numbers_of_then(release):
    problem, then = df.load(release / "problem.toml"), df.open(release / "comparison.nc")
    now = df.solve(problem, "ode")
    np.testing.assert_array_equal(now["time"], then.accounts["ode"]["time"])
    np.testing.assert_allclose(now["risk"], then.accounts["ode"]["risk"], rtol=1e-6)


def test_sgd_makes_the_steps_of_then(release):
    """On vectors; the chain draws in another order than in 0.1.0, with the same law."""
    problem, then = df.load(release / "problem.toml"), df.open(release / "comparison.nc")
    now = df.simulate(problem, "sgd")
    for name in ("risk", "Q", "M"):
        np.testing.assert_allclose(now[name], then.accounts["sgd"][name], rtol=SAME_STEPS, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: f"{path.parts[0]}-{path.stem}")
def test_problems_of_every_kind_give_the_numbers_of_then(path, monkeypatch):
    """Of ode and of SGD on vectors: `numbers.json` was written by that release."""
    monkeypatch.chdir((RELEASED / path).parent)  # beside the weights that one of them names
    then = json.loads((RELEASED / path.parts[0] / "numbers.json").read_text(encoding="utf-8"))[path.stem]
    problem = df.load(path.name)
    ode, sgd = df.solve(problem, "ode"), df.simulate(problem, "sgd")
    np.testing.assert_array_equal(ode["time"], then["time"])
    np.testing.assert_allclose(ode["risk"], then["ode"], rtol=1e-6)
    np.testing.assert_allclose(sgd["risk"], then["sgd"], rtol=SAME_STEPS, atol=1e-14)
