"""The page's generator.js: laws of its numbers, and streams of replicas that are independent. Seeds are fixed."""

import numpy as np
import pytest
from in_node import answered
from scipy import stats

_RARE = 1e-4
_NORMAL_EDGES = [-5.0, -4.5, -4.0, -3.6, -3.4426, -3.0, *np.linspace(-2.5, 2.5, 51), 3.0, 3.4426, 3.6, 4.0, 4.5, 5.0]
_FREEDOMS = [0.7, 1.0, 1.5, 2.0, 3.0, 10.0, 293.0, 9994.0]
_SEEN = """
(script, given) => {
  const counted = (draw, edges, count) => {
    const counts = new Array(edges.length + 1).fill(0);
    for (let i = 0; i < count; i++) {
      const x = draw();
      let low = 0, high = edges.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (x >= edges[middle]) low = middle + 1; else high = middle;
      }
      counts[low]++;
    }
    return counts;
  };
  const many = (draw, count) => Array.from({ length: count }, draw);
  const normals = script.generatorOf(1, 0), uniforms = script.generatorOf(2, 0), squares = script.generatorOf(3, 0);
  const streams = given.pairs.map(([seed, replica]) => script.generatorOf(seed, replica));
  return {
    normal: many(normals.normal, 20000),
    tails: counted(normals.normal, given.edges, 4000000),
    uniform: many(uniforms.uniform, 20000),
    bits: many(() => uniforms.bits() >>> 0, 20000),
    squares: given.freedoms.map((freedom) => many(() => squares.chiSquare(freedom), 10000)),
    streams: streams.map((one) => many(one.normal, 4000)),
    again: many(script.generatorOf(1, 0).normal, 100),
  };
}
"""
_PAIRS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2**32, 0), (2**32 + 1, 0), (2**33, 1), (0, 2**20)]


@pytest.fixture(scope="module")
def seen():
    given = {"edges": _NORMAL_EDGES, "freedoms": _FREEDOMS, "pairs": _PAIRS}
    return answered("generator.js", _SEEN, given)


def test_uniform_numbers_fill_the_interval_and_their_bits_are_fair(seen):
    u = np.array(seen["uniform"])
    assert stats.kstest(u, "uniform").pvalue > _RARE
    assert 0 < u.min() < u.max() < 1
    words = np.array(seen["bits"], dtype=np.uint32)
    ones = ((words[:, None] >> np.arange(32, dtype=np.uint32)) & 1).sum(axis=0)
    z = (ones - len(words) / 2) / np.sqrt(len(words) / 4)
    assert np.abs(z).max() < stats.norm.isf(_RARE / 64)


def test_normals_have_their_law_and_moments(seen):
    x = np.array(seen["normal"])
    assert stats.kstest(x, "norm").pvalue > _RARE
    for power, mean, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10395 - 225)]:
        z = (np.mean(x**power) - mean) / np.sqrt(variance / len(x))
        assert abs(z) < 4, power
    assert abs(np.mean(x[1:] * x[:-1])) * np.sqrt(len(x)) < 4  # neighbours


def test_normals_fill_layers_and_tails_as_they_should(seen):
    """Four million of them: a wrong layer, or a tail that begins elsewhere, is far beyond chance."""
    counts = np.array(seen["tails"])
    chances = np.diff(np.concatenate([[0.0], stats.norm.cdf(_NORMAL_EDGES), [1.0]]))
    joined = [
        [0, 1],
        *([i] for i in range(2, len(counts) - 2)),
        [len(counts) - 2, len(counts) - 1],
    ]  # rare ones together
    observed = np.array([counts[part].sum() for part in joined])
    expected = np.array([chances[part].sum() for part in joined]) * counts.sum()
    assert stats.chisquare(observed, expected).pvalue > _RARE
    assert counts[0] + counts[-1] > 0  # 2.3 are expected beyond 5


@pytest.mark.parametrize("number", range(len(_FREEDOMS)))
def test_chi_squares_have_their_law(seen, number):
    law, x = stats.chi2(_FREEDOMS[number]), np.array(seen["squares"][number])
    assert stats.kstest(x, law.cdf).pvalue > _RARE
    assert abs(np.mean(x) - law.mean()) < 4 * law.std() / np.sqrt(len(x))
    fourth = law.stats("k") + 2
    assert abs(np.var(x) - law.var()) < 4 * law.var() * np.sqrt(fourth / len(x))


def test_streams_of_seeds_and_replicas_are_independent(seen):
    streams = np.array(seen["streams"])
    assert np.unique(streams[:, 0]).size == len(streams)
    for shift in (0, 1, 2):
        rolled = np.roll(streams, shift, axis=1)
        correlation = streams @ rolled.T / streams.shape[1]
        if shift == 0:
            correlation = correlation[np.triu_indices(len(streams), 1)]
        assert np.abs(correlation).max() * np.sqrt(streams.shape[1]) < 4.9
    assert seen["again"] == seen["normal"][:100]
