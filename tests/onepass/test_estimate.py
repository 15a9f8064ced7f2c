"""Exponents of a table: those that it was made with, within their errors, and no number where noise hides them."""

import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.onepass.projected.estimate import estimate
from stages import gating


def table(alpha, beta, noise, rows=4000, columns=100, seed=0):
    rng, j = np.random.default_rng(seed), np.arange(1.0, columns + 1)
    x = rng.standard_normal((rows, columns)) * j**-alpha
    y = x @ j**-beta + noise**0.5 * rng.standard_normal(rows)
    return x - x.mean(axis=0), y - y.mean()


@pytest.mark.parametrize(
    ("alpha", "beta", "noise", "name"),
    gating([(1.0, 0.7, 0.0, "II"), (0.75, 0.3, 0.1, "Ia"), (0.7, 1.2, 1e-4, "III")], [(0.75, 0.3, 0.1, "Ia")]),
)
def test_exponents_of_a_power_law_are_found_within_their_errors(alpha, beta, noise, name):
    found = estimate(*table(alpha, beta, noise))
    for value, wanted, errors in zip(
        (found.alpha, found.beta), (alpha, beta), zip(found.by_chance, found.by_window, strict=True), strict=True
    ):
        assert abs(value - wanted) < 3 * np.hypot(*np.nan_to_num(errors)) + 0.01
    assert max(found.phases, key=found.phases.get) == name


@pytest.mark.slow
def test_errors_by_chance_are_those_of_other_tables():
    """The standard deviation of alpha over tables; a block bootstrap of 60 draws knows it to a few tens of per cent."""
    found = [estimate(*table(0.75, 0.3, 0.1, 1000, 60, seed)) for seed in range(12)]
    for exponent in (0, 1):
        spread = np.std([one[exponent] for one in found], ddof=1)
        assert 0.4 < np.mean([one.by_chance[exponent] for one in found]) / spread < 2.5


def test_noise_that_hides_the_target_leaves_no_beta():
    found = estimate(*table(0.7, 1.2, 5.0))
    assert np.isnan(found.beta)
    assert found.phases == {}
    assert abs(found.alpha - 0.7) < 0.03


def test_a_table_without_ranks_is_refused():
    with pytest.raises(ProblemError, match="has 8 ranks that exponents could be read off, and 10 are needed"):
        estimate(*table(1.0, 1.0, 0.0, 100, 60))
