"""The law of neurons that learn a few directions as a solver: its steps, gradients, programs, prices and refusals."""

import logging

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from teacher_flows import ALL, KEY, OWN, PDE, STAIRCASE, TEACHER, average, seen, started

import dimfree as df
from dimfree.comparison.budget import plan
from dimfree.description import Ask
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.setting import why_not


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
    price = lambda problem: PDE.cost(problem, df.extend.model(problem))  # noqa: E731
    base = TEACHER.replace(**{"run.until": 50.0, "run.points": 11})
    assert price(base).steps == pytest.approx(50 / 0.1 + 11)
    assert price(base.replace(**{"run.until": 100.0})).seconds > price(base).seconds
    slower = base.replace(**{"training.schedule": {"kind": "steps", "times": [0.0], "factors": [0.1]}})
    assert price(slower).steps == pytest.approx(5 / 0.1 + 11)
    trained = base.replace(**{"network.second_layer": "trained"})
    planar = {"data.units": 2, "data.overlap": "orthonormal"}
    assert price(trained.replace(**planar)).seconds > price(trained).seconds
    assert price(trained.replace(**{"network.activation": "tanh"})).seconds > price(trained).seconds
    assert OWN.cost(base, df.extend.model(base)).seconds > price(base).seconds
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
