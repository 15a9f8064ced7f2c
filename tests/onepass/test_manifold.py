"""Hidden manifolds: their numbers from raw draws, SGD by a textbook, the risk on real inputs, and who refuses them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

import dimfree as df
from dimfree.comparison.run import own_key, starts_of
from dimfree.onepass.kinds.manifold.model import ManifoldModel, manifold_risk
from dimfree.onepass.kinds.manifold.notes import said_of_sight
from dimfree.onepass.kinds.manifold.numbers import manifold_of
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.model import model, teacher_model
from dimfree.onepass.notes import remark
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import draw_start
from dimfree.questions.question import questions
from dimfree.registry import candidates
from dimfree.results.record import record
from dimfree.setting import why_not

MAPS = {"sign": np.sign, "erf": lambda u: erf(u / np.sqrt(2)), "tanh": np.tanh, "linear": lambda u: u}
TILTED = [[1.0, 0.3], [0.3, 0.8]]


def problem(features="sign", dimension=24, latent=12, **changes):
    data = {"kind": "hidden-manifold", "latent": latent, "features": features, "overlap": TILTED, "noise": 0.1}
    base = df.Problem(dimension=dimension, data=data, network={"width": 2})
    return base.replace(**changes) if changes else base


def drawn(one, count, rng):
    """Inputs in the user's coordinates and fields of the teacher, in NumPy from F and the latent teachers alone."""
    F, phi = manifold_of(one).directions.astype(float), MAPS[one.data.features]
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    size = 1.0 if phi is np.sign else weights @ phi(nodes) ** 2 / weights.sum()
    z = rng.normal(size=(count, one.data.latent))
    return phi(z @ F) / np.sqrt(size * one.dimension), z @ manifold_of(one).latent_teachers.T


@pytest.mark.parametrize("features", MAPS)
def test_covariance_teacher_and_what_it_leaves_are_those_of_raw_draws(features):
    """Sigma, phi and P_res by Monte Carlo: no z-score above 5, and as many of them as chance would have."""
    one, count = problem(features), 20_000
    x, fields = drawn(one, count, np.random.default_rng(1))
    found, d = manifold_of(one), one.dimension
    x = x @ found.spectrum.basis
    explained = x @ found.teachers.T
    rest = fields - explained
    s = found.spectrum.coordinates
    wanted = [
        (d * x[:, :, None] * x[:, None, :], np.diag(s)),
        (d * x[:, :, None] * fields[:, None, :], (s * found.teachers).T),
        (fields[:, :, None] * fields[:, None, :], np.array(TILTED)),
        (rest[:, :, None] * rest[:, None, :], found.residual),
        (rest[:, :, None] * explained[:, None, :], np.zeros((2, 2))),
    ]
    for products, mean in wanted:
        error = products.std(axis=0) / np.sqrt(count)
        known = error > 1e-6  # directions that linear features do not reach have rounding errors
        np.testing.assert_allclose(products.mean(axis=0)[~known], mean[~known], atol=1e-6)
        z = (products.mean(axis=0) - mean)[known] / error[known]
        assert z.size == 0 or np.abs(z).max() < 5
        assert z.size < 20 or np.sqrt(np.mean(z**2)) < 1.3


def test_the_trace_is_the_dimension_and_what_is_left_is_a_variance():
    for features in MAPS:
        for latent in (3, 40):
            found = manifold_of(problem(features, latent=latent))
            assert found.spectrum.mean == pytest.approx(1, rel=1e-12)
            assert np.linalg.eigvalsh(found.residual).min() > -1e-10
            assert np.linalg.eigvalsh(np.array(TILTED) - found.residual).min() > -1e-10


def test_linear_features_leave_what_is_orthogonal_to_all_of_them():
    """As many of them as hidden variables tell everything; fewer leave a projection."""
    np.testing.assert_allclose(manifold_of(problem("linear", latent=24 // 2)).residual, 0, atol=1e-12)
    found = manifold_of(problem("linear", dimension=10, latent=40))
    w, F = found.latent_teachers, found.directions.astype(float)
    left = w.T - F @ np.linalg.lstsq(F, w.T, rcond=None)[0]
    np.testing.assert_allclose(found.residual, left.T @ left, atol=1e-6)


def test_a_seed_decides_and_starts_share_the_teacher():
    one = problem()
    assert manifold_of(one).teachers is manifold_of(one.replace(**{"training.learning_rate": 0.3})).teachers
    assert not np.allclose(manifold_of(one).teachers, manifold_of(one.replace(**{"run.seed": 1})).teachers)
    starts = [draw_start(one, jax.random.key(n), vectors=vectors) for n, vectors in ((0, True), (1, False))]
    np.testing.assert_array_equal(starts[0].weights[2:], manifold_of(one).teachers)
    np.testing.assert_array_equal(starts[0].weights[2:], starts[1].weights[2:])
    assert not np.allclose(starts[0].weights[:2], starts[1].weights[:2])
    seen = np.einsum("b,bij->ij", starts[0].blocks.s, starts[0].blocks.Omega)[2:, 2:]
    np.testing.assert_allclose(seen + manifold_of(one).residual, TILTED, atol=1e-12)


def test_equations_know_what_inputs_do_not_tell():
    """Linear features are Gaussian: how M begins to move is an average over raw draws; without P_res it would be another."""
    one = problem("linear", dimension=10, latent=40)
    found, start, count = manifold_of(one), draw_start(one, jax.random.key(0), vectors=True), 200_000
    move = eqx.filter_jit(BlockEquations().velocity)
    x, fields = drawn(one, count, np.random.default_rng(2))
    x = x @ found.spectrum.basis
    u = x @ np.asarray(start.weights[:2]).T
    error = MAPS["erf"](fields).mean(axis=1) - MAPS["erf"](u).mean(axis=1)
    pull = error[:, None] * np.sqrt(2 / np.pi) * np.exp(-(u**2) / 2)
    moved = pull[:, :, None] * (x @ (found.spectrum.coordinates * found.teachers).T)[:, None]
    right = model(one)
    seen = jnp.asarray(np.array(TILTED) - found.residual)
    z = []
    for told in (right, eqx.tree_at(lambda m: m.target.P, right, seen)):
        flow = np.asarray(move(told, jnp.zeros(()), start.blocks).Omega)[:, :2, 2:]
        expected = np.einsum("b,bij->ij", start.blocks.s, flow)
        z.append(np.abs(moved.mean(axis=0) - expected).max() / (moved.std() / np.sqrt(count)))
    assert z[0] < 4
    assert z[1] > 12


def test_equations_are_compiled_once_for_all_manifolds_of_a_dimension():
    few, many = (model(problem("erf", latent=latent)).gaussian for latent in (11, 13))
    assert jax.tree.structure(few) == jax.tree.structure(many)
    assert jax.tree.map(jnp.shape, few) == jax.tree.map(jnp.shape, many)


def textbook(one, weights, steps, replicas, rng):
    """Plain SGD in the user's coordinates; the students of every replica, in the eigenbasis."""
    p, rate = one.network.width, one.training.learning_rate
    beta, velocity = one.training.momentum, 0.0
    basis = manifold_of(one).spectrum.basis
    W = np.repeat((np.asarray(weights) @ basis.T)[None], replicas, axis=0)
    for _ in range(steps):
        x, fields = drawn(one, replicas, rng)
        y = MAPS["erf"](fields).mean(axis=1) + np.sqrt(one.data.noise) * rng.normal(size=replicas)
        u = np.einsum("rpd,rd->rp", W, x)
        error = y - MAPS["erf"](u).mean(axis=1)
        pull = error[:, None] * np.sqrt(2 / np.pi) * np.exp(-(u**2) / 2) / p
        velocity = beta * velocity + rate * pull[:, :, None] * x[:, None]
        W = W + velocity
    return W @ basis


def agrees_with_the_textbook(one, replicas=600):
    start = starts_of(one, (VectorSGD(),))[0]
    found = record(one, VectorSGD(), start, own_key(one, "sgd"))
    s, teachers = manifold_of(one).spectrum.coordinates, manifold_of(one).teachers
    W = textbook(one, start.weights[:2], one.steps(one.run.until), replicas, np.random.default_rng(3))
    expected = {
        "Q": np.einsum("rid,d,rjd->rij", W, s, W) / one.dimension,
        "M": np.einsum("rid,d,kd->rik", W, s, teachers) / one.dimension,
    }
    for name, values in expected.items():
        ours = found[name].values[-1]
        error = np.sqrt(ours.var(axis=0) / len(ours) + values.var(axis=0) / len(values))
        assert (np.abs(ours.mean(axis=0) - values.mean(axis=0)) < 4.5 * error).all(), name
        assert (np.abs(values.mean(axis=0) - found[name].values[0, 0]) > 8 * error).any(), "it has not moved"
    return found


@pytest.mark.slow
def test_sgd_is_the_textbook_on_features_with_labels_of_hidden_variables():
    """At the start the risk on test inputs is that of other test inputs; it is told with an error."""
    one = problem(**{"run.until": 2.0, "run.times": [2.0], "run.replicas": 300})
    found = agrees_with_the_textbook(one)
    x, fields = drawn(one, 200_000, np.random.default_rng(5))
    weights = np.asarray(starts_of(one, (VectorSGD(),))[0].weights[:2]) @ manifold_of(one).spectrum.basis.T
    lost = (MAPS["erf"](fields).mean(axis=1) - MAPS["erf"](x @ weights.T).mean(axis=1)) ** 2 / 2
    error = np.hypot(lost.std() / np.sqrt(len(lost)), found["risk_error"].values[0, 0])
    assert abs(found["risk"].values[0, 0] - lost.mean()) < 4 * error
    assert found["risk_error"].values[0, 0] < 0.7 * lost.std() / 128  # less than 2^14 bare losses would have


@pytest.mark.slow
def test_momentum_is_that_of_the_textbook():
    agrees_with_the_textbook(
        problem("tanh", **{"training.momentum": 0.8, "training.learning_rate": 0.2, "run.times": [2.0], "run.until": 2.0,
                           "run.replicas": 300})
    )  # fmt: skip


def test_of_linear_networks_overlaps_tell_the_whole_risk():
    one = problem("sign", **{"data.activation": "linear", "network.activation": "linear"})
    found, start = model(one), draw_start(one, jax.random.key(0), vectors=True)
    fields = jax.tree.map(lambda x: x[None], start.blocks.fields(2))
    seen = manifold_risk(found, start.weights[None, :2], fields, start.bias[None])
    error = np.array([-0.5, -0.5, 0.5, 0.5])
    Omega = np.asarray(start.blocks.fields(2).covariance(jnp.asarray(TILTED)))
    assert float(seen["risk"][0]) == pytest.approx(error @ Omega @ error / 2, rel=1e-6)
    assert float(seen["risk_error"][0]) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{}, {"data.features": "erf", "training.momentum": 0.5, "training.learning_rate": 0.5}]
)
def test_the_ode_is_where_sgd_is(changes):
    one = problem(
        dimension=200, latent=100, **{"run.until": 4.0, "run.times": [1.0, 4.0], "run.replicas": 48}, **changes
    )
    tree = df.compare(one, only=["sgd", "ode"]).tree
    sgd, ode = (tree[name].to_dataset()["risk"] for name in ("sgd", "ode"))
    error = (sgd.std("replica") / 48**0.5 / sgd.mean("replica")).values[1:]
    ratio = (ode.mean("replica") / sgd.mean("replica")).values[1:]
    assert (np.abs(ratio - 1) < 0.015 + 3 * error).all()


def test_others_refuse_with_a_reason():
    """Also where few eigenvalues and linear networks would let them run on Gaussian inputs."""
    linear = {"data.activation": "linear", "network.activation": "linear"}
    for one in (problem(), problem("linear", dimension=200, latent=3, **linear)):
        assert type(model(one)) is ManifoldModel
        runs = {each.name for each in candidates(one) if not why_not(each, one)}
        assert runs == {"sgd", "ode", "gradient-flow"}
        for name in ("chain", "linear-mean", "rows"):
            assert why_not(df.descriptions()[name], one).endswith("use sgd or ode.")
    with pytest.raises(df.RefusalError, match="not derived for a hidden manifold"):
        teacher_model(problem())
    asked = [one for one in questions() if one.problem == "dimfree.onepass.problem:OnePassProblem"]
    for one in asked:
        with pytest.raises(df.DimfreeError, match="a hidden manifold"):
            one.settled(problem())


def test_few_hidden_variables_carry_a_warning():
    assert not [*model(problem(latent=50)).cautions()]
    assert not [*model(problem("linear", latent=3)).cautions()]
    assert not [*model(df.Problem()).cautions()]
    (said,) = model(problem(latent=10)).cautions()
    assert said.startswith("features of 10 hidden variables are not Gaussian")
    assert "20 to 30 % off" in said


SENTENCES = {
    "13 independent teacher directions do not fit into data.latent = 12;": {"data.units": 13, "data.overlap": "orthonormal"},
    "dimension = 6000 features of a hidden manifold have a covariance that is too large": {"dimension": 6000},
    "start.kind = 'weights' brings overlaps with a teacher": {"start.kind": "weights", "start.file": "W.npz"},
    "has no key 'covariance'": {"data.covariance.kind": "power", "data.covariance.exponent": 1.0},
    "features = 'relu'": {"data.features": "relu"},
    "latent = 0": {"data.latent": 0},
}  # fmt: skip


@pytest.mark.parametrize("said", SENTENCES)
def test_what_cannot_be_meant_is_told_in_one_sentence(said):
    with pytest.raises(df.ProblemError) as failure:
        problem(**SENTENCES[said])
    assert said in str(failure.value)
    assert "\n" not in str(failure.value)


def test_it_survives_text_and_says_what_is_out_of_sight():
    one = problem()
    assert df.loads(df.dumps(one)) == one
    assert one.digest != one.replace(**{"data.latent": 13}).digest
    share = np.trace(manifold_of(one).residual) / 1.8
    said = remark(one)
    assert (
        f"24 features of 12 hidden variables; of the variance of the teacher's preactivations a share of {share:.2g}"
        in said
    )
    assert "effective rank" in said
    assert "nothing is out of sight" in said_of_sight(manifold_of(problem("linear")))
