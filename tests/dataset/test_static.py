"""The static limit: closed ridge form, exact minimisers of drawn data, known numbers (docs/theory/dmft.md, sections 6 and 8)."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from dimfree.dataset.ends import static
from dimfree.dataset.ends.static import Static, fixed_point, ridge, static_limit
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.errors import DivergenceError, RefusalError
from dimfree.functions.loss import loss
from dimfree.problem import Problem
from dimfree.setting import model_of
from stages import gating


def make(name, width=1.0, **numbers):
    return multi_pass_model("two-clusters", loss(name, width), **({"alpha": 2.0, "Delta": 0.5, "eta": 0.1} | numbers))


@pytest.mark.parametrize("alpha", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("lambda_", [0.05, 1.0])
def test_fixed_point_is_the_ridge_solution(alpha, lambda_):
    model = make("square", alpha=alpha, Delta=0.7, lambda_=lambda_)
    (limit, change), closed = fixed_point(model), ridge(model)
    assert float(change) < 1e-13
    np.testing.assert_allclose(limit, closed, rtol=2e-12)


def test_logistic_numbers():
    limit = static_limit(make("logistic", lambda_=0.1))
    expected = [1.66688559502, 3.91006024032, 5.52978857351, 0.175196390985, 0.116602205223]
    np.testing.assert_allclose(limit, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("name", "width"), gating([("logistic", 1.0), ("smooth-hinge", 0.5)], [("logistic", 1.0)]))
def test_minimiser_of_drawn_data(name, width):
    """m, C and training loss of the exact minimiser at N = 200; the 1/N bias is below the standard error."""
    model = make(name, width, lambda_=0.3)
    ell, N, rng = model.loss, 200, np.random.default_rng(3)
    seen = []
    for _ in range(24):
        X = np.ones(N) / np.sqrt(N) + np.sqrt(0.5) * rng.standard_normal((2 * N, N))

        def cost(w, X=X):
            h = jnp.asarray(X @ w / np.sqrt(N))
            gradient = X.T @ np.asarray(ell.derivative(h)) / np.sqrt(N) + 0.3 * w
            return float(ell(h).sum()) + 0.15 * w @ w, gradient

        w = minimize(cost, np.zeros(N), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-8}).x
        seen.append((w.mean(), w @ w / N, float(ell(jnp.asarray(X @ w / np.sqrt(N))).mean())))
    limit = static_limit(model)
    error = np.std(seen, axis=0, ddof=1) / np.sqrt(len(seen))
    z = (np.mean(seen, axis=0) - [limit.m, limit.C, limit.train_loss]) / error
    assert np.abs(z).max() < 4, z


def test_smooth_hinge_tends_to_the_hinge():
    """First order in the width; the hinge itself needs no curvature here."""
    hinge = np.array(static_limit(make("hinge", lambda_=0.1)))
    gaps = [np.abs(np.array(static_limit(make("smooth-hinge", width, lambda_=0.1))) - hinge) for width in (0.02, 0.002)]
    np.testing.assert_allclose(gaps[0] / gaps[1], 10, rtol=0.1)


def test_batch_fraction_rescales_the_regularisation():
    """Around this point vanilla SGD moves: ridge lambda/b, unless the gradient is divided by b."""
    small = static_limit(make("square", b=0.25, lambda_=0.1))
    np.testing.assert_allclose(small, static_limit(make("square", lambda_=0.4)), rtol=1e-13)
    rescaled = static_limit(make("square", b=0.25, rescaled=True, lambda_=0.1))
    np.testing.assert_allclose(rescaled, static_limit(make("square", lambda_=0.1)), rtol=1e-13)


def test_without_regularisation():
    """More samples than weights: least squares has a minimum; separable data have none under the logistic loss."""
    np.testing.assert_allclose(
        static_limit(make("square", lambda_=0.0)), static_limit(make("square", lambda_=1e-12)), rtol=1e-10
    )
    with pytest.raises(RefusalError, match=r"with lambda = 0 and alpha <= 1 the minimum is not unique; raise lambda"):
        static_limit(make("square", alpha=1.0, lambda_=0.0))
    with pytest.raises(DivergenceError, match=r"did not settle at lambda = 0; raise lambda: .*separable data"):
        static_limit(make("logistic", alpha=0.5, lambda_=0.0))


def test_other_tasks_are_refused():
    with pytest.raises(RefusalError, match="two clusters without the sphere"):
        static_limit(multi_pass_model("sign-teacher", loss("logistic"), alpha=2.0, eta=0.1))
    with pytest.raises(RefusalError, match="two clusters without the sphere"):
        static_limit(make("logistic", spherical=True, lambda_=0.1))


def test_a_refusal_and_the_account_after_it_solve_once(monkeypatch):
    problem = Problem(
        data={"kind": "two-clusters"}, training={"kind": "multi-pass", "loss": "square", "weight_decay": 0.3}
    )
    one, model, solved = Static(), model_of(problem), []
    monkeypatch.setattr(static, "ridge", lambda limit: solved.append(limit) or ridge(limit))
    assert one.refuses(problem, model) is None
    first = one.solve(model)
    assert one.solve(model) is first
    assert len(solved) == 1
    other = model_of(problem.replace(**{"training.weight_decay": 0.4}))
    assert float(one.solve(other)["risk"]) != float(first["risk"])
