"""Time scales and quartic neurons: the claims hold, and a wrong ingredient makes them fail."""

from typing import ClassVar

import jax
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.quartic import Quartic, descend, exact_risk, quartic_model, samples, unit_rows
from dimfree.gallery.time_scales import TimeScales
from dimfree.onepass.limits.ode import GradientFlow
from dimfree.onepass.limits.wide import Dimensionless

ENTRIES = [TimeScales, Quartic]


def silent(what, share):
    pass


def failing(entry, data):
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


class Half(GradientFlow):
    """The exact system at half of its speed."""

    name: ClassVar[str] = "half"

    def twin(self, model):
        return self, model

    def velocity(self, model, t, state):
        return jax.tree.map(lambda x: x / 2, super().velocity(model, t, state))


@pytest.mark.slow
def test_descent_stays_on_the_sphere_and_many_samples_are_the_population():
    d, model = 6, quartic_model(8, 6)
    weights = unit_rows(jax.random.key(0), 8, d)
    population = descend(model, weights, None, 20)
    sampled = descend(model, weights, samples(model, jax.random.key(1), 100_000, d), 20)
    np.testing.assert_allclose(np.linalg.norm(sampled.weights, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(sampled.risk, population.risk, rtol=0.05)
    assert (np.diff(population.risk) < 0).all()


def test_the_exact_risk_of_quartic_neurons_is_an_average_over_inputs():
    model, weights = quartic_model(8, 6), unit_rows(jax.random.key(0), 8, 6)
    X, y = samples(model, jax.random.key(1), 400_000, 6)
    by_hand = 0.5 * np.mean((y - model.activation(X @ weights.T).mean(axis=1)) ** 2)
    assert float(exact_risk(model, weights)) == pytest.approx(float(by_hand), rel=0.03)


def counted(growth=1.6, share=0.9, fourth=0.8):
    """Shares that pass 3/4 at samples that grow like this power of d, and end with this one."""
    entry = Quartic()
    d, x = np.array(entry.dimensions), np.array(entry.exponents)
    needed = 2 * 12**1.9 * (d / 12) ** growth
    shares = np.clip(0.75 + 0.2 * np.log(2 * d[:, None] ** x / needed[:, None]), 0, share)
    width, longer = np.array(entry.widths), np.array(entry.longer)
    twice = lambda values: np.stack([values, values], axis=1)  # noqa: E731
    return xr.Dataset(
        {
            "share": (("d", "seed", "exponent"), twice(shares)),
            "fourth": (("d", "seed", "exponent"), twice(np.full_like(shares, fourth))),
            "end": (("width", "seed"), twice(0.01 + 1.0 / width**1.3)),
            "steps": (("longer", "seed"), twice(10 + 12 * np.log(longer))),
        },
        {"d": d, "exponent": x, "width": width, "longer": longer},
    )


def test_claims_of_quartic_neurons_on_made_up_counts():
    entry = Quartic()
    assert failing(entry, counted()) == set()
    assert failing(entry, counted(growth=2.3)) == {0}  # kernels' d^4 is not reached by far, and it is too much
    assert failing(entry, counted(share=0.7)) == {0, 1}
    assert failing(entry, counted(fourth=0.2)) == {2}
    figure = Figure(layout="constrained")
    entry.draw(counted(), figure)
    assert len(figure.axes) == 4


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_claims_hold_and_the_figure_is_drawn(entry):
    one = entry()
    data = one.measure(False, silent)
    assert failing(one, data) == set()
    figure = Figure(layout="constrained")
    one.draw(data, figure)
    assert all(axes.lines for axes in figure.axes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (TimeScales(exact=Half()), {0, 1, 2}),
        (TimeScales(exact=Dimensionless(self_term=False, label="gradient-flow")), {3, 9}),
        (TimeScales(wide=Dimensionless(atol=1e-12)), {5, 7}),
        (Quartic(phi=(0.0, 0.0, 0.0, 0.0, 0.15), dimensions=(12, 24)), {0, 1, 2}),
    ],
    ids=["half-speed", "closure-for-exact", "self-term", "no-second-degree"],
)
def test_claims_fail_with_a_wrong_ingredient(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) >= expected
