"""Scripts of the page that need no browser: the saved times of a problem, the density of points."""

import numpy as np
import pytest
from in_node import answered

import dimfree as df

RUNS = [
    {},
    {"run.until": 3.0, "run.points": 7, "run.spacing": "linear"},
    {"run.until": 0.01},
    {"run.until": 0.0125, "run.points": 4, "run.spacing": "linear"},  # 15 steps: halves are rounded to even numbers
    {"dimension": 5000, "training.learning_rate": 0.07, "run.points": 200},
    {"run": {"times": [0.5, 2.0, 7.5]}},
]


def test_saved_times_are_those_of_python():
    problems = [df.Problem().replace(**change) for change in RUNS]
    given = [[one.model_dump(mode="json")["run"], one.time_step] for one in problems]
    found = answered(
        "saved_times.js", "(script, data) => data.map(([run, step]) => script.savedTimes(run, step))", given
    )
    for one, times in zip(problems, found, strict=True):
        assert times == pytest.approx(one.times, rel=1e-14, abs=0)


def test_the_density_of_points_is_a_sum_of_gaussians():
    """By the same formula in NumPy; it sums to 1 over the plane, and a point that stands for more weighs more."""
    rng = np.random.default_rng(4)
    x, y, weights = rng.normal(200, 40, size=50), rng.normal(150, 20, size=50), rng.uniform(0.5, 2, size=50)
    area = {"left": 10, "top": 5, "columns": 100, "rows": 75}
    given = [x.tolist(), y.tolist(), weights.tolist(), area]
    found = np.reshape(answered("density.js", "(script, given) => script.of(...given)", given), (75, 100))
    assert found.sum() * 16 == pytest.approx(1, abs=1e-3)
    shares = weights / weights.sum()

    def width(points: np.ndarray) -> float:
        spread = np.sqrt(shares @ (points - shares @ points) ** 2)
        return float(0.5 * spread * (shares @ shares) ** (1 / 6))

    def bells(points: np.ndarray, at: np.ndarray) -> np.ndarray:
        h = width(points)
        return np.exp(-0.5 * ((at[:, None] - points) / h) ** 2) / (h * np.sqrt(2 * np.pi))

    columns, rows = 10 + 4 * (np.arange(100) + 0.5), 5 + 4 * (np.arange(75) + 0.5)
    expected = np.einsum("ri,ci,i->rc", bells(y, rows), bells(x, columns), shares)
    np.testing.assert_allclose(found, expected, atol=1e-8 * expected.max())
