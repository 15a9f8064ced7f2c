"""Random numbers have the laws they should have."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dimfree.random_numbers import chi_squares, lower_triangle, normals

COUNT = 200_000


def test_normals():
    x = np.asarray(normals(jax.random.key(0), COUNT))
    assert x.dtype == np.float32
    assert stats.kstest(x, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 4.5 / np.sqrt(COUNT)
    assert not np.array_equal(x, normals(jax.random.key(1), COUNT))


@pytest.fixture(scope="module")
def chi() -> dict[float, np.ndarray]:
    degrees = [1.0, 2.0, 3.0, 17.0, 1e9]
    values = chi_squares(jax.random.key(0), jnp.repeat(jnp.asarray(degrees), COUNT))
    return dict(zip(degrees, np.asarray(values).reshape(len(degrees), COUNT), strict=True))


@pytest.mark.parametrize("degrees", [1.0, 2.0, 3.0, 17.0, 1e9])
def test_chi_squares(chi, degrees):
    x = chi[degrees]
    assert stats.kstest(x, "chi2", args=(degrees,)).pvalue > 1e-4
    assert abs(x.mean() - degrees) < 4.5 * np.sqrt(2 * degrees / COUNT)
    assert abs(x.var() / (2 * degrees) - 1) < 4.5 * np.sqrt((2 + 12 / degrees) / COUNT)


def test_triangles_are_lower_and_hold_every_entry_once():
    below, diagonal = jnp.arange(1.0, 7.0).reshape(3, 2), jnp.arange(10.0, 16.0).reshape(3, 2)
    T = np.asarray(lower_triangle(below, diagonal))
    assert T.shape == (3, 3, 2)
    for r in range(2):
        np.testing.assert_array_equal(np.diag(T[..., r]), diagonal[:, r])
        np.testing.assert_array_equal(np.triu(T[..., r], 1), 0)
        assert sorted(T[..., r][np.tril_indices(3, -1)]) == sorted(below[:, r].tolist())
