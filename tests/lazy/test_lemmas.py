"""The lemmas of the lazy limit: they hold on runs, with constants that are right, and are seen to fail where they should."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.comparison.run import starts_of
from dimfree.functions.named import activation
from dimfree.lazy.flow import starts
from dimfree.lazy.lemmas import Inequality, check_lemmas, lipschitz, steepness
from dimfree.lazy.network import Weights, difference, jacobian, product
from dimfree.setting import model_of

PROBLEM = df.Problem(
    data=df.DrawnPoints(samples=6, held_out=5),
    network=df.ScaledTwoLayer(width=40, activation="tanh", output_scale=0.5),
    dimension=6,
    run=df.Run(until=20.0, replicas=1, points=21),
)
MODEL = model_of(PROBLEM)
START = jax.tree.map(lambda x: x[0], starts(MODEL, starts_of(PROBLEM, (df.experiments.NetworkFlow(),))[0], 1))


@pytest.fixture(scope="module")
def run():
    return df.simulate(PROBLEM)


def checked(run, **changes):
    seen = {str(name): run[name].values[:, 0] for name in run.data_vars} | changes
    return check_lemmas(MODEL, START, run["time"].values, seen)


def test_they_hold_on_a_run_and_say_by_how_much(run):
    found = checked(run)
    assert found.holds
    first, second, third = found.lemmas
    assert 0 < first.left < first.right
    assert 0 < found.measured_beta == second.left < second.right == found.beta
    assert 0 < third.left == float(run["movement"].max()) < third.right == found.radius
    # the radius is written out: sqrt(lambda+)/(gamma lambda-) |e_0|
    low, high = float(run["smallest_eigenvalue"].min()), float(run["largest_eigenvalue"].max())
    assert found.radius == pytest.approx(np.sqrt(high) / (0.5 * low) * float(run["residual_norm"][0, 0]))
    assert not found.condition.holds, "these bounds are far from sharp"


def test_runs_that_break_a_lemma_are_seen(run):
    slow = run["train_loss"].values[:, 0].copy()
    slow[1:] = slow[0]
    assert [one.holds for one in checked(run, train_loss=slow).lemmas] == [False, True, True]
    torn = 10 * run["jacobian_change"].values[:, 0]
    assert [one.holds for one in checked(run, jacobian_change=torn).lemmas] == [True, False, True]
    far = 1e6 * run["movement"].values[:, 0]
    assert [one.holds for one in checked(run, movement=far).lemmas] == [True, True, False]


def test_a_singular_kernel_makes_them_say_nothing(run):
    found = checked(run, smallest_eigenvalue=np.zeros(run.sizes["time"]))
    assert found.holds
    assert found.radius == np.inf
    assert not found.condition.holds


def test_bounds_far_out_are_enough_for_certainty():
    lazy = PROBLEM.replace(**{"network.output_scale": 1e4})
    found = check_lemmas(
        model_of(lazy), START, lazy.times, {str(k): v.values[:, 0] for k, v in df.simulate(lazy).data_vars.items()}
    )
    assert found.condition.holds
    assert found.holds


@pytest.mark.parametrize("trained", [(True, True), (True, False), (False, True)])
def test_the_constant_of_lemma_2_is_one_for_every_pair_of_weights(trained):
    """Random ends, near and far: |J - J_0| is never more than beta |theta - theta_0|."""
    parts = [part for part, is_trained in zip(("first-layer", "second-layer"), trained, strict=True) if is_trained]
    model = model_of(PROBLEM.replace(**{"network.trained": parts}))
    beta, key = lipschitz(model, START), jax.random.key(1)
    ratios = []
    for number in range(60):
        one, other = jax.random.split(jax.random.fold_in(key, number))
        size = 10.0 ** (number % 4 - 2)
        da, dW = size * jax.random.normal(one, (40,)), size * jax.random.normal(other, (40, 6))
        da, dW = da * trained[1], dW * trained[0]
        rows = [jacobian(model.shape, w, model.X) for w in (Weights(START.a + da, START.W + dW), START)]
        change = difference(*rows)
        moved = jnp.sqrt(jnp.sum(da**2) + jnp.sum(dW**2))
        ratios.append(float(jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(product(change, change))[-1], 0.0)) / moved))
    assert max(ratios) <= beta * (1 + 1e-12)
    assert max(ratios) > beta / 20 or trained == (False, True)
    assert (beta == 0) == (trained == (False, True)), "a second layer alone has a Jacobian that does not move"


def test_the_steepest_and_the_most_curved_place():
    erf, tanh = steepness(activation("erf")), steepness(activation("tanh"))
    assert erf == pytest.approx((np.sqrt(2 / np.pi), np.sqrt(2 / np.pi) * np.exp(-0.5)), rel=1e-5)
    assert tanh == pytest.approx((1.0, 4 / 3**1.5), rel=1e-5)
    assert steepness(activation("relu")) == (pytest.approx(1.0, rel=1e-5), np.inf)
    assert steepness(activation("softplus"))[0] == pytest.approx(1.0, rel=1e-5)
    assert steepness(activation("square"))[0] == np.inf


def test_an_inequality_allows_for_the_solver_and_no_more():
    assert Inequality("", "", 1.0, 1.0).holds
    assert not Inequality("", "", 1.0 + 1e-6, 1.0).holds
