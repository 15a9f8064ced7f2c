"""The law of neurons that learn a few directions: against real SGD, against other limits, and between its two forms."""

import logging

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.comparison.budget import plan
from dimfree.description import Ask
from dimfree.onepass.fields.gaussians_forms import AnisotropicForm, RadialForm
from dimfree.onepass.fields.teacher_forms import CloudForm, SubspaceForm
from dimfree.onepass.limits.pde import DistributionalDynamics, form_of
from dimfree.setting import why_not

TEACHER = df.Problem(
    dimension=30,
    data=df.Teacher(units=1, overlap=((4.0,),), noise=0.01),
    network=df.TwoLayer(width=1000),
    training=df.OnePass(learning_rate=15.0),  # eps = 5e-4
)
STAIRCASE = df.Problem(
    dimension=30,
    data=df.MultiIndex(link="staircase-2", noise=0.0),
    network=df.TwoLayer(width=1000, activation="relu", second_layer_start="signs", second_layer="trained"),
    training=df.OnePass(learning_rate=15.0),
)
ALL = {"network.trained": ("first-layer", "bias", "second-layer"), "network.bias_start": 0.3}
PDE, OWN = DistributionalDynamics(particles=80), DistributionalDynamics(own_start=True)
KEY = jax.random.key(1)


def started(problem, seed=0):
    return df.model(problem), df.draw_start(problem, jax.random.key(seed), vectors=True)


def seen(one, problem, times, seed=0, replicas=1):
    m, start = started(problem, seed)
    state = one.begin(m, start, replicas, jax.random.key(seed + 1))
    state, found = eqx.filter_jit(one.advance)(m, state, jnp.asarray(times))
    assert one.failure(m, state) is None
    return {name: np.asarray(values) for name, values in found.items()}


def average(found, name):
    """Over the law of the neurons, for every replica."""
    share = found.get("mass", np.full(found["a"].shape, 1 / found["a"].shape[2]))
    values = found[name].reshape(*found["a"].shape, -1)
    return np.einsum("trn,trnk->trk", share, values)


def whole_steps(problem, times):
    return np.rint(np.asarray(times) / problem.time_step) * problem.time_step


@pytest.mark.parametrize(
    ("problem", "changes", "form"),
    [
        (TEACHER, {}, CloudForm),
        (TEACHER, {"network.second_layer": "trained"}, SubspaceForm),
        (TEACHER, {"network.bias_start": 0.1}, SubspaceForm),
        (TEACHER, {"network.activation": "relu"}, SubspaceForm),
        (TEACHER, {"data.activation": "tanh"}, SubspaceForm),
        (TEACHER, {"data.units": 3, "data.overlap": "orthonormal"}, SubspaceForm),
        (STAIRCASE, {"network.second_layer": "fixed", "network.activation": "erf"}, CloudForm),
        (df.Problem(data=df.TwoGaussians()), {}, RadialForm),
        (df.Problem(data=df.TwoGaussians()), {"data.signal": 20}, AnisotropicForm),
    ],
)
def test_a_particle_has_as_few_numbers_as_the_problem_allows(problem, changes, form):
    assert isinstance(form_of(df.model(problem.replace(**changes) if changes else problem)), form)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "second_layer"), [(1, 1.0), (2, "signs"), (3, 1.0)])
def test_particles_have_the_moments_of_the_start(k, second_layer):
    overlap = np.array([[1.0, 0.4, 0.1], [0.4, 2.0, 0.0], [0.1, 0.0, 0.7]])[:k, :k]
    changes = {"data.units": k, "data.overlap": overlap.tolist(), "start.scale": 0.7, "network.width": 6}
    problem = TEACHER.replace(**changes, **{"network.second_layer_start": second_layer, "network.bias_start": 0.3})
    found = {name: x[0, 0] for name, x in seen(DistributionalDynamics(), problem, [0.0]).items() if name != "risk"}
    mass, d = found["mass"], problem.dimension
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(mass @ found["M"], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("n,nk,nl->kl", mass, found["M"], found["M"]), 0.49 / d * overlap, atol=1e-12)
    assert mass @ found["Q_diagonal"] == pytest.approx(0.49, rel=1e-9)
    assert mass @ found["Q_diagonal"] ** 2 == pytest.approx(0.49**2 * (1 + 2 / d), rel=1e-6)
    assert mass @ found["a"] == pytest.approx(0.0 if second_layer == "signs" else 1.0, abs=1e-12)
    assert mass @ found["a"] ** 2 == pytest.approx(1.0)
    np.testing.assert_array_equal(found["bias"], 0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="cloud", marks=pytest.mark.slow),
        pytest.param({"network.second_layer": "trained", "training.second_layer_rate": 2.0}, id="subspace"),
    ],
)
def test_from_one_start_it_is_the_mean_field_closure(changes):
    """Its own neurons in the field of their law: the particles of `mean-field` without the interaction of a unit with itself."""
    problem = TEACHER.replace(
        **changes, **{"network.width": 40, "training.weight_decay": 0.1, "training.second_layer_decay": 0.3}
    )
    times, (m, start) = jnp.asarray([0.5, 2.0]), started(problem)
    other = eqx.filter_jit(df.MeanField(self_term=False).run)(m, start, times, KEY)
    found = seen(DistributionalDynamics(own_start=True, step=0.05), problem, times)
    for name in ("risk", "M", "Q_diagonal", "a"):
        np.testing.assert_allclose(found[name], other[name], rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"network.second_layer": "trained"}], ids=["cloud", "subspace"])
def test_wide_mean_field_networks_scatter_around_it(changes):
    problem, times = TEACHER.replace(**changes, **{"network.width": 300}), jnp.asarray([0.5, 2.0])
    one = eqx.filter_jit(df.MeanField(self_term=False).run)
    starts = [df.draw_start(problem, jax.random.key(seed), vectors=True) for seed in range(12)]
    risks = np.stack([one(df.model(problem), start, times, KEY)["risk"][:, 0] for start in starts])
    z = (risks.mean(axis=0) - seen(PDE, problem, times)["risk"][:, 0]) / (risks.std(axis=0, ddof=1) / np.sqrt(12))
    assert np.abs(z).max() < 4
    assert (risks.std(axis=0) < 0.03 * risks.mean(axis=0)).all(), "long error bars must not make this true"


@pytest.mark.slow
def test_finite_networks_are_off_like_one_over_width():
    """Gradient flow of p neurons, without the noise of steps, from the same start."""
    gaps, errors, flow, starts = [], [], eqx.filter_jit(df.GradientFlow().run), 24
    for width in (32, 128):
        problem, times, each = TEACHER.replace(**{"network.width": width}), jnp.asarray([1.0, 3.0]), []
        for seed in range(starts):
            m, start = started(problem, seed)
            each.append(flow(m, start, times, KEY)["risk"][:, 0] - seen(OWN, problem, times, seed)["risk"][:, 0])
        gaps.append(np.mean(each, axis=0))
        errors.append(np.std(each, axis=0, ddof=1) / np.sqrt(starts) / gaps[-1])
    assert (gaps[1] > 0).all(), "directions of a finite number of neurons add to the risk"
    slopes, error = np.log(gaps[0] / gaps[1]) / np.log(4), np.hypot(*errors) / np.log(4)
    assert (np.abs(slopes - 1) < 3 * error + 0.1).all(), slopes  # the next order is 1/p smaller, of the size of a tenth
    assert (error < 0.15).all(), "long error bars must not make this true"


@pytest.mark.parametrize(
    ("problem", "times"),
    [
        pytest.param(TEACHER, [0.0, 1.0, 3.0], id="teacher", marks=pytest.mark.slow),
        pytest.param(STAIRCASE, [0.0, 1.0, 2.0], id="staircase", marks=pytest.mark.slow),
        pytest.param(STAIRCASE.replace(**ALL), [0.0, 1.0, 2.0], id="offsets", marks=pytest.mark.slow),
        pytest.param(
            TEACHER.replace(
                **{
                    "network.second_layer": "trained",
                    "training.weight_decay": 0.2,
                    "training.scheduled": "everything",
                    "training.schedule": {"kind": "power", "scale": 2.0},
                }
            ),
            [0.0, 1.0, 3.0],
            id="decay and schedule",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_follows_real_sgd(problem, times):
    """Width 1000, from the same neurons: means over them within error bars, the risk up to 1/p and the noise of steps."""
    times, replicas = whole_steps(problem, times), 16
    real, limit = seen(df.VectorSGD(), problem, times, replicas=replicas), seen(OWN, problem, times)
    for name in limit.keys() & {"M", "a", "bias"}:
        runs, law = average(real, name)[1:], average(limit, name)[1:, 0]
        error = runs.std(axis=1, ddof=1) / np.sqrt(replicas)
        assert (np.abs(runs.mean(axis=1) - law) < 4 * error + 1e-3).all(), name
    runs = real["risk"][1:]
    error = runs.std(axis=1, ddof=1) / np.sqrt(replicas)
    assert (np.abs(runs.mean(axis=1) - limit["risk"][1:, 0]) < 4 * error + 0.01 * limit["risk"][1:, 0]).all()
    assert limit["risk"][-1, 0] < 0.7 * limit["risk"][0, 0], "something must be learned"


@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        (TEACHER, {}),
        pytest.param(TEACHER, {"data.units": 2, "data.overlap": [[1.0, 0.3], [0.3, 2.0]]}, marks=pytest.mark.slow),
        pytest.param(
            STAIRCASE, {"network.second_layer": "fixed", "network.activation": "square"}, marks=pytest.mark.slow
        ),
    ],
)
def test_two_forms_are_one(problem, changes):
    """Pairs of neurons, and nodes in the teacher's span, for which the offset is too small to matter."""
    changed = problem.replace(**changes, **{"training.weight_decay": 0.1, "training.scheduled": "everything"})
    cloud, nodes = (
        seen(PDE, one, [0.0, 1.0, 2.0]) for one in (changed, changed.replace(**{"network.bias_start": 1e-10}))
    )
    assert "bias" in nodes
    for name in cloud:
        np.testing.assert_allclose(nodes[name], cloud[name], rtol=1e-7, atol=1e-8, err_msg=name)


@pytest.mark.slow
def test_more_particles_and_smaller_steps_change_nothing():
    times = [0.0, 1.0, 5.0]
    settings = ((80, None), (320, None), (80, 0.05))
    runs = [seen(DistributionalDynamics(particles=n, step=h), TEACHER, times)["risk"] for n, h in settings]
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-6)
    np.testing.assert_allclose(runs[0], runs[2], rtol=1e-6)


@pytest.mark.parametrize("changes", [{}, {**ALL, "training.second_layer_rate": 2.0}], ids=["cloud", "subspace"])
def test_the_functional_falls(changes):
    decays = {"training.weight_decay": 0.4, "training.second_layer_decay": 0.6}
    found = seen(PDE, TEACHER.replace(**changes, **decays), np.linspace(0, 3, 7))
    paid = 0.2 * average(found, "Q_diagonal")
    if changes:
        squares = {name: found[name] ** 2 for name in ("a", "bias")}
        both = {name: average({**found, name: values}, name) for name, values in squares.items()}
        paid = paid + 0.2 * both["bias"] + 0.6 / 2.0 / 2 * both["a"]
    assert (np.diff(found["risk"][:, 0] + paid[:, 0, 0]) < 0).all()
    bare = seen(PDE, TEACHER.replace(**changes) if changes else TEACHER, np.linspace(0, 3, 7))
    assert (np.diff(bare["risk"][:, 0]) < 0).all()


@pytest.mark.slow
def test_steps_that_are_too_large_are_found_out():
    one, (m, start) = (
        DistributionalDynamics(particles=20, step=20.0),
        started(TEACHER.replace(**{"training.weight_decay": 1.0})),
    )
    state, _ = one.advance(m, one.begin(m, start, 1, KEY), jnp.asarray([0.0, 100.0]))
    assert "steps of 20 are too large; give it a smaller `step`" in str(one.failure(m, state))


@pytest.mark.slow
def test_what_is_not_trained_stays():
    found = seen(PDE, STAIRCASE.replace(**{"network.trained": ("bias", "second-layer")}), [0.0, 0.5])
    moved = {name: np.abs(np.diff(found[name], axis=0)).max() > 1e-3 for name in ("a", "bias", "M", "Q_diagonal")}
    assert moved == {"a": True, "bias": True, "M": False, "Q_diagonal": False}


@pytest.mark.slow
def test_schedule_is_a_clock():
    changes = {"training.schedule": {"kind": "steps", "times": [1.0], "factors": [0.5]}}
    fast, slow = seen(PDE, TEACHER, [0.0, 1.5]), seen(PDE, TEACHER.replace(**changes), [0.0, 2.0])
    np.testing.assert_allclose(slow["M"], fast["M"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem", [pytest.param(TEACHER, id="cloud"), pytest.param(TEACHER.replace(**ALL), id="subspace")]
)
def test_in_two_pieces_is_in_one_to_the_last_bit(problem):
    times, (m, start) = jnp.asarray([0.0, 0.5, 0.6, 1.0, 1.25, 2.0]), started(problem)
    advance = eqx.filter_jit(PDE.advance)
    state = PDE.begin(m, start, 1, KEY)
    _, whole = advance(m, state, times)
    half, first = advance(m, state, times[:3])
    _, second = advance(m, half, times[3:])
    for name, values in whole.items():
        np.testing.assert_array_equal(np.concatenate([first[name], second[name]]), values, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "number"),
    [
        pytest.param(TEACHER, lambda m, s: s.scale, id="start scale"),
        pytest.param(
            TEACHER.replace(**ALL), lambda m, s: m.target.second_layer[0], id="teacher", marks=pytest.mark.slow
        ),
        pytest.param(STAIRCASE, lambda m, s: m.target.coefficients[1], id="coefficient", marks=pytest.mark.slow),
        pytest.param(TEACHER, lambda m, s: m.target.P[0, 0], id="overlap", marks=pytest.mark.slow),
        pytest.param(TEACHER.replace(**ALL), lambda m, s: m.dimension, id="dimension", marks=pytest.mark.slow),
    ],
)
def test_gradients_are_difference_quotients(problem, number):
    one, given = DistributionalDynamics(particles=20), started(problem)
    leaf = eqx.filter(given, eqx.is_inexact_array)
    direction = jax.grad(lambda pair: number(*pair))(leaf)  # one at the number, zero elsewhere

    @eqx.filter_jit
    def last(x):
        m, start = eqx.apply_updates(given, jax.tree.map(lambda e: x * e, direction))
        return one.run(m, start, jnp.asarray([0.5, 1.5]), KEY)["risk"][-1, 0]

    h = 1e-4 * number(*given)
    around = [last(s * h) for s in (-2, -1, 1, 2)]
    slope = (8 * (around[2] - around[1]) - (around[3] - around[0])) / (12 * h)
    np.testing.assert_allclose(jax.jit(jax.grad(last))(0.0), slope, rtol=1e-5)
    assert slope != 0


@pytest.mark.slow
def test_many_numbers_at_once_are_one_after_the_other():
    m, start = started(TEACHER.replace(**ALL))

    def last(scale, dimension, rate):
        here = eqx.tree_at(lambda m: (m.dimension, m.eta_a), m, (dimension, rate))
        return PDE.run(here, eqx.tree_at(lambda s: s.scale, start, scale), jnp.asarray([0.1, 0.5]), KEY)["risk"][:, 0]

    numbers = jnp.asarray([[0.6, 1.0], [10.0, 300.0], [1.0, 2.0]])
    together, alone = jax.jit(jax.vmap(last))(*numbers), jax.jit(last)
    np.testing.assert_allclose(together, jnp.stack([alone(*column) for column in numbers.T]), rtol=1e-12)


@pytest.mark.parametrize("changes", [{}, ALL], ids=["cloud", "subspace"])
def test_other_numbers_compile_nothing(changes, caplog):
    """Also another dimension: it is a number of the equations."""

    problem, ask = TEACHER.replace(**changes) if changes else TEACHER, Ask(np.array([0.0, 0.5]), 1, KEY)
    other = problem.replace(**{"data.overlap": [[2.0]], "start.scale": 0.5, "training.weight_decay": 0.2})
    (m, start), (m_other, start_other) = started(problem), started(other)
    further = eqx.tree_at(lambda m: m.dimension, m_other, jnp.asarray(77.0))
    list(PDE.account(m, start, ask))
    with caplog.at_level(logging.WARNING), jax.log_compiles():
        list(PDE.account(m_other, start_other, ask))
        list(PDE.account(further, start_other, ask))
    assert [line for line in caplog.messages if "Finished XLA compilation" in line] == []


def test_the_price_is_known_before():
    """It grows with time, with directions and with what an activation costs; what does not fit is left out with a sentence."""
    price = lambda problem: PDE.cost(problem, df.model(problem))  # noqa: E731
    base = TEACHER.replace(**{"run.until": 50.0, "run.points": 11})
    assert price(base).steps == pytest.approx(50 / 0.1 + 11)
    assert price(base.replace(**{"run.until": 100.0})).seconds > price(base).seconds
    slower = base.replace(**{"training.schedule": {"kind": "steps", "times": [0.0], "factors": [0.1]}})
    assert price(slower).steps == pytest.approx(5 / 0.1 + 11)
    trained = base.replace(**{"network.second_layer": "trained"})
    planar = {"data.units": 2, "data.overlap": "orthonormal"}
    assert price(trained.replace(**planar)).seconds > price(trained).seconds
    assert price(trained.replace(**{"network.activation": "tanh"})).seconds > price(trained).seconds
    assert OWN.cost(base, df.model(base)).seconds > price(base).seconds
    left = plan(trained.replace(**planar, **{"network.activation": "tanh", "run.until": 1e4}), [PDE], 60.0).left_out
    assert "steps, about" in left[0].reason


def test_refuses_in_one_sentence():
    assert why_not(PDE, TEACHER) is None
    assert why_not(PDE, STAIRCASE) is None
    kinked = {"data.units": 2, "data.overlap": [[1.0, 0.3], [0.3, 1.0]], "data.activation": "relu"}
    for changes, words in (
        ({"data.units": 4, "data.overlap": "orthonormal"}, "nodes in 4 directions are too many"),
        ({"dimension": 2}, "raise dimension to 3"),
        ({"training.inverse_temperature": 2.0}, "leave out training.inverse_temperature"),
        ({"training.spherical": True}, "set training.spherical = false"),
        ({"start.kind": "sphere"}, "start.kind is 'sphere'"),
        (
            {"network.width": 3, "network.second_layer_start": [1.0, 2.0, 3.0]},
            "network.second_layer_start lists others",
        ),
        ({"training.schedule": {"kind": "power"}, "training.weight_decay": 0.1}, "training.scheduled = 'everything'"),
        ({"data.units": 2, "data.overlap": [[1.0, 1.0], [1.0, 1.0]]}, "not independent"),
        (kinked, "set data.overlap = 'orthonormal'"),
    ):
        reason = str(why_not(PDE, TEACHER.replace(**changes)))
        assert words in reason
        assert reason.endswith(".")
        assert reason.count(". ") == 0
    for changes in (
        {"training.schedule": {"kind": "power"}},
        {"training.schedule": {"kind": "power"}, "training.weight_decay": 0.1, "training.scheduled": "everything"},
        {"training.weight_decay": 0.1},
        {"network.width": 3, "network.second_layer_start": [2.0, 2.0, 2.0]},
    ):
        assert why_not(PDE, TEACHER.replace(**changes)) is None
    assert why_not(OWN, TEACHER.replace(**{"start.kind": "sphere"})) is None
    assert "too many" not in str(why_not(PDE, TEACHER.replace(**{"data.units": 3, "data.overlap": "orthonormal"})))
