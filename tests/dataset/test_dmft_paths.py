"""Path DMFT against the exact square-loss closure, recorded ensembles and direct simulation."""

import jax
import numpy as np
import pytest

from dimfree.dataset.dmft import response, square
from dimfree.dataset.dmft.paths import mean_and_error, memory, solve_paths
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.dataset.real.descent import simulate_dataset
from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.functions.loss import loss

KEY = jax.random.key(11)
MIXTURE = {"task": "two-clusters", "alpha": 2.0, "Delta": 0.5, "eta": 0.2}
RIDGE = {**MIXTURE, "lambda_": 0.1}
TEACHER = {"task": "linear-teacher", "alpha": 2.0, "eta": 0.1, "lambda_": 0.1, "m0": 0.2}
LARGEST_Z = 5.0  # error bars from a few ensembles are themselves uncertain: Student's t has long tails


def model(kind="square", **numbers):
    return multi_pass_model(numbers.pop("task"), loss(kind), **numbers)


def largest_z(values, expected, error_of_expected=0.0, floor=1e-6):
    """How many standard errors the mean over ensembles is away, at worst; the floor is float32 and dropped noise."""
    mean, error = mean_and_error(values)
    return np.max(np.abs(mean - np.asarray(expected)) / np.sqrt(error**2 + error_of_expected**2 + floor**2))


@pytest.mark.parametrize(
    "numbers",
    [
        RIDGE,
        {**RIDGE, "temperature": 0.25},
        {**TEACHER, "m0": 0.4, "c0": 0.84, "label_noise": 0.3, "spherical": True},
        {**RIDGE, "m0": 0.5, "c0": 2.0, "spherical": True},
    ],
    ids=["clusters", "langevin", "noisy-teacher-on-the-sphere", "sphere-of-the-start"],
)
def test_full_batch_with_the_square_loss_has_no_sampling_error(numbers):
    """Responses are kept in float32; without them all digits are there."""
    exact = square.solve(model(**numbers), 30)
    for responses, tolerance in ((True, 1e-7), (False, 1e-11)):
        paths = solve_paths(model(**numbers), 30, KEY, 500, 2, responses)
        for name in ("m", "C", "M", "train_loss", "generalisation_error", *(("R", "K") if responses else ())):
            for ensemble in getattr(paths, name):
                np.testing.assert_allclose(ensemble, getattr(exact, name), rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.slow
def test_long_smooth_trajectories_do_no_harm():
    """Kernels of gradient descent are singular to all digits; 300 steps come to rest at the static limit."""
    numbers = {**RIDGE, "eta": 0.5}
    exact, paths = square.solve(model(**numbers), 300), solve_paths(model(**numbers), 300, KEY, 1300, 2, False)
    np.testing.assert_allclose(paths.C, np.broadcast_to(exact.C, paths.C.shape), rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    "numbers", [{**RIDGE, "b": 0.3}, {**RIDGE, "b": 0.3, "tau": 2.0}], ids=["vanilla", "persistent"]
)
def test_without_responses_the_square_loss_still_matches(numbers):
    """The floor is the bias of order T/P, below 1e-3 here."""
    exact, paths = square.solve(model(**numbers), 30), solve_paths(model(**numbers), 30, KEY, 4000, 32, False)
    assert paths.R is None
    assert paths.K is None
    for name in ("m", "C", "M", "train_loss", "generalisation_error"):
        assert largest_z(getattr(paths, name), getattr(exact, name), floor=1e-3) < LARGEST_Z, name


def test_derivatives_of_heavy_tailed_paths_do_not_act_on_the_weights():
    start = {"m0": 0.4, "c0": 0.84, "spherical": True}
    m = model(task="phase-retrieval", alpha=4.0, eta=0.02, b=0.5, tau=0.5, **start)
    with_responses, without = (solve_paths(m, 10, KEY, 400, 2, responses) for responses in (True, False))
    assert with_responses.K is not None
    np.testing.assert_array_equal(with_responses.m, without.m)


@pytest.mark.slow
def test_the_error_of_long_runs_falls_with_the_number_of_paths():
    """Without responses every step uses up two directions of the space of paths: a bias like T/P."""
    letters = model(**RIDGE, b=0.3, tau=2.0)
    exact, bias = square.solve(letters, 300).train_loss[-1], []
    for paths in (2000, 16_000):
        mean, error = mean_and_error(solve_paths(letters, 300, KEY, paths, 12, False).train_loss[:, -1:])
        bias.append(abs(mean[0] - exact))
        assert error[0] < 0.15 * bias[0]
    assert bias[1] < bias[0] / 4
    assert bias[1] < 0.01 * exact


@pytest.mark.slow
@pytest.mark.parametrize(
    "numbers",
    [
        {**RIDGE, "b": 0.3},
        {**RIDGE, "b": 0.3, "tau": 2.0},
        pytest.param({**RIDGE, "eta": 0.1, "b": 0.5, "tau": 1.0, "rescaled": True}, marks=pytest.mark.slow),
        pytest.param({**TEACHER, "b": 0.3, "tau": 2.0, "label_noise": 0.3}, marks=pytest.mark.slow),
    ],
    ids=["vanilla", "persistent", "rescaled", "noisy-teacher"],
)
def test_batches_with_the_square_loss_match_the_exact_closure(numbers):
    exact, paths = square.solve(model(**numbers), 30), solve_paths(model(**numbers), 30, KEY, 2000, 32)
    for name in ("m", "C", "R", "K", "M", "train_loss", "generalisation_error"):
        assert largest_z(getattr(paths, name), getattr(exact, name)) < LARGEST_Z, name
    assert np.abs(paths.K.mean(axis=0) - exact.K).max() < 1e-3


def test_another_persistence_is_noticed():
    exact, paths = (
        square.solve(model(**RIDGE, b=0.3, tau=2.0), 30),
        solve_paths(model(**RIDGE, b=0.3), 30, KEY, 2000, 8),
    )
    assert largest_z(paths.M, exact.M) > 4 * LARGEST_Z
    assert largest_z(paths.m, exact.m) > LARGEST_Z


# Averages and errors of 40 ensembles of 4000 paths from a solver written independently, at steps 5, 20 and 40.
RECORDED = {
    (1.0, 0.0): {
        "m": ([0.7421172, 1.598421, 2.125903], [2.6e-05, 8.5e-05, 0.00032]),
        "C": ([1.364111, 3.702915, 6.415624], [4.1e-05, 0.00067, 0.0032]),
        "train_loss": ([0.3905191, 0.2002903, 0.1387453], [3.3e-05, 7e-05, 7.1e-05]),
        "generalisation_error": ([0.1844349, 0.1200533, 0.1176197], [5.8e-06, 1.1e-05, 2.5e-05]),
    },
    (0.3, 0.0): {
        "m": ([0.2730119, 0.8105408, 1.226239], [0.00012, 0.00021, 0.00022]),
        "C": ([0.9795069, 1.486297, 2.426328], [0.00011, 0.00052, 0.00089]),
        "train_loss": ([0.5904074, 0.3692085, 0.26437], [7.8e-05, 8.4e-05, 8.2e-05]),
        "generalisation_error": ([0.3482259, 0.1735482, 0.1327879], [5.7e-05, 2.4e-05, 1.3e-05]),
    },
    (0.3, 5 / 3): {
        "m": ([0.2693279, 0.8005072, 1.216335], [0.00025, 0.0005, 0.00056]),
        "C": ([0.9931455, 1.522708, 2.461616], [0.00023, 0.0013, 0.0023]),
        "train_loss": ([0.593599, 0.3758651, 0.2698789], [0.00015, 0.0002, 0.00018]),
        "generalisation_error": ([0.3511575, 0.1794594, 0.136457], [0.00012, 5.9e-05, 2.4e-05]),
    },
}


def worst_against_recorded(b, tau):
    paths, z = solve_paths(model("logistic", **MIXTURE, b=b, tau=tau), 40, KEY, 3000, 8), {}
    for name, (expected, error) in RECORDED[b, tau].items():
        values = getattr(paths, name)
        one_time = np.diagonal(values, axis1=1, axis2=2) if name == "C" else values
        z[name] = largest_z(one_time[:, [5, 20, 40]], expected, np.asarray(error))
    return max(z.values())


@pytest.mark.parametrize(("b", "tau"), RECORDED)
def test_the_logistic_loss_matches_recorded_ensembles(b, tau):
    assert worst_against_recorded(b, tau) < LARGEST_Z


def test_a_response_without_the_curvature_of_its_cause_is_noticed(monkeypatch):
    """K(t,s) contains the curvature at t and at s (section 2.1)."""
    right, band = response.Response._row, response.BAND

    def wrong(self, t, kernel, slope):
        K = right(self, t, kernel, slope)
        self.bands[-1][t % band, t % band] = slope != 0
        return K

    monkeypatch.setattr(response.Response, "_row", wrong)
    assert worst_against_recorded(0.3, 0.0) > 2 * LARGEST_Z


def against_simulation(m, steps, dimension, seeds, paths, ensembles, responses=True):
    """The largest deviation of every observable, in combined standard errors."""
    theory, seen = (
        solve_paths(m, steps, KEY, paths, ensembles, responses),
        simulate_dataset(m, dimension, range(steps + 1), jax.random.key(15), seeds),
    )
    z = {}
    for name in seen._fields:
        mean, error = mean_and_error(getattr(theory, name))
        seen_mean, seen_error = mean_and_error(getattr(seen, name))
        z[name] = np.max(np.abs(mean - seen_mean) / np.sqrt(error**2 + seen_error**2 + 1e-8))
    return z


@pytest.mark.parametrize(
    "numbers",
    [
        {**MIXTURE, "b": 0.3, "tau": 1.0},
        pytest.param(
            {"task": "three-clusters", "alpha": 3.0, "Delta": 0.05, "eta": 0.2, "m0": 0.3, "b": 0.5},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"task": "sign-teacher", "alpha": 2.0, "eta": 0.2, "b": 0.5, "lambda_": 0.1, "label_noise": 0.2},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["two-clusters", "three-clusters", "sign-teacher"],
)
def test_the_logistic_loss_matches_a_small_simulation(numbers):
    z = against_simulation(model("logistic", **numbers), 15, 400, 24, 1500, 8)
    assert max(z.values()) < LARGEST_Z, z


@pytest.mark.slow
@pytest.mark.parametrize(
    ("b", "tau"), [(0.1, 0.0), (0.3, 0.0), (0.6, 0.0), (1.0, 0.0), (0.3, 5 / 3), (0.6, 5 / 3), (0.1, 5.0)]
)
def test_the_logistic_loss_matches_simulation(b, tau):
    z = against_simulation(model("logistic", **MIXTURE, b=b, tau=tau), 80, 1000, 160, 4000, 24)
    assert max(z.values()) < 3, z


@pytest.mark.slow
@pytest.mark.parametrize(("b", "tau"), [(1.0, 0.0), (0.3, 0.0), (0.3, 5 / 3)])
def test_the_hinge_loss_needs_no_smoothing_without_responses(b, tau):
    m = model("hinge", **MIXTURE, b=b, tau=tau, lambda_=0.1)
    z = against_simulation(m, 40, 1000, 40, 8000, 12, responses=False)
    assert max(z.values()) < 3.5, z


@pytest.mark.slow
@pytest.mark.parametrize(("b", "tau"), [(1.0, 0.0), (0.5, 0.5)])
def test_phase_retrieval_on_the_sphere_matches_simulation(b, tau):
    start = {"m0": 0.4, "c0": 0.84, "spherical": True}
    z = against_simulation(
        model(task="phase-retrieval", alpha=4.0, eta=0.02, b=b, tau=tau, **start), 40, 1500, 24, 4000, 12
    )
    assert max(z[name] for name in ("m", "train_loss", "generalisation_error")) < 3.5, z


def test_equal_keys_give_equal_numbers_and_ensembles_differ():
    m = model("logistic", **MIXTURE, b=0.3)
    one, two = (solve_paths(m, 5, KEY, 200, 2) for _ in range(2))
    for name in one._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.m[0, -1] != one.m[1, -1]
    np.testing.assert_array_equal(one.m[:, 0], 0.0)
    np.testing.assert_array_equal(one.C[:, 0, 0], 1.0)


def test_bad_requests_are_answered_in_one_sentence():
    m = model("logistic", **MIXTURE)
    with pytest.raises(ProblemError, match="1 ensembles give no error bar"):
        solve_paths(m, 5, KEY, 200, 1)
    with pytest.raises(ProblemError, match="30 paths are too few for 5 steps; use at least 36"):
        solve_paths(m, 5, KEY, 30, 2)
    assert 5e7 < memory(80, 4000, 4) < 1e8
    assert memory(80, 4000, 4, responses=False) < 1e7
    with pytest.raises(
        RefusalError, match=r"GB of memory where the machine has .* fewer steps, or leave out the responses"
    ):
        solve_paths(m, 5000, KEY, 400_000, 4)
    with pytest.raises(RefusalError, match="hinge loss has no second derivative"):
        solve_paths(model("hinge", **MIXTURE), 5, KEY, 200, 2)
    with pytest.raises(DivergenceError, match="the paths diverge at step"):
        solve_paths(model(**{**MIXTURE, "eta": 1e30}), 30, KEY, 200, 2)
