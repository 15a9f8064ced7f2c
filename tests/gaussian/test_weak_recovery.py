"""Thresholds and overlaps: closed forms, the best preprocessing by two routes, truncation, and what is refused."""

from math import inf

import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.gaussian.labels import labels
from dimfree.gaussian.preprocessing import preprocessed
from dimfree.gaussian.weak_recovery import (
    filter_overlap,
    filter_power,
    optimal_overlap,
    optimal_threshold,
    spectral_overlap,
    spectral_threshold,
)


def test_closed_forms():
    assert optimal_threshold(labels("square")) == pytest.approx(0.5, rel=1e-12)
    assert optimal_threshold(labels("relu")) == pytest.approx(1.0, rel=1e-12)
    assert optimal_threshold(labels(jnp.sign)) == inf
    assert filter_power(labels(jnp.sign)) == pytest.approx(2 / np.pi, rel=1e-12)
    assert filter_power(labels("square")) == filter_power(labels("he4")) == 0
    for noise in (0.1, 2.0):
        seen = labels("he1", noise)
        assert optimal_threshold(seen) == pytest.approx((1 + noise) ** 2 / 2, rel=1e-6)
        assert filter_power(seen) == pytest.approx(1 / (1 + noise), rel=1e-6)
    assert filter_overlap(2 / 3, 1.5) == pytest.approx(0.5)


def test_the_best_preprocessing_written_by_hand_is_the_best():
    """Phase retrieval: T = 1 - 1/y by the general route gives what the closed threshold and the overlaps say."""
    made, seen = preprocessed("square", 0.0, lambda y: 1 - 1 / y), labels("square")
    assert made.supremum == pytest.approx(1)
    assert spectral_threshold(made) == pytest.approx(0.5, rel=1e-7)
    for alpha in (0.3, 0.6, 2.0, 9.0):
        assert spectral_overlap(made, alpha) == pytest.approx(optimal_overlap(seen, alpha), rel=1e-6, abs=1e-9)


def test_truncation():
    made = preprocessed("square", 0.0, lambda y: jnp.where(y <= 9, y, 0.0))
    assert made.supremum == pytest.approx(9)
    assert spectral_threshold(made) == pytest.approx(1.63256, abs=5e-6)
    assert spectral_overlap(made, 1.6) == 0
    assert 0 < spectral_overlap(made, 1.66) < 0.02


def test_nothing_beats_the_best():
    seen = labels("square")
    for cut in (0.5, 3.0):
        made = preprocessed("square", 0.0, lambda y, cut=cut: jnp.tanh(y / cut) - 0.2)
        assert optimal_threshold(seen) < spectral_threshold(made) < inf
        for alpha in np.geomspace(0.1, 50, 30):
            assert spectral_overlap(made, alpha) <= optimal_overlap(seen, alpha)


@pytest.mark.parametrize(
    ("preprocessing", "part"),
    [
        (lambda y: y, "not bounded from above: it reaches 1e+16"),
        (lambda y: 1 / y, "not bounded from above"),
        (jnp.log, "not bounded from above"),
        (lambda y: -1 - 0 * y, "nowhere above -1"),
        (lambda y: jnp.sqrt(1 - y), "not finite at the label 8"),
        (lambda y: jnp.stack([y, y]), "the preprocessing makes an array of shape (2,)"),
        (float, "the preprocessing does not run on a jax array"),
    ],
)
def test_what_is_refused(preprocessing, part):
    with pytest.raises(ProblemError) as caught:
        preprocessed("square", 0.0, preprocessing)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_preprocessing_with_the_wrong_sign_never_sees_the_direction():
    made = preprocessed("square", 0.0, lambda y: jnp.where(y < 0.1, 1.0, 0.0))
    assert spectral_threshold(made) == inf
    assert spectral_overlap(made, 100.0) == 0
