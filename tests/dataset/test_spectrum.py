"""The spectrum of random data, and the stability limits of training on it (docs/theory/dmft.md, section 4.3)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.dataset.dmft.square import solve
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.dataset.spectrum import edges, largest_stable_rate, require_stable, resolvent, spectrum, top
from dimfree.errors import DivergenceError, RefusalError
from dimfree.functions.loss import loss


def make(task="two-clusters", **numbers):
    return multi_pass_model(task, loss("square"), **({"eta": 0.1} | numbers))


@pytest.mark.parametrize("alpha", [0.4, 1.0, 3.0])
def test_integrals_over_the_spectrum(alpha):
    """Moments 1, alpha Delta, alpha (1 + alpha) Delta², and the resolvent away from the spectrum."""
    model = make(alpha=alpha, Delta=0.7)
    x, weight = spectrum(model)
    moments = [1.0, alpha * 0.7, alpha * (1 + alpha) * 0.49]
    np.testing.assert_allclose([weight @ x**n for n in range(3)], moments, rtol=1e-12)
    z = jnp.asarray([-0.8, 6.0, 0.3 + 0.5j, -1 - 2j])
    expected = jnp.sum(weight / (x - z[:, None]), axis=1)
    np.testing.assert_allclose(resolvent(model, z), expected, rtol=1e-10)


@pytest.mark.parametrize(("alpha", "Delta"), [(2.0, 0.5), (0.2, 1.0)], ids=["outlier", "no-outlier"])
def test_eigenvalues_of_drawn_data(alpha, Delta):
    N, rng = 600, np.random.default_rng(0)
    tops = []
    for _ in range(4):
        X = np.ones(N) / np.sqrt(N) + np.sqrt(Delta) * rng.standard_normal((round(alpha * N), N))
        tops.append(np.linalg.norm(X / np.sqrt(N), 2) ** 2)
    assert np.mean(tops) == pytest.approx(float(top(make(alpha=alpha, Delta=Delta))), rel=0.03)


def test_teachers_have_no_outlier():
    model = make("linear-teacher", alpha=4.0)
    assert float(top(model)) == float(edges(model)[1]) == 9.0


@pytest.mark.parametrize(
    ("numbers", "by_noise"),
    [
        ({"alpha": 0.5, "Delta": 0.6, "b": 0.1, "rescaled": True}, True),
        ({"alpha": 2.0, "Delta": 0.5, "b": 0.3, "lambda_": 0.1}, False),
        ({"alpha": 2.0, "Delta": 0.5, "b": 1.0, "lambda_": 0.1, "tau": 5.0}, False),
    ],
)
def test_largest_stable_rate(numbers, by_noise):
    """Just below it the training loss settles, just above it grows exponentially."""
    model = make(**numbers)
    limit = largest_stable_rate(model)
    without_noise = 2 / (model.lambda_ + model.gradient_scale * model.b * top(model))
    assert bool(limit < 0.9 * without_noise) == by_noise
    below, above = (eqx.tree_at(lambda one: one.eta, model, factor * limit) for factor in (0.93, 1.07))
    settling, growing = solve(below, 160).train_loss, solve(above, 160).train_loss
    assert float(settling[160]) <= float(settling[120]) * (1 + 1e-6)
    assert float(growing[160]) > 2 * float(growing[120]) > 4 * float(growing[80])
    require_stable(below)
    with pytest.raises(DivergenceError, match=rf"largest stable value {float(limit):.4g}; lower eta"):
        require_stable(above)


def test_persistent_limits_are_not_known():
    with pytest.raises(RefusalError, match=r"largest stable learning rate is known .* not for a persistence time of 2"):
        largest_stable_rate(make(alpha=2.0, b=0.5, tau=2.0))
