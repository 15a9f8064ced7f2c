"""Leaps: known targets, all orderings, invariance under rotations, and one sentence per error."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dimfree.errors import ProblemError
from dimfree.functions.leap import Leap, Staircase, coordinate_leap, staircase, subspace_leap


@pytest.mark.parametrize(
    ("terms", "coordinate", "subspace"),
    [
        ([(1, 0, 0), (1, 1, 0), (1, 1, 1)], (1, 1, 1), (1, 1, 1)),  # a staircase
        ([(1, 1, 1)], (3,), (3,)),  # a parity
        ([(0, 0), (1, 0), (0, 1), (1, 1)], (1, 1), (1, 2)),  # only z_1 + z_2 is seen at first
        ([(1, 0), (3, 2)], (1, 2), (1, 2)),
        ([(20, 0), (0, 19)], (19, 20), (19, 20)),
    ],
)
def test_known_targets(terms, coordinate, subspace):
    assert coordinate_leap(terms) == (max(coordinate), coordinate)
    assert subspace_leap(terms) == (max(subspace), subspace)


terms_strategy = st.lists(st.tuples(*[st.integers(0, 3)] * 3).filter(any), min_size=1, max_size=5, unique=True)


@given(terms_strategy)
def test_greedy_finds_the_best_ordering(terms):
    def cost(order):
        found, worst = set(), 0
        for term in order:
            worst = max(worst, sum(s for r, s in enumerate(term) if r not in found))
            found |= {r for r, s in enumerate(term) if s}
        return worst

    assert coordinate_leap(terms).leap == min(map(cost, permutations(terms)))


@pytest.mark.slow
@given(terms_strategy)
def test_the_subspace_leap_does_not_see_the_order_or_scale_of_axes(terms):
    base = subspace_leap(terms)
    assert subspace_leap([term[::-1] for term in terms], [-7e3] * len(terms)) == base


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.1])
def test_the_subspace_leap_does_not_see_rotations(angle):
    """He_1(x) + He_1(x) He_2(y) in rotated axes x = c z_1 + s z_2, y = -s z_1 + c z_2."""
    c, s = np.cos(angle), np.sin(angle)
    terms = [(1, 0), (0, 1), (3, 0), (2, 1), (1, 2), (0, 3)]
    coefficients = [c, s, c * s**2, s**3 - 2 * c**2 * s, c**3 - 2 * s**2 * c, s * c**2]
    assert subspace_leap(terms, coefficients) == (2, (1, 2))


def test_coefficients_decide():
    terms = [(1, 0), (0, 1), (1, 1), (1, 1)]
    assert coordinate_leap(terms, [0, 0, 1, 0]) == (2, (2,))
    assert subspace_leap(terms, [1, 1, 0, 0]) == (1, (1,))
    assert subspace_leap(terms, [1, 1, 0.5, -0.5]) == (1, (1,))
    assert subspace_leap(terms, [1, 1, 1e-5, 0]) == (2, (1, 2))


def test_sample_counts():
    assert [Leap(leap, (leap,)).sample_exponent for leap in (1, 2, 3, 4)] == [1, 1, 2, 3]
    assert subspace_leap([(4, 0)]).samples(100) == 100**3


@pytest.mark.parametrize("leap", [coordinate_leap, subspace_leap])
@pytest.mark.parametrize(
    ("terms", "coefficients", "part"),
    [
        ([], None, "the target is constant"),
        ([(0, 0)], None, "the target is constant"),
        ([(0, 0), (1, 0)], [1.0, 0.0], "the target is constant"),
        ([(1, 0)], [1.0, 2.0], "2 coefficients for 1 terms"),
        ([(1, 0), (1,)], None, "the same length"),
        ([(1, -1)], None, "is negative"),
    ],
)
def test_errors_are_one_sentence(leap, terms, coefficients, part):
    with pytest.raises(ProblemError) as caught:
        leap(terms, coefficients)
    assert part in str(caught.value)


supports_strategy = st.lists(st.frozensets(st.integers(1, 5), min_size=1), min_size=1, max_size=5, unique=True)


@given(supports_strategy)
def test_what_single_steps_reach_is_found_by_every_ordering(supports):
    """A merged staircase is one that some ordering climbs by at most one new coordinate at a time."""

    def leaps(order):
        found = set()
        for support in order:
            yield len(support - found)
            found |= support

    found = staircase([sorted(support) for support in supports])
    assert found.leap == min(max(leaps(order)) for order in permutations(supports))
    assert found.merged == (found.leap == 1) == (not found.unreached)
    climbed, covered = set(), set()
    for _ in supports:
        for support in supports:
            if len(support - covered) <= 1:
                climbed.add(support)
                covered |= support
    assert found.reached == tuple(sorted(covered))
    assert {frozenset(support) for support in found.unreached} == set(supports) - climbed


def test_staircases():
    assert staircase([(0,), (0, 1), (0, 1, 2)]) == Staircase(1, (1, 1, 1), (0, 1, 2), ())
    assert staircase([(), (7,), (7, 8, 9), (9,)], [5.0, 1.0, 2.0, 0.0]) == Staircase(2, (1, 2), (7,), ((7, 8, 9),))
    with pytest.raises(ProblemError, match="names a coordinate twice"):
        staircase([(1, 1)])
    with pytest.raises(ProblemError, match="the target is constant"):
        staircase([()])
