"""How lazy: the sweep of output scales, its lemmas and its words."""

import numpy as np
import pytest

import dimfree as df

SMALL = df.Problem(
    data=df.DrawnPoints(samples=5, held_out=20),
    network=df.ScaledTwoLayer(width=20, activation="tanh"),
    dimension=4,
    run=df.Run(until=10.0, points=9),
)


@pytest.fixture(scope="module")
def answer():
    return df.laziness(SMALL, scales=5, decades=4.0, networks=2)


@pytest.mark.slow
def test_the_sweep_goes_from_the_mean_field_scale_to_the_lazy_side(answer):
    np.testing.assert_allclose(answer.scales * 20, [1, 10, 100, 1000, 10_000])
    assert answer.hold
    assert answer.slope("movement") == pytest.approx(-1.0, abs=0.02)
    assert answer.slope("gap") == pytest.approx(-2.0, abs=0.05)
    assert answer.slope("kernel_change") == pytest.approx(-2.0, abs=0.05)
    np.testing.assert_allclose(answer.measured["linear_risk"][0], answer.measured["linear_risk"][-1], rtol=1e-9)
    np.testing.assert_allclose(answer.measured["risk"][-1], answer.measured["linear_risk"][-1], rtol=1e-3)


@pytest.mark.slow
def test_certainty_begins_where_the_condition_would_hold(answer):
    """The radius of lemma 3 falls like 1/gamma once the kernel rests: just beyond the scale that is named it holds."""
    there = SMALL.replace(**{"run.replicas": 2})
    width, gamma = 20, 1.05 * answer.certain_from
    found = df.laziness(there, scales=2, decades=np.log10(gamma * width), networks=2)
    assert all(one.condition.holds for one in found.lemmas[-1])
    below = df.laziness(there, scales=2, decades=np.log10(0.9 * gamma * width), networks=2)
    assert not all(one.condition.holds for one in below.lemmas[-1])


@pytest.mark.slow
def test_words_numbers_and_figure(answer, tmp_path):
    text = answer.summary()
    assert "VIOLATED" not in text
    assert "Slopes in gamma" in text
    assert "lazy for certain from gamma N" in text
    first = answer.to_dict()["lemmas"][0][0]
    assert first["lemma 1"]["holds"] is True
    assert first["lemma 3"]["left"] < first["lemma 3"]["right"]
    assert len(answer.plot(tmp_path / "laziness.png").axes) == 4
    assert answer.to_tree()["laziness"]["movement"].shape == (5, 2)


def test_bad_ranges_and_budgets_are_one_sentence():
    with pytest.raises(df.ProblemError, match="decades = 0 is not a range"):
        df.laziness(SMALL, decades=0.0)
    with pytest.raises(df.RefusalError, match=r"would take about .* raise the budget"):
        df.laziness(SMALL, budget=0.1)
