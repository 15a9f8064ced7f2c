"""Networks of several outputs: real SGD has the law of SGD written plainly in NumPy, on vectors and in overlap space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_outputs import plain_sgd, softmax
from scipy.special import erf
from scipy.stats import ks_2samp

import dimfree as df
from dimfree.onepass import directions
from dimfree.onepass.kinds.clusters.model import ClusterModel
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import draw_start
from stages import gating

REPLICAS, STEPS = 2000, 24
LAYER = [[2.0, -1.0], [-1.0, 1.5], [0.3, 0.4]]
TEACHER = df.Problem(
    dimension=10,
    data={"kind": "teacher", "units": 2, "labels": "argmax", "flip": 0.1, "second_layer": [[1, 0], [0, 1], [-1, -0.5]]},
    network={"width": 2, "outputs": 3, "second_layer": "trained", "second_layer_start": LAYER},
    training={"learning_rate": 2.0, "loss": "cross-entropy"},
    run={"until": 50.0},
)
CLUSTERS = {
    "data": {
        "kind": "clusters",
        "weights": [0.3, 0.3, 0.4],
        "means": [[1.5, 0.0], [-1.0, 1.5], [-0.5, -1.0]],
        "variances": [0.7, 0.5, 0.9],
        "classes": [0, 1, 2],
        "flip": 0.1,
    },
    "network.activation": "erf",
}
SOFTMAX = {"data.labels": "softmax", "data.flip": 0.0, "data.slope": 4.0}
LEVELS = {"data.covariance": {"kind": "levels", "values": [2.0, 0.5], "shares": [0.3, 0.7], "normalise": False}}
XOR = {
    "data": {"kind": "clusters"},
    "network.activation": "relu",
    "network.outputs": 2,
    "network.second_layer_start": [[2.0, -1.0], [-1.0, 0.5]],
}

CASES = {
    "argmax": {},
    "softmax, batch": {**SOFTMAX, "training.batch": 3},
    "relu, fixed": {"network.activation": "relu", "network.trained": ["first-layer"]},
    "norm clipped, batch": {"training.clip": {"norm": 0.2}, "training.batch": 2},
    "sphere": {"training.spherical": True},
    "decay": {"training.weight_decay": 1.0, "training.second_layer_decay": 2.0},
    "momentum": {"training.momentum": 0.6, "training.learning_rate": 0.8},
    "covariance": {**SOFTMAX, **LEVELS},
    "clusters": CLUSTERS,
    "clusters, relu, batch": {**CLUSTERS, "network.activation": "relu", "training.batch": 2},
    "xor": XOR,
}
GATING = ("argmax",)


def walked(one, problem, start, key):
    """Q, M and A of all replicas after STEPS steps."""
    m = model(problem)
    dynamics, numbers = one.twin(m)
    times = jnp.asarray([STEPS * problem.time_step])
    run = jax.jit(lambda s: dynamics.advance(numbers, dynamics.begin(numbers, s, REPLICAS, key), times)[1])
    return {name: np.asarray(values)[0] for name, values in run(start).items() if name in ("Q", "M", "A")}


@pytest.mark.parametrize("name", gating(CASES, GATING))
def test_sgd_and_chain_have_the_law_of_plain_sgd(name, monkeypatch):
    seen = lambda model, overlaps, bias=None: {"Q": overlaps.Q, "M": overlaps.M, "A": overlaps.a}  # noqa: E731
    monkeypatch.setattr(directions, "teacher_observables", seen)  # risks are tested elsewhere, and compile for long
    monkeypatch.setattr(ClusterModel, "observables", seen)
    problem = TEACHER.replace(**CASES[name])
    start = draw_start(problem, jax.random.key(3), vectors=True)
    s = problem.spectrum.coordinates if problem.correlated else 1.0
    weights, A = np.asarray(start.weights), np.asarray(start.measured.a)
    rng = np.random.default_rng(5)
    theirs = plain_sgd(problem, weights, A, STEPS, REPLICAS, rng, s)
    moved = np.abs(theirs["Q"].mean(axis=0) - plain_sgd(problem, weights, A, 0, 1, rng, s)["Q"][0]).max()
    assert moved > 0.02  # so that there is something to be compared
    for number, one in enumerate((VectorSGD(), OverlapChain())):
        ours = walked(one, problem, start, jax.random.key(number))
        assert set(ours) == {"Q", "M", "A"}
        for letter in ours:
            x, y = (values[letter].reshape(REPLICAS, -1) for values in (ours, theirs))
            random = y.std(axis=0) > 1e-9  # norms on a sphere are not, nor a second layer that is fixed
            np.testing.assert_allclose(x[:, ~random], y[:, ~random], rtol=1e-5)
            x, y = x[:, random], y[:, random]
            pairs = [(x, y), ((x - x.mean(axis=0)) ** 2, (y - y.mean(axis=0)) ** 2)]
            for what, (u, v) in zip(("means", "variances"), pairs, strict=True):
                spread = np.sqrt((u.var(axis=0) + v.var(axis=0)) / REPLICAS)
                z = (u.mean(axis=0) - v.mean(axis=0)) / spread
                assert np.abs(z).max(initial=0.0) < 5.0, f"{what} of {letter} in {one.name}: {z}"
            smallest = min((ks_2samp(u, v).pvalue for u, v in zip(x.T, y.T, strict=True)), default=1.0)
            assert smallest > 1e-6, f"{letter} in {one.name}"


@pytest.mark.slow
def test_rows_measure_what_several_outputs_do_on_them():
    rows = np.random.default_rng(0).gamma(1.0, size=(40, 5)) * np.arange(1, 6)
    problem = TEACHER.replace(
        **{"data.covariance": df.Covariance.features(rows), "dimension": 5, "run": {"until": 2.0, "points": 3}}
    )
    m, start = model(problem), draw_start(problem, jax.random.key(0), vectors=True)
    run = jax.jit(lambda s: RowsSGD().run(m, s, jnp.asarray([0.0, 2.0]), jax.random.key(1), 8))
    seen = {name: np.asarray(values) for name, values in run(start).items()}
    pool, W = np.asarray(m.pool.rows), np.asarray(start.weights)
    f = erf(pool @ W[:2].T / 2**0.5) @ np.array(LAYER).T / 2
    right = np.argmax(erf(pool @ W[2:].T / 2**0.5) @ np.array([[1, 0], [0, 1], [-1, -0.5]]).T, axis=1)
    chances = np.where(np.arange(3) == right[:, None], 0.9, 0.05)
    told = np.argmax(f, axis=1)
    assert float(seen["risk"][0, 0]) == pytest.approx(-np.mean(np.sum(chances * np.log(softmax(f)), axis=1)))
    assert float(seen["test_error"][0, 0]) == pytest.approx(1 - np.mean(chances[np.arange(40), told]))
    assert float(seen["clean_error"][0, 0]) == pytest.approx(np.mean(told != right))
    assert float(seen["bayes_error"][0, 0]) == pytest.approx(0.1)
    assert float(seen["risk"][-1].mean()) < float(seen["risk"][0, 0])
