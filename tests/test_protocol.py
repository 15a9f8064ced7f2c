"""One protocol for every setting and description: all of them obey it, or refuse with a sentence."""

import logging
from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.comparison.run import own_key, starts_of
from dimfree.description import Ask, Evolution, Stationary
from dimfree.description.running import advance, begin
from dimfree.registry import candidates, setting_of
from dimfree.results.record import cost_of, record
from dimfree.setting import model_of, why_not
from stages import gating

TOGETHER = 8  # runs that one program makes; forty of them are the same program five times
TEACHER = df.Problem(
    dimension=200,
    network=df.TwoLayer(width=2),
    data=df.Teacher(units=1, noise=0.01),
    run=df.Run(until=2.0, replicas=TOGETHER, points=6),
)
CLUSTERS = df.Problem(
    data=df.TwoClusters(),
    training=df.MultiPass(weight_decay=1.0),
    dimension=200,
    run=df.Run(until=2.0, replicas=TOGETHER, points=6, spacing="linear"),
)
GAUSSIANS = df.Problem(
    data=df.TwoGaussians(),
    dimension=12,
    network=df.TwoLayer(width=60, activation="ramp"),
    run=df.Run(until=0.5, replicas=TOGETHER, points=5, spacing="linear"),
)
POINTS = df.Problem(
    data=df.DrawnPoints(samples=8, held_out=20),
    network=df.ScaledTwoLayer(width=200, output_scale=1.0),
    dimension=6,
    run=df.Run(until=5.0, replicas=TOGETHER, points=6),
)
HYPERCUBE = df.Problem(
    data=df.Hypercube(noise=0.01),
    dimension=20,
    network=df.TwoLayer(width=30),
    training=df.OnePass(learning_rate=30.0, batch=10),
    run=df.Run(until=2.0, replicas=TOGETHER, points=5, spacing="linear"),
)
ROWS = df.Problem(
    data=df.Teacher(
        units=1,
        activation="linear",
        noise=0.01,
        covariance=df.Covariance.features(
            np.random.default_rng(0).normal(size=(2000, 60)) * np.repeat([1.5, 1.0, 0.5], 20)
        ),
    ),
    network=df.TwoLayer(width=2, activation="linear"),
    training=df.OnePass(learning_rate=0.2),
    run=df.Run(until=2.0, replicas=TOGETHER, points=6),
)
MANIFOLD = df.Problem(
    dimension=60,
    data=df.HiddenManifold(latent=30, units=1, noise=0.01),
    network=df.TwoLayer(width=2),
    run=df.Run(until=2.0, replicas=TOGETHER, points=6),
)
COVARIATES = df.Problem(
    data=df.Covariates(),
    training=df.MultiPass(weight_decay=0.03),
    dimension=150,
    run=df.Run(until=2.0, replicas=6, points=3, spacing="linear"),
)
MIXTURE = df.Problem(
    dimension=200,
    data={"kind": "clusters", "shape": "xor"},
    network={"width": 2},
    training={"kind": "one-pass", "loss": "logistic"},
    run=df.Run(until=2.0, replicas=TOGETHER, points=6),
)
NETWORK = df.Problem(
    dimension=200,
    data=df.DataSetTeacher(samples=2.0, noise=0.01),
    network=df.TwoLayer(width=2),
    training=df.NetworkMultiPass(learning_rate=1.0, batch_fraction=0.5),
    run=df.Run(until=6.0, replicas=TOGETHER, points=4, spacing="linear"),
)
POWER_LAW = df.Problem(
    dimension=24,
    data={"kind": "power-law", "inputs": 200, "noise": 0.05},
    training={"learning_rate": 0.1, "batch": 4},
    run=df.Run(until=2.0, replicas=TOGETHER, points=6),
)
PROJECTED = df.Problem(
    dimension=16,
    data={"kind": "projected", "covariance": {"file": "digits", "labels": "target"}},
    training={"learning_rate": 0.3},
    run=df.Run(until=4.0, replicas=TOGETHER, points=6),
)
PROBLEMS = {
    "teacher": TEACHER,
    "network": NETWORK,
    "network-linear": NETWORK.replace(**{"network.activation": "linear", "data.labels": "value"}),
    "relu-trained": TEACHER.replace(
        **{
            "network.activation": "relu",
            "data.activation": "relu",
            "network.second_layer": "trained",
            "training.batch": 4,
        }
    ),
    "sphere-schedule": TEACHER.replace(
        **{"training.spherical": True, "start.kind": "sphere", "training.schedule": {"kind": "power", "scale": 5.0}}
    ),
    "multi-index": TEACHER.replace(
        **{
            "data.kind": "multi-index",
            "data.link": "staircase-2",
            "network.activation": "square",
            "training.learning_rate": 0.1,
            "run.until": 0.5,
        }
    ),
    "close": TEACHER.replace(**{"data.covariance": df.Covariance.spectrum(1 + 1e-5 * np.linspace(1, 0, 200))}),
    "momentum": TEACHER.replace(**{"training.momentum": 0.6, "training.learning_rate": 0.4}),
    "offsets": TEACHER.replace(**{"network.trained": ["first-layer", "bias"], "network.bias_start": 0.2}),
    "gaussians": GAUSSIANS,
    "gaussians-noisy": GAUSSIANS.replace(**{"training.inverse_temperature": 30.0, "training.weight_decay": 0.1}),
    "points": POINTS,
    "hypercube": HYPERCUBE,
    "rows": ROWS,
    "manifold": MANIFOLD,
    "mixture": MIXTURE,
    "power-law": POWER_LAW,
    "projected": PROJECTED,
    "clusters": CLUSTERS,
    "covariates": COVARIATES,
    "margins": COVARIATES.replace(**{"training.weight_decay": 0.0, "training.loss": "hinge"}),
    "clusters-square": CLUSTERS.replace(**{"training.loss": "square", "training.batch_fraction": 0.4}),
}
CASES = [(case, one.name) for case, problem in PROBLEMS.items() for one in candidates(problem)]
# one of every setting, and of every family of accounts; the others run in the second stage
PLAIN = ("teacher", "points", "rows", "clusters", "covariates")
GATES = [(case, name) for case, name in CASES if case in PLAIN]
AGREEING = [gate for gate in GATES if gate != ("covariates", "fitted")]  # itself with another key: 80 fits

# How far the mean risk may be from real SGD at the last time, in per cent. Gradient flow drops the variance of the steps; the
# limits of infinite width drop it too, and at width 2 the correlations between units as well.
AGREES_WITHIN = {
    "teacher": {
        "sgd": 5.0,
        "chain": 5.0,
        "ode": 5.0,
        "gradient-flow": 60.0,
        "mean-field": 60.0,
        "dimensionless": 60.0,
        "pde": 60.0,
        "diffusion": 5.0,
    },
    "mixture": {"sgd": 5.0, "chain": 5.0, "ode": 5.0},
    "gaussians": {"sgd": 5.0, "pde": 15.0},
    "power-law": {"sgd": 5.0, "sgd-eigenbasis": 5.0, "projected-mean": 5.0, "equivalent": 40.0},  # of one projection
    "projected": {"projected-rows": 10.0},  # which are not Gaussian
    "close": {"binned-chain": 5.0},  # eigenvalues so close that bins change nothing
    "rows": {"rows": 10.0, "linear-mean": 5.0},
    "hypercube": {"sgd": 1.0, "pde": 2.0, "pde-own-start": 2.0},
    "clusters": {"multi-pass": 10.0, "dmft": 10.0, "static": 10.0},
    "network": {"multi-pass": 5.0, "dmft": 5.0},
    "covariates": {"fitted": 5.0, "static": 5.0, "bayes-optimal": 5.0},
    "margins": {"max-margin": 5.0},
    "points": {"network-flow": 5.0, "linearised": 5.0, "infinite-width": 5.0},
}


class Run(NamedTuple):
    """Everything that one description needs to be run."""

    problem: df.Problem
    one: df.extend.Description
    start: object
    key: jax.Array


def prepared(case: str, name: str, **changes: object) -> Run:
    problem = PROBLEMS[case].replace(**changes) if changes else PROBLEMS[case]
    one = df.descriptions()[name]
    if reason := why_not(one, problem):
        assert "\n" not in reason
        assert reason.endswith(".")
        pytest.skip(f"it refuses: {reason}")
    return Run(problem, one, starts_of(problem, tuple(_that_hold(problem)))[0], own_key(problem, one.title))


def _that_hold(problem):
    return [one for one in candidates(problem) if not why_not(one, problem)]


@lru_cache(maxsize=128)
def recorded(case: str, name: str) -> tuple[Run, xr.Dataset, list[float]]:
    """One run of every description on every problem, which all tests share."""
    run, shares = prepared(case, name), list[float]()
    return run, record(*run, watch=shares.append), shares


def reference_of(run: Run, case: str) -> xr.Dataset:
    """The real thing from the same start."""
    return recorded(case, next(one.name for one in _that_hold(run.problem) if one.real))[1]


@pytest.mark.parametrize(("case", "name"), gating(CASES, GATES))
def test_it_refuses_or_runs_as_declared(case, name):
    run, data, shares = recorded(case, name)
    declared = {**setting_of(run.problem).variables, **run.one.variables}
    assert all(data[observable].dims == declared[observable].dims for observable in data.data_vars)
    assert data.sizes["time"] == len(run.problem.times)
    assert data.sizes["replica"] == run.one.replicas(model_of(run.problem), run.problem.run.replicas)
    assert np.isfinite(data["risk"]).all()
    assert (data["risk"] >= 0).all()
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    key = run.key if run.one.stochastic else jax.random.key(99)  # what is not stochastic does not depend on it
    again = record(*run._replace(key=key))
    np.testing.assert_array_equal(again["risk"], data["risk"], err_msg="the same key, the same numbers")
    assert cost_of(run.one, run.problem).seconds > 0


@pytest.mark.parametrize(("case", "name"), gating(CASES, GATES))
def test_the_first_value_is_that_of_the_start(case, name):
    """Accounts that follow the units of the network agree with the real thing at time 0."""
    run, data, _ = recorded(case, name)
    if isinstance(run.one, Stationary):
        pytest.skip("it has no time")
    expected = reference_of(run, case)
    for observable in {"M", "Q", "a", "m"} & {*data.data_vars} & {*expected.data_vars}:
        if data[observable].shape[2:] == expected[observable].shape[2:]:
            there = expected[observable].values[0].mean(axis=0)
            np.testing.assert_allclose(data[observable].values[0].mean(axis=0), there, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize(("case", "name"), gating(CASES, GATES))
def test_in_two_pieces_is_in_one(case, name):
    """Chunks of one compiled shape: what is asked for in two calls is what one call (or one look at a time) gave."""
    run, data, _ = recorded(case, name)
    if not isinstance(run.one, Evolution):
        pytest.skip("it is not advanced")
    (one, model), times, replicas = run.one.twin(model_of(run.problem)), run.problem.times, run.problem.run.replicas
    size = min(run.one.chunk, len(times))
    state = begin(one, model, run.start, run.one.replicas(model_of(run.problem), replicas), run.key)
    half = len(times) // 2
    # where calls answer many times, other calls; where they answer one, the last time of each half without those before
    asked = (times[:half], times[half:]) if size > 1 else (times[half - 1 : half], times[-1:])
    seen = []
    for part in asked:
        # of the shape that is compiled already, unless draws depend on the number of asked times
        padded = part if getattr(model, "noisy", False) else np.pad(part, (0, size - len(part)), mode="edge")
        state, observed = advance(one, model, state, jnp.asarray(padded))
        seen.append({name: np.asarray(values)[: len(part)] for name, values in observed.items()})
    at = np.concatenate([np.searchsorted(times, part) for part in asked])
    if size == 1 and name == "diffusion":
        pytest.skip("its steps end at the asked times, so that other times are other paths")
    # adaptive solvers choose other steps after a stop, within their tolerance
    rtol = 1e-6 if hasattr(run.one, "rtol") else 1e-12
    for observable in seen[0]:
        joined = np.concatenate([part[observable] for part in seen])
        np.testing.assert_allclose(joined, data[observable].values[at], rtol=rtol, atol=1e-9, err_msg=observable)


@pytest.mark.parametrize(
    ("case", "name"), gating([(case, name) for case in AGREES_WITHIN for name in AGREES_WITHIN[case]], AGREEING)
)
def test_it_agrees_with_the_real_thing_at_one_declared_point(case, name):
    expected = real_risk(case)
    run = prepared(case, name, **{"run.replicas": 40})
    found = record(*run)["risk"][-1].mean().item()
    assert abs(found / expected - 1) * 100 < AGREES_WITHIN[case][name]


@lru_cache(maxsize=8)
def real_risk(case: str) -> float:
    """The last risk of the real thing, mean of 40 runs."""
    name = next(one.name for one in _that_hold(PROBLEMS[case]) if one.real)
    return (
        record(*prepared(case, name, **{"run.replicas": 40})._replace(key=jax.random.key(9)))["risk"][-1].mean().item()
    )


def test_every_description_declares_how_well_it_agrees():
    assert {name for names in AGREES_WITHIN.values() for name in names} == set(df.descriptions())


# A second run with other numbers: the same structure, so nothing may be compiled.
OTHER_NUMBERS = {
    "teacher": {"training.learning_rate": 0.5, "run.until": 1.0, "data.noise": 0.02},  # as many steps
    "gaussians": {"training.learning_rate": 0.16, "run.until": 0.25, "data.contrast": 0.5},
    "gaussians-noisy": {"training.inverse_temperature": 20.0, "training.weight_decay": 0.2},
    "points": {"network.output_scale": 2.0, "run.until": 2.0, "data.noise": 0.1, "start.scale": 2.0},
    "hypercube": {"training.learning_rate": 15.0, "run.until": 1.0, "data.coefficients": {"1": 0.9, "1,2": 1.2}},
    "manifold": {"training.learning_rate": 0.5, "run.until": 1.0, "run.seed": 1},
    "power-law": {"training.learning_rate": 0.05, "run.until": 1.0, "data.alpha": 0.6, "run.seed": 1},
    "clusters": {"training.learning_rate": 0.1, "run.until": 1.0, "data.variance": 0.6},
    "covariates": {"data.unexplained": 0.1, "training.weight_decay": 0.1},
    "margins": {"data.unexplained": 0.1},
}


@pytest.mark.parametrize(("case", "name"), gating([one for one in CASES if one[0] in OTHER_NUMBERS], GATES))
def test_other_numbers_compile_nothing(case, name, caplog):
    record(*recorded(case, name)[0])
    other = prepared(case, name, **OTHER_NUMBERS[case])
    with caplog.at_level(logging.WARNING), jax.log_compiles():
        record(*other)
    compiled = [line for line in caplog.messages if "Finished XLA compilation" in line]
    assert compiled == []


# A number of the model in which the theory is differentiated: gamma acts where steps have a size, Delta where labels have noise.
DERIVATIVES = {
    ("teacher", "ode"): lambda model: model.gamma,
    ("teacher", "gradient-flow"): lambda model: model.target.second_layer,
    ("teacher", "mean-field"): lambda model: model.target.second_layer,
    ("teacher", "dimensionless"): lambda model: model.target.second_layer,
    ("teacher", "diffusion"): lambda model: model.Delta,
    ("teacher", "pde"): lambda model: model.target.second_layer,
    ("gaussians", "pde"): lambda model: model.Delta,
    ("gaussians-noisy", "pde"): lambda model: model.omega,
    ("points", "linearised"): lambda model: model.y,
    ("points", "infinite-width"): lambda model: model.y,
    ("hypercube", "pde"): lambda model: model.target.coefficients,
    ("hypercube", "pde-own-start"): lambda model: model.target.coefficients,
}


def test_every_theory_that_evolves_is_differentiated():
    theories = {
        (case, name)
        for case, name in CASES
        if isinstance(df.descriptions()[name], Evolution) and not df.descriptions()[name].real
    }
    assert {name for _, name in theories} == {name for _, name in DERIVATIVES}


@pytest.mark.parametrize(("case", "name"), gating(DERIVATIVES, [("points", "infinite-width")]))
def test_vmap_is_one_by_one_and_grad_a_difference_quotient(case, name):
    run, data, _ = recorded(case, name)
    number, model, last = DERIVATIVES[case, name], model_of(run.problem), 2
    times, replicas = jnp.asarray(run.problem.times[: last + 1]), data.sizes["replica"]

    def risk(factor):
        scaled = eqx.tree_at(number, model, number(model) * factor)
        return jnp.mean(run.one.run(scaled, run.start, times, run.key, replicas)["risk"][last])

    h = 1e-5
    below, here, above = eqx.filter_jit(eqx.filter_vmap(risk))(jnp.asarray([1 - h, 1.0, 1 + h]))
    assert float(here) == pytest.approx(data["risk"].values[last].mean(), rel=1e-7)
    slope = float(eqx.filter_jit(jax.grad(risk))(jnp.asarray(1.0)))
    assert slope != 0
    assert slope == pytest.approx(float(above - below) / (2 * h), rel=1e-4)


def test_a_class_below_one_with_a_twin_says_whose_program_runs_it():
    """A changed equation would silently run the program of its parent otherwise."""
    with pytest.raises(TypeError, match="Slower inherits a twin"):
        type("Slower", (df.theories.GradientFlow,), {})

    class Slower(df.theories.GradientFlow):
        def twin(self, model):
            return self, model

    problem = df.Problem(dimension=60)
    assert isinstance(Slower().twin(model_of(problem))[0], Slower)
    assert not isinstance(df.theories.GradientFlow().twin(model_of(problem))[0], df.theories.GradientFlow)


def test_theories_whose_paths_are_drawn_are_stochastic_and_choose_how_many_replicas_they_have():
    base = df.Problem(data=df.TwoClusters(), training=df.MultiPass(weight_decay=1.0), dimension=60)
    drawn, exact = (base.replace(**{"training.loss": loss}) for loss in ("logistic", "square"))
    assert df.theories.DMFT.stochastic
    assert [df.theories.DMFT(ensembles=3).replicas(model_of(one), 50) for one in (drawn, exact)] == [3, 1]


def test_starts_share_the_replicas_of_runs_and_each_has_a_theory_of_its_own():
    one, two = (df.Problem(dimension=60, run=df.Run(until=1.0, replicas=8, starts=starts)) for starts in (1, 2))
    assert (
        cost_of(df.theories.HighDimensional(), two).seconds == 2 * cost_of(df.theories.HighDimensional(), one).seconds
    )
    assert cost_of(df.experiments.VectorSGD(), two).seconds == cost_of(df.experiments.VectorSGD(), one).seconds


@pytest.mark.parametrize(("case", "name"), gating(CASES, [("teacher", "ode")]))
def test_all_times_in_one_call_are_those_of_the_account(case, name):
    run, data, _ = recorded(case, name)
    if not isinstance(run.one, Evolution) or run.one.stochastic:
        pytest.skip("it is not one evolution")
    piece = run.one.at_once(model_of(run.problem), run.start, Ask(run.problem.times, 1, run.key))
    assert piece.done == 1
    for observable, values in piece.observables.items():
        np.testing.assert_allclose(values, data[observable].values, rtol=1e-5, atol=1e-8, err_msg=observable)
