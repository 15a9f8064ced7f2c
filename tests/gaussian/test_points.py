import numpy as np
import pytest
from scipy import stats

from dimfree.gaussian.points import normal_points


def test_same_arguments_give_the_same_read_only_points():
    x = normal_points(5, 256)
    normal_points.cache_clear()
    np.testing.assert_array_equal(x, normal_points(5, 256))
    assert x.shape == (256, 5)
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 0.0


def test_scramblings_differ():
    assert not np.allclose(normal_points(5, 256, 0), normal_points(5, 256, 1))


def test_each_direction_is_a_stratified_standard_normal():
    x = normal_points(150, 1024)
    assert np.isfinite(x).all()
    cells = np.sort(np.floor(stats.norm.cdf(x) * 1024).astype(int), axis=0)
    np.testing.assert_array_equal(cells, np.arange(1024)[:, None] * np.ones(150, dtype=int))


def test_averages_beat_plain_sampling():
    error = [abs(np.mean(np.exp(normal_points(4, 4096, s).sum(axis=1) / 4)) - np.exp(1 / 8)) for s in range(4)]
    plain = np.sqrt((np.exp(1 / 4) - 1) * np.exp(1 / 4)) / np.sqrt(4096)
    assert np.sqrt(np.mean(np.square(error))) < plain / 5


@pytest.mark.parametrize("count", [0, 3, 1000])
def test_other_counts_are_refused(count):
    with pytest.raises(ValueError, match="power of two"):
        normal_points(2, count)
