"""The model of multi-pass training: forces, batches, errors on fresh samples, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.dataset.multi_pass_model import TASKS, multi_pass_model
from dimfree.errors import ProblemError
from dimfree.functions.loss import loss


def make(task="two-clusters", name="square", **numbers):
    return multi_pass_model(task, loss(name), **({"alpha": 2.0, "eta": 0.2} | numbers))


@pytest.mark.parametrize("name", ["square", "logistic", "smooth-hinge"])
@pytest.mark.parametrize("task", TASKS)
def test_force_and_curvature_are_derivatives(task, name):
    model = make(task, "square" if task == "linear-teacher" else name, kappa_L=0.3)
    h, zeta = jnp.linspace(-2.13, 2.31, 23), jnp.linspace(1.4, -1.7, 23)  # none at a kink
    y = model.label(jnp.asarray([-1.0, 1.0, 0.0] * 8)[:23] if task == "three-clusters" else jnp.ones(23), zeta, zeta)
    for derivative, of in ((model.force, model.value), (model.curvature, model.force)):
        both = jax.jit(lambda y, h, one=derivative, of=of: (one(y, h), jax.vmap(jax.grad(of, 1))(y, h)))
        np.testing.assert_allclose(*both(y, h), rtol=1e-12, atol=1e-14)


def test_losses_of_the_tasks():
    y, h = jnp.asarray(-1.0), jnp.asarray(0.5)
    assert float(make().value(y, h)) == pytest.approx((1 + 0.5) ** 2 / 2)
    assert float(make("three-clusters", L=0.7).value(y, h)) == pytest.approx((1 + (0.25 - 0.49)) ** 2 / 2)
    assert float(make("linear-teacher").value(y, h)) == pytest.approx((-1 - 0.5) ** 2 / 2)
    assert float(make("phase-retrieval", kappa_L=0.25).value(y, h)) == pytest.approx((1 - 0.25) ** 2 / 4)
    assert float(make("sign-teacher").force(y, h)) == pytest.approx(-1 * (-0.5 - 1))


def test_labels():
    c, zeta, noise = jnp.asarray([1.0, -1.0, 0.0]), jnp.asarray([-0.3, 0.2, 1.0]), jnp.asarray([1.0, 0.0, -3.0])
    np.testing.assert_array_equal(make().label(c, zeta, noise), c)
    np.testing.assert_array_equal(make("three-clusters").label(c, zeta, noise), [1.0, 1.0, -1.0])
    noisy = {"label_noise": 0.25}
    np.testing.assert_allclose(make("linear-teacher", **noisy).label(c, zeta, noise), [0.2, 0.2, -0.5])
    np.testing.assert_array_equal(make("sign-teacher", **noisy).label(c, zeta, noise), [1.0, 1.0, -1.0])
    np.testing.assert_array_equal(make("phase-retrieval").label(c, zeta, noise), zeta)


@pytest.mark.parametrize(("b", "tau"), [(0.3, 2.0), (0.3, 0.6), (0.6, None), (0.8, 0.21), (1.0, 3.0)])
def test_batches_are_a_stationary_chain(b, tau):
    """Equation (2) against powers of the transition matrix."""
    model = make(b=b, tau=tau)
    enter, leave = float(model.enter), float(model.leave)
    step = np.array([[1 - enter, enter], [leave, 1 - leave]])
    np.testing.assert_allclose(np.array([1 - b, b]) @ step, [1 - b, b], rtol=1e-13, atol=1e-15)
    powers = [np.linalg.matrix_power(step, n)[1, 1] for n in range(8)]
    np.testing.assert_allclose(model.p11(jnp.arange(8)), powers, rtol=1e-13)


def test_vanilla_is_the_chain_at_eta_over_b():
    for none in (None, 0.0):
        one, other = make(b=0.3, tau=none), make(b=0.3, tau=0.2 / 0.3)
        assert float(one.kappa) == 0.0
        np.testing.assert_allclose([one.enter, one.leave], [other.enter, other.leave], rtol=1e-14)


def test_gradient_scale():
    assert float(make(b=0.25).gradient_scale) == 1.0
    assert float(make(b=0.25, rescaled=True).gradient_scale) == 4.0


@pytest.mark.parametrize("task", TASKS)
def test_generalisation_error_by_fresh_samples(task):
    m, C, Delta, count = 0.8, 1.3, 1.0 if task.endswith(("teacher", "retrieval")) else 0.3, 400_000
    model = make(task, Delta=Delta, rho0=0.3)
    rng = np.random.default_rng(0)
    zeta, g = rng.standard_normal((2, count))
    c = {
        "two-clusters": rng.choice([-1.0, 1.0], count),
        "three-clusters": rng.choice([-1.0, 0.0, 1.0], count, p=[0.35, 0.3, 0.35]),
    }
    c = c.get(task, np.zeros(count))
    h = m * (c + np.sqrt(Delta) * zeta) + np.sqrt(Delta * (C - m**2)) * g
    y = model.label(jnp.asarray(c), jnp.asarray(zeta), jnp.zeros(count))
    regression = task in ("linear-teacher", "phase-retrieval")
    seen = np.asarray(model.value(y, jnp.asarray(h)) if regression else 1 - model.accuracy(y, jnp.asarray(h)))
    z = (seen.mean() - float(model.generalisation_error(jnp.asarray(m), jnp.asarray(C)))) / seen.std() * np.sqrt(count)
    assert abs(z) < 4.5


def test_errors_of_zero_weights():
    zero = jnp.zeros(())
    expected = {"two-clusters": 0.5, "three-clusters": 0.7, "linear-teacher": 0.5, "sign-teacher": 0.5}
    for task, error in expected.items():
        assert float(make(task, rho0=0.3).generalisation_error(zero, zero)) == pytest.approx(error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "two-cluster"}, "there is no task 'two-cluster'; did you mean 'two-clusters'"),
        ({"task": "linear-teacher", "name": "logistic"}, "the logistic loss has no meaning; set loss = 'square'"),
        (
            {"task": "sign-teacher", "Delta": 0.5},
            "Delta is 0.5, but inputs of a teacher are standard normal; leave Delta at 1",
        ),
        ({"label_noise": 0.1}, "label_noise is 0.1, but labels of two-clusters are noiseless; set it to 0"),
        ({"alpha": 0.0}, "alpha is 0, it must be a positive number"),
        ({"eta": float("nan")}, "eta is nan, it must be a positive number"),
        ({"lambda_": -1.0}, "lambda is -1, it must be a zero or positive number"),
        ({"m0": float("inf")}, "m0 is inf, it must be a finite number"),
        (
            {"m0": 0.0, "c0": 0.0, "spherical": True},
            "c0 and m0 are 0, but weights of norm zero have no sphere to stay on",
        ),
        ({"rho0": 1.5}, "rho0 is 1.5, but it is the fraction of samples in the middle cluster; choose 0 to 1"),
        ({"b": 0.0}, r"the batch fraction b is 0, it must lie in \(0, 1\]"),
        ({"b": 1.2}, "the batch fraction b is 1.2"),
        (
            {"b": 0.1, "tau": 1 / 0.6},
            r"with b = 0.1 and eta = 0.2 a persistence time tau of 1.66667 .*choose tau >= 1.8",
        ),
        ({"b": 0.9, "tau": 0.1}, "choose tau >= 0.2"),
        ({"b": 0.9, "tau": -1.0}, "tau of -1"),
        ({"b": 0.9, "tau": float("nan")}, "tau of nan"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(ProblemError, match=message):
        make(**changes)
