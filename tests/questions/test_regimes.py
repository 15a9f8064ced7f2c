"""Regimes: the lines of the phase diagram, the rule for single triples, and the words for practitioners."""

import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.questions.regimes.answer import regime
from dimfree.questions.regimes.formulas import classify, classify_exponents
from dimfree.setting import why_not


@pytest.mark.parametrize(
    ("kappa", "delta", "label"),
    [
        (0.0, 0.01, "gradient_flow"),
        (1.0, 0.0, "gradient_flow"),  # mean field
        (0.3, -0.3, "saad_solla"),
        (0.0, -0.49, "noise_dominated"),
        (0.2, -0.7, "no_ode"),  # exactly on the line, though not in floating point
        (0.0, -2.0, "no_ode"),
    ],
)
def test_exponents(kappa, delta, label):
    assert classify_exponents(kappa, delta) == label


@pytest.mark.parametrize(("kappa", "delta"), [(0.5, 0.0), (0.2, -0.2), (0.0, -0.3), (0.0, -0.7)])
def test_triples_of_a_family_have_its_exponent_and_at_large_d_its_label(kappa, delta):
    d = 1e12
    found = classify(d, 3 * d**kappa, 0.2 * d**-delta, reference_width=3, reference_rate=0.2)
    assert found.label == classify_exponents(kappa, delta)
    assert found.s_eff == pytest.approx(kappa + delta, abs=1e-12)


def test_numbers():
    found = classify(400, 2, 6.0)
    assert found.label == "noise_dominated"
    assert found[2:] == pytest.approx((3.0, 3 / 400, 9 / 400, 9 / 400, np.sqrt(3 / 400)), rel=1e-14)
    assert classify(400, 2, 0.1).dt_eff == pytest.approx(0.05 / 400)
    assert [classify(400, 1, rate).label for rate in (0.49, 0.5, 2.0, 2.1, 19.9, 20.0)] == [
        *("gradient_flow", "saad_solla", "saad_solla"),
        *("noise_dominated", "noise_dominated", "no_ode"),
    ]
    assert np.isnan(classify(1, 2, 1.0).s_eff)


def test_the_ode_refuses_exactly_where_there_is_none():
    for rate in (79.0, 80.0, 81.0):
        problem = df.Problem(dimension=400, network=df.TwoLayer(width=4), training=df.OnePass(learning_rate=rate))
        assert (why_not(df.theories.HighDimensional(), problem) is not None) == (
            classify(400, 4, rate).label == "no_ode"
        )


@pytest.mark.parametrize(("batch", "largest"), [(1, 400), (100, 4000), (20_000, 40_000), (10**6, 40_000)])
def test_how_large_a_rate_may_be_depends_on_the_batch(batch, largest):
    """A step adds (rate/width)²/(d batch) to the norms by its noise and rate/(width d) by its mean; d = 10⁴, width 4."""
    for rate, exists in ((0.99 * largest, True), (1.01 * largest, False)):
        training = df.OnePass(learning_rate=rate, batch=batch)
        problem = df.Problem(dimension=10**4, network=df.TwoLayer(width=4), training=training, run={"until": 10.0})
        refusal = why_not(df.theories.HighDimensional(), problem)
        assert (refusal is None) == exists
        assert (regime(problem).regime.label != "no_ode") == exists
        assert exists or f"lower training.learning_rate below {largest:.3g}" in refusal


@pytest.mark.slow
def test_with_a_large_batch_the_ode_meets_sgd_far_above_the_bound_of_single_samples():
    """Rate 800 for 8 units at d = 10⁴, where single samples have no limit from 800 on, and 100 of them have."""
    problem = df.Problem(
        dimension=10**4,
        data=df.Teacher(units=4, noise=1e-3),
        network=df.TwoLayer(width=8),
        training=df.OnePass(learning_rate=800.0, batch=100),
        run=df.Run(until=20.0, replicas=16, points=12),
    )
    tree = df.compare(problem, only=("chain", "ode")).tree
    chain, ode = (tree[name].to_dataset()["risk"].mean("replica").values for name in ("chain", "ode"))
    np.testing.assert_allclose(ode, chain, rtol=0.02)
    assert chain[-1] < chain[0] / 10


def test_words_carry_the_numbers():
    text = regime(df.Problem(dimension=500, training=df.OnePass(learning_rate=1.0, batch=5))).summary()
    assert "At dimension 500, width 4, learning rate 1 and batch 5 the regime is gradient flow" in text
    assert "learning_rate/(width * batch) = 0.05, is small but visible" in text
    assert "10,000 samples in 2,000 steps" in text
    assert (
        "Doubling the width halves the weight of the noise and doubles the samples per unit of time; the regime stays"
        in text
    )
    assert "halves the samples per unit of time; the regime stays the same" in text
    assert "sqrt(learning_rate/(width * dimension * batch)) = 0.01" in text
    assert "scaling" not in text
    single = regime(df.Problem(dimension=500, training=df.OnePass(learning_rate=1.0))).summary()
    assert "halves the samples per unit of time; the regime becomes the high-dimensional limit" in single


def test_words_at_the_edges():
    wild = regime(df.Problem(training=df.OnePass(learning_rate=200.0))).summary()
    assert "the regime is no deterministic limit" in wild
    assert "scatter" not in wild
    assert "is negligible" in regime(df.Problem(training=df.OnePass(learning_rate=0.01))).summary()
    scaled = regime(df.Problem(network=df.TwoLayer(scaling="sqrt"))).summary()
    assert "as if the learning rate were 2 times larger" in scaled


def test_the_numbers_behind_the_words():
    found = regime(df.Problem(dimension=400, network=df.TwoLayer(width=2), training=df.OnePass(learning_rate=3.0)))
    assert found.regime == classify(400, 2, 3.0)
    assert (found.wider.label, found.faster.label) == (classify(400, 4, 3.0).label, classify(400, 2, 6.0).label)
    stored = found.to_tree()["regime"].to_dataset()
    assert stored["dt"].sel(place="wider").item() == classify(400, 4, 3.0).dt
    assert found.to_dict()["words"] == found.summary()
    assert regime(df.Problem(dimension=1, data=df.Teacher(units=1))).to_dict()["s_eff"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 1, 1), "dimension = 0 was given; it must be positive."),
        ((9, 1, -1), "learning_rate = -1 was given; it must be positive."),
        ((9, 1, 1, 1, 1, 0.5), "factor = 0.5 was given; it must be at least 1."),
    ],
)
def test_nonsense(arguments, sentence):
    with pytest.raises(ProblemError) as caught:
        classify(*arguments)
    assert str(caught.value) == sentence
