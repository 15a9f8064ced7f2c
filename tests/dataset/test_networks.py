"""Networks of several units on a data set: every solver meets one that shares no equation with it."""

import tracemalloc
from dataclasses import replace
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from network_models import BROKEN, CORRELATED, ONE, TWO, model, rms

import dimfree as df
from dimfree.dataset.committee.batches import Batches
from dimfree.dataset.committee.descent import run_memory, run_network
from dimfree.dataset.committee.fresh import solve_fresh
from dimfree.dataset.committee.linear import solve_linear
from dimfree.dataset.committee.loss import network_loss
from dimfree.dataset.committee.paths import bias, default_paths, memory, solve_paths
from dimfree.dataset.committee.protocol import check_protocol
from dimfree.dataset.committee.spectral import solve_spectral
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.taught import risks
from dimfree.dataset.committee.two_steps import two_steps
from dimfree.dataset.dmft.paths import solve_ensemble
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.errors import ProblemError, RefusalError
from dimfree.functions.label_law import GaussianValues, Signs
from dimfree.functions.loss import loss
from dimfree.functions.sample_loss import HuberLoss, LogisticLoss
from dimfree.functions.schedule import Power
from stages import gating

FULL = [
    {"alpha": 2.0, "beta": 0.4, "lambda_": 0.05, "Delta": 0.1, "eta_a": 0.5, "lambda_a": 0.02, "train_a": True},
    {"alpha": 0.6, "Delta": 0.2, "eta_a": 0.5, "train_a": True},
    {"alpha": 1.0, "beta": 0.6, "Delta": 0.5, "schedule": Power(*map(jnp.asarray, (3.0, 0.5, 1.0)))},
]


@pytest.mark.parametrize("changes", FULL)
def test_linear_units_follow_the_spectrum_of_the_data(changes):
    one = model(P=CORRELATED, **changes)
    exact, spectral = solve_linear(one, TWO, 60), solve_spectral(one, TWO, 60)
    for name in ("M", "Q", "a", "train_loss"):
        np.testing.assert_allclose(getattr(exact, name), getattr(spectral, name), rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("changes", gating(FULL, [FULL[0]]))
def test_paths_of_linear_units_are_exact_with_few_of_them(changes):
    one = model(P=CORRELATED, **changes)
    exact, paths = solve_linear(one, TWO, 40), solve_paths(one, TWO, 40, jax.random.key(1), 1000)
    for name in ("M", "Q", "a", "train_loss", "C"):
        np.testing.assert_allclose(getattr(paths, name), getattr(exact, name), rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(
    "changes",
    [
        {"b": 0.5, "lambda_": 0.1, "rescaled": True},
        {"b": 0.5, "tau": 1.5, "protocol": "persistent", "temperature": 0.1, "Delta": 0.2},
    ],
)
def test_one_linear_unit_is_the_linear_teacher(changes):
    one, steps = model(ONE, **changes), 40
    names = {"b", "lambda_", "rescaled", "tau", "temperature"}
    numbers = {name: value for name, value in changes.items() if name in names}
    single = multi_pass_model(
        "linear-teacher",
        loss("square"),
        alpha=2.0,
        eta=0.3,
        m0=0.3,
        c0=1 - 0.3**2,
        label_noise=changes.get("Delta", 0.0),
        **numbers,
    )
    found, known = solve_linear(one, ONE, steps), solve(single, steps)
    pairs = {"m": found.M[:, 0, 0], "C": found.C[..., 0, 0], "R": found.R[..., 0, 0], "K": found.K[..., 0, 0]}
    for name, values in pairs.items():
        np.testing.assert_allclose(values, getattr(known, name), rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(found.train_loss, known.train_loss, rtol=0, atol=1e-12)
    np.testing.assert_allclose(risks(one, found.M, found.Q, found.a), known.generalisation_error, rtol=0, atol=1e-12)


def test_offsets_of_linear_units_are_driven_by_the_kernel_of_the_weights():
    """The mean force is u sum_s k(t,s) u(s).b(s): offsets are a direction of the data that no label lies along (L1)."""
    start, eta, alpha = CommitteeStart(*TWO[:3], np.array([0.5, -0.8])), 0.3, 2.0
    one = model(
        start, P=CORRELATED, train_b=True, offsets=True, lambda_=0.05, beta=0.4, Delta=0.1, alpha=alpha, eta=eta
    )
    found = solve_paths(one, start, 30, jax.random.key(1), 1000)
    k, u = solve_linear(replace(one, offsets=False, train_b=False), start, 30).k, TWO.a / 2
    b, v = [start.b], np.zeros(2)
    for t in range(30):
        v = 0.4 * v - eta * (0.05 * b[t] + alpha * u * sum(k[t, s] * u @ b[s] for s in range(t + 1)))
        b.append(b[t] + v)
    np.testing.assert_allclose(found.bias, b, atol=1e-10)
    assert abs(b[0] @ u) > 3 * abs(b[-1] @ u)


def z_scores(first, second, names=("M", "Q", "train_loss")):
    """By name, from two lists of runs; what every run has exactly does not count."""
    scores = {}
    for name in names:
        x, y = (np.stack([getattr(one, name) for one in runs])[:, 1:] for runs in (first, second))
        error = np.hypot(x.std(axis=0, ddof=1) / len(x) ** 0.5, y.std(axis=0, ddof=1) / len(y) ** 0.5)
        scores[name] = np.where(error > 1e-12, (x.mean(axis=0) - y.mean(axis=0)) / np.maximum(error, 1e-12), 0.0)
    return scores


NETWORKS = {
    "erf, reshuffle": {"units": "erf", "protocol": "reshuffle", "b": 0.25, "eta": 2.0, "Delta": 0.05},
    "relu, momentum": {"units": "relu", "beta": 0.5, "eta": 0.4, "lambda_": 0.02},
    "tanh, trained": {"units": "tanh", "b": 0.5, "eta": 1.0, "eta_a": 0.4, "train_a": True},
    "erf, sphere, heat": {"units": "erf", "spherical": True, "temperature": 0.02, "eta": 0.8},
    "erf, twice": {"units": "erf", "protocol": "twice", "b": 0.2, "eta": 1.5, "alpha": 4.0},
    "erf, cyclic": {"units": "erf", "protocol": "cyclic", "b": 0.5, "eta": 1.5},
    "relu, offsets": {"units": "relu", "b": 0.5, "eta": 0.6, "train_b": True, "offsets": True, "lambda_": 0.05},
}


@pytest.mark.parametrize("case", gating(NETWORKS, ["tanh, trained"]))
def test_paths_are_where_real_training_is(case):
    one, steps = model(BROKEN, **NETWORKS[case]), 8
    theory = [solve_paths(one, BROKEN, steps, key, 4000) for key in jax.random.split(jax.random.key(3), 12)]
    real = [run_network(one, BROKEN, np.arange(steps + 1), key) for key in jax.random.split(jax.random.key(4), 40)]
    for name, z in z_scores(theory, real, ("M", "Q", "a", "bias", "train_loss")).items():
        assert rms(z) < 2, (name, z)
        assert np.abs(z).max() < 4.5, (name, z)


FRESH = {
    "noise": {"Delta": 0.02},
    "momentum, trained": {"beta": 0.5, "eta": 0.6, "train_a": True, "eta_a": 0.4, "lambda_a": 0.1, "lambda_": 0.1},
    "sphere, heat, momentum": {"spherical": True, "temperature": 0.05, "beta": 0.4, "eta": 0.8},
    "mean gradient": {"rescaled": True, "eta": 0.2, "Delta": 0.1},
}


@pytest.mark.parametrize("case", gating(FRESH, ["momentum, trained"]))
def test_one_pass_batches_obey_the_recursion_of_fresh_samples(case):
    changes = {"eta": 1.5, **FRESH[case]}
    one = model(BROKEN, units="erf", protocol="one-pass", alpha=4.0, b=0.125, **changes)
    as_expected(one, BROKEN, ("M", "Q", "a"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", [(LogisticLoss(), Signs(jnp.zeros(()), blurred=True)), (HuberLoss(jnp.asarray(0.3)), GaussianValues())]
)
def test_one_pass_batches_of_other_losses_obey_it_too(loss):
    one = model(TWO, units="tanh", protocol="one-pass", alpha=4.0, b=0.125, eta=2.0, beta=0.3, Delta=0.1)
    one = replace(one, loss=loss[0], labels=loss[1], train_a=True, eta_a=jnp.asarray(0.3))
    as_expected(one, TWO, ("M", "Q", "a"))


def as_expected(one, start, names):
    """Paths are where the closed recursion is."""
    paths = [solve_paths(one, start, 8, key, 8000) for key in jax.random.split(jax.random.key(5), 12)]
    exact = solve_fresh(one, start, 8)
    for name in names:
        values = np.stack([getattr(run, name) for run in paths])[:, 1:]
        error = values.std(axis=0, ddof=1) / 12**0.5
        off = values.mean(axis=0) - getattr(exact, name)[1:]
        z = np.where(error > 1e-9, off / np.maximum(error, 1e-9), 1e9 * (np.abs(off) > 1e-9))  # norms on a sphere
        assert rms(z) < 2, (name, z)
        assert np.abs(z).max() < 5, (name, z)


def test_a_recursion_that_does_not_close_says_why():
    one = replace(model(units="erf"), loss=network_loss("insensitive", 0.2, classes=False))
    with pytest.raises(RefusalError, match="the average of the insensitive loss over noisy values is not closed"):
        solve_fresh(one, TWO, 3)


def test_a_batch_used_twice_finds_he3_and_fresh_ones_do_not():
    start = CommitteeStart(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1))
    one = model(start, units="tanh", taught="he3", alpha=3.0)
    assert two_steps(one, start, reused=True).M[2] == pytest.approx(-0.215923, abs=3e-6)
    assert two_steps(one, start, reused=False).M[2] == pytest.approx(0.0, abs=1e-9)
    even = model(start, units="tanh", taught="he2", alpha=3.0)
    assert two_steps(even, start, reused=True).M[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("exact", [True, False])
def test_batches_follow_their_protocol(exact):
    rng, count = np.random.default_rng(1), 4000

    def drawn(steps, **changes):
        batches = Batches(model(**changes), count, rng, exact=exact)
        return np.stack([batches.at(t) for t in range(steps)])

    for protocol, uses in (("cyclic", 2), ("reshuffle", 2), ("one-pass", 1), ("twice", 2)):
        steps = {"one-pass": 4, "twice": 8}.get(protocol, 8)
        seen = drawn(steps, protocol=protocol, b=0.25)
        assert (seen.sum(axis=0) == uses).all()
        assert (seen.sum(axis=1) == count // 4).all()
        assert (seen[0] == seen[-4]).all() == (protocol in ("cyclic", "one-pass"))  # a step of one pass is its own
        assert (seen[0] == seen[1]).all() == (protocol == "twice")
    vanilla = drawn(50, b=0.3)
    assert vanilla.mean() == pytest.approx(0.3, abs=0.01)
    lasting = drawn(200, protocol="persistent", b=0.5, eta=0.3, tau=1.5)
    assert lasting.mean() == pytest.approx(0.5, abs=0.03)
    assert (lasting[1:] & ~lasting[:-1]).sum() / (~lasting[:-1]).sum() == pytest.approx(0.2, abs=0.01)
    assert drawn(3).all()


def test_default_paths_keep_the_bias_below_a_per_cent():
    one = model(alpha=3.0)
    assert bias(one, 100, default_paths(one, 100)) <= 0.01
    assert default_paths(one, 2) == 4000


@pytest.mark.parametrize(
    ("changes", "steps", "message"),
    [
        (
            {"protocol": "cyclic", "b": 0.3},
            5,
            r"batch_fraction is 0.3, but cyclic batches cut the data set into equal groups; .* 1/3",
        ),
        ({"protocol": "one-pass", "b": 0.25}, 5, "last for 4 steps, and run.until asks for 5"),
        (
            {"protocol": "persistent", "b": 0.5, "tau": 0.1},
            5,
            "a persistence of 0.1 needs probabilities above one",
        ),
        ({"beta": 1.0}, 5, "beta is 1, it must be at least 0 and below 1"),
        ({}, 500, "4000 paths are too few for 500 steps of 2 units; use at least"),
    ],
)
def test_batches_that_do_not_exist_are_refused(changes, steps, message):
    with pytest.raises(ProblemError, match=message):
        solve_paths(model(**changes), TWO, steps, jax.random.key(0), 4000)


def test_an_impossible_start_is_refused():
    start = CommitteeStart(np.array([[1.2, 0.1], [-0.1, 0.3]]), TWO.Q, TWO.a)
    with pytest.raises(ProblemError, match=r"the start is impossible: .* lower start.M or raise start.Q"):
        solve_linear(model(), start, 3)
    with pytest.raises(RefusalError, match="not erf units with the square loss and vanilla batches; use paths"):
        solve_linear(model(units="erf"), TWO, 3)


def test_an_unknown_protocol_is_refused_with_the_nearest_one():
    with pytest.raises(ProblemError, match="there is no protocol of batches 'twise'; did you mean 'twice'"):
        check_protocol("twise", 0.1, 0.5, 0.0, 5)


@pytest.mark.slow
def test_one_pass_in_small_batches_is_the_ode_of_fresh_samples():
    """Equation (9) is an Euler scheme of it as c = b alpha goes to 0; extrapolated, both are one (section 5.2)."""
    rows = []
    for c in 0.5 ** np.arange(1, 6):
        small = model(BROKEN, units="erf", alpha=c, eta=1.5, Delta=0.02)
        last = solve_fresh(small, BROKEN, round(10 / c))
        rows.append(np.concatenate([last.M[-1], last.Q[-1]]))
    for order in range(1, len(rows)):
        rows = [(2**order * finer - coarser) / (2**order - 1) for coarser, finer in pairwise(rows)]
    fresh = df.Problem(
        data=df.Teacher(units=2, noise=0.02),
        network=df.TwoLayer(width=2),
        training=df.OnePass(learning_rate=1.5),
        start=df.OverlapStart(Q=BROKEN.Q.tolist(), M=BROKEN.M.tolist()),
        run=df.Run(until=7.5, points=2),
    )
    ode = df.solve(fresh)
    np.testing.assert_allclose(rows[0], np.concatenate([ode["M"].values[-1, 0], ode["Q"].values[-1, 0]]), atol=1e-8)


def sphere_in_heat():
    """A linear unit and a linear teacher."""
    numbers = {"alpha": 2.0, "eta": 0.3, "b": 0.5, "temperature": 0.1}
    one = model(ONE, **numbers, spherical=True, Delta=0.2)
    return one, "linear-teacher", "square", {**numbers, "spherical": True, "label_noise": 0.2}


def phase_retrieval():
    """A square unit and a square teacher are the loss (y² - h²)²/2."""
    numbers = {"alpha": 4.0, "eta": 0.02, "b": 0.5}
    one = model(ONE, **numbers, units="square", spherical=True)
    return one, "phase-retrieval", "square", {**numbers, "spherical": True, "kappa_L": 0.5}


def classes():
    """The sign of a linear teacher by the logistic loss, in persistent batches."""
    numbers = {"alpha": 3.0, "eta": 0.5, "b": 0.5, "tau": 1.5, "lambda_": 0.1}
    one = model(ONE, **numbers, protocol="persistent")
    one = replace(one, loss=LogisticLoss(), labels=Signs(jnp.zeros(()), blurred=False))
    return one, "sign-teacher", "logistic", numbers


@pytest.mark.slow
@pytest.mark.parametrize("unit", [sphere_in_heat, phase_retrieval, classes])
def test_one_unit_is_that_of_the_theory_of_one_unit(unit):
    """Paths of both solvers, which share no line but the basis of functions."""
    steps, keys = 12, jax.random.split(jax.random.key(7), 12)
    one, task, name, numbers = unit()
    single = multi_pass_model(task, loss(name), m0=0.3, c0=1 - 0.3**2, **numbers)
    found = [solve_paths(one, ONE, steps, key, 4000) for key in keys]
    runs = [solve_ensemble(single, steps, jax.random.key(8), 4000, 12, False, number) for number in range(12)]
    m, C, train_loss = (np.concatenate([getattr(run, name) for run in runs]) for name in ("m", "C", "train_loss"))
    pairs = {
        "m": (np.stack([run.M[:, 0, 0] for run in found]), m),
        "C": (np.stack([run.C[-1, :, 0, 0] for run in found]), C[:, -1]),
        "train_loss": (np.stack([run.train_loss for run in found]), train_loss),
    }
    for name, (x, y) in pairs.items():
        error = np.hypot(*(values.std(axis=0, ddof=1) / 12**0.5 for values in (x, y)))
        z = np.where(error > 1e-9, (x.mean(axis=0) - y.mean(axis=0)) / np.maximum(error, 1e-9), 0.0)
        assert rms(z) < 2, (name, z)
        assert np.abs(z).max() < 4.5, (name, z)


TAKEN = {
    "paths": lambda: (solve_paths, memory, {}, 8000),
    "paths, heat": lambda: (solve_paths, memory, {"temperature": 0.1}, 8000),
    "responses": lambda: (partial(solve_paths, responses=True), partial(memory, responses=True), {}, 4000),
    "descent": lambda: (run_network, run_memory, {"d": 1500}, None),
    "descent, cyclic": lambda: (run_network, run_memory, {"d": 1500, "protocol": "cyclic", "b": 0.25}, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TAKEN)
def test_the_memory_that_is_predicted_is_what_is_taken(case):
    solver, predicts, changes, paths = TAKEN[case]()
    one, steps = model(BROKEN, units="erf", **changes), 20
    many = () if paths is None else (paths,)
    predicted = predicts(one, steps, *many)
    tracemalloc.start()
    solver(one, BROKEN, np.arange(steps + 1) if paths is None else steps, jax.random.key(1), *many)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert predicted / 2 < taken < 2 * predicted, (predicted, taken)


@pytest.mark.slow
def test_the_bias_of_paths_falls_like_one_over_their_number():
    """Of the training loss of three linear units in small batches, whose exact value is known (section 6, trap 7)."""
    M = np.array([[0.2, 0.1], [-0.1, 0.3], [0.0, 0.0]])
    start = CommitteeStart(M, np.eye(3), np.array([1.0, 1.0, -1.0]))
    one = model(start, alpha=3.0, b=0.3, rescaled=True, Delta=0.1)
    exact, off = solve_linear(one, start, 40).train_loss[-1], {}
    for paths, ensembles in ((1000, 48), (4000, 12)):
        runs = [solve_paths(one, start, 40, key, paths) for key in jax.random.split(jax.random.key(9), ensembles)]
        seen = np.array([run.train_loss[-1] for run in runs]) - exact
        off[paths] = seen.mean(), seen.std(ddof=1) / ensembles**0.5
    (most, error), (less, own) = off[1000], off[4000]
    assert most > 6 * error
    assert abs(most - 4 * less) < 4 * np.hypot(error, 4 * own)
    assert most / exact < bias(one, 40, 1000)  # which is a bound
