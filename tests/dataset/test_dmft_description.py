"""The DMFT of a data set as a description: which observables there are, and what they mean."""

import jax
import numpy as np
import pytest

import dimfree as df
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.dmft.floats import Floats
from dimfree.dataset.dmft.kernels import kernels
from dimfree.dataset.dmft.paths import solve_paths
from dimfree.setting import model_of

ONE_TIME, TWO_TIME = {"m", "train_loss", "risk", "train_accuracy"}, {"C"}
WITH_RESPONSES = {"R", "K", "lambda_hat", "M_R", "M_C"}


def solve(steps=8, **training):
    """The model of the limit, and observables with axes (time, ensemble, ...)."""
    theory = DMFT(paths=300, ensembles=2)
    problem = df.extend.DataSetProblem(training=df.MultiPass(batch_fraction=0.5, weight_decay=0.1, **training))
    model, times = model_of(problem), problem.time_step * np.arange(0, steps + 1, 2)
    pieces = list(theory.account(model, None, df.extend.Ask(times, 1, jax.random.key(0))))
    assert {piece.along for piece in pieces} == {"replica"}
    names = pieces[0].observables
    return model.limit, {name: np.concatenate([one.observables[name] for one in pieces], axis=1) for name in names}


@pytest.mark.parametrize(("loss", "there"), [("logistic", True), ("smooth-hinge", True), ("hinge", False)])
def test_observables_of_a_loss(loss, there):
    _, seen = solve(loss=loss)
    assert set(seen) == ONE_TIME | TWO_TIME | (WITH_RESPONSES if there else set())
    assert {name: values.shape for name, values in seen.items() if name in ONE_TIME | {"lambda_hat"}} == dict.fromkeys(
        ONE_TIME | ({"lambda_hat"} if there else set()), (5, 2)
    )
    assert all(seen[name].shape == (5, 2, 5) for name in set(seen) & {"C", "R", "K", "M_R", "M_C"})


def test_long_runs_have_no_responses():
    _, seen = solve(steps=202, loss="logistic")
    assert not set(seen) & WITH_RESPONSES


def test_the_square_loss_always_has_its_kernels():
    """The exact closure has no paths whose accuracy could be counted."""
    limit, seen = solve(loss="square")
    assert set(seen) == {"m", "train_loss", "risk", "C"} | WITH_RESPONSES
    strength = float(limit.alpha * limit.Delta)
    np.testing.assert_allclose(seen["lambda_hat"], 0.1 + strength * 0.5, rtol=1e-12)  # every curvature is 1
    np.testing.assert_allclose(seen["M_R"][2, 0, 1], -strength * seen["K"][2, 0, 1] / limit.eta, rtol=1e-12)
    assert seen["M_R"][2, 0, 2] == 0.0


def test_kernels_make_the_weights_move_as_they_do():
    """The effective equation of a weight (2.1, without noise): R(t+1, s) from lambda_hat and M_R."""
    limit, _ = solve()
    found = solve_paths(limit, 6, jax.random.key(1), 300, 2)
    n, (lambda_hat, memory, noise) = Floats.of(limit), kernels(Floats.of(limit), found.K, found.M)
    for t, s in ((2, 0), (5, 1), (5, 4)):
        now = (1 - n.eta * lambda_hat[:, t]) * found.R[:, t, s]
        past = n.eta**2 * np.sum(memory[:, t, s + 1 : t] * found.R[:, s + 1 : t, s], axis=1)
        np.testing.assert_allclose(found.R[:, t + 1, s], now + past, rtol=1e-10)
    np.testing.assert_allclose(noise, np.swapaxes(noise, 1, 2))
