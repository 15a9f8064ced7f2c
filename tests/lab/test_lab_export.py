"""Written JavaScript of whole problems against jax: right-hand sides, observables, blocks of SGD, curves, and what is refused."""

from functools import partial
from importlib.resources import files

import jax
import numpy as np
import pytest
from written_in_node import answer_in_tab, answer_of
from written_problems import blocks, cases, furthest, known, known_blocks, nudged, problem, told_by

import dimfree as df
from dimfree.lab.export.laws import Laws
from dimfree.lab.export.script import script_of
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.registry import setting_of

SMALL = problem(width=2, units=1, network={"trained": ["first-layer", "second-layer"]}, weight_decay=0.1)
PROBLEMS = {
    "erf": (problem(), ("ode", "gradient-flow", "mean-field", "dimensionless")),
    "second layer": (
        problem(network={"trained": ["first-layer", "second-layer"]}, second_layer_decay=0.2),
        ("ode", "mean-field"),
    ),
    "relu": (problem(width=2, units=1, activation="relu"), ("ode", "gradient-flow")),
    "wide relu": (problem(activation="relu"), ("ode",)),
    "square on the sphere": (problem(width=2, units=1, activation="square", spherical=True), ("ode", "dimensionless")),
    "linear": (problem(activation="linear"), ("ode", "mean-field")),
    "schedule": (
        problem(schedule={"kind": "power", "scale": 10.0, "exponent": 0.5}, weight_decay=0.05),
        ("ode", "dimensionless"),
    ),
    "steps": (problem(schedule={"kind": "steps", "times": [2.0, 9.0], "factors": [0.5, 0.1]}, batch=4), ("ode",)),
    "wide erf": (problem(width=8), ("ode", "mean-field")),
    "tanh": (problem(width=2, units=1, activation="tanh"), ("ode", "gradient-flow")),
}


@pytest.fixture(scope="module")
def small():
    return script_of(SMALL)


@pytest.fixture(params=["node", pytest.param("chromium", marks=pytest.mark.slow)])
def engine(request):
    """What runs written JavaScript: functions such as Math.exp may differ in their last digit from one engine to the next."""
    return (
        answer_of if request.param == "node" else partial(answer_in_tab, request.getfixturevalue("tab")("about:blank"))
    )


def test_right_hand_sides_observables_and_blocks_are_those_of_jax(small, engine):
    """At random starts and random numbers of all sliders; a change of one part in 10^9 is seen."""
    rng = np.random.default_rng(3)
    every = cases(SMALL, small, rng)
    chain = blocks(SMALL, small, rng, **{"training.learning_rate": 40.0, "dimension": 40})
    told = told_by(engine, small, {"ode": every + nudged(every), "gradient-flow": every}, chain)
    right = known("ode", SMALL, every)
    assert furthest(told["ode"][:20], right) < 1e-13
    assert furthest(told["ode"][20:], right, ["velocity"]) > 1e-10
    still = {**right, "velocity": known("gradient-flow", SMALL, every)["velocity"]}
    assert furthest(told["gradient-flow"], still) < 1e-13
    for found, block in zip(told["chain"], known_blocks(SMALL, chain), strict=True):
        moved = np.abs(block["state"] - block["before"]).max()
        assert moved > 0.3
        assert np.abs(np.array(found["state"]) - block["state"]).max() < 1e-12 * moved
        assert found["step"] == pytest.approx(float(block["step"]), rel=1e-14)
        assert found["risk"][0] == pytest.approx(float(block["risk"][0]), rel=1e-12)


def test_sliders_reach_numbers_by_laws_and_structure_does_not_move(small):
    live = {"dimension", "data.noise", "data.second_layer", "training.learning_rate", "training.weight_decay"}
    assert live | {"training.second_layer_rate", "training.second_layer_decay"} == set(small.live)
    assert small.fixed["network.width"] == small.fixed["training.batch"] == "it changes the structure of the equations"
    laws = Laws(SMALL, {"": lambda made: [np.array(made.training.learning_rate**0.5 / made.dimension)]})
    (law,) = laws.laws[""]
    assert law.product
    found = law({"training.learning_rate": 0.3, "dimension": 1234})
    assert found == pytest.approx(0.3**0.5 / 1234, rel=1e-13)


@pytest.mark.slow
def test_a_curve_is_that_of_python_and_the_start_is_the_one_that_compare_draws(small):
    """Without numbers and without a start the page has those of the problem."""
    times = np.array([0.0, 0.7, 2.0, 10.0])
    told = answer_of(
        small.text,
        "times => makeTheory().solve('ode', {}, null, times, { rtol: 1e-12, atol: 1e-13 })",
        times.tolist(),
    )
    found = df.solve(
        SMALL.replace(**{"run.times": times[1:].tolist(), "run.until": 10.0}), HighDimensional(1e-12, 1e-13)
    )
    assert told["failed"] is None
    assert np.array(told["risk"]) == pytest.approx(found.risk.values[:, 0], rel=1e-8)
    M = np.array(told["observables"]["M"]).reshape(4, 2, 1)
    np.testing.assert_allclose(M, found.M.values[:, 0], rtol=1e-8)


def test_what_cannot_be_written_is_refused_by_a_sentence(small):
    assert small.descriptions == ("ode", "gradient-flow", "mean-field", "dimensionless")
    assert small.chain == "chain"
    assert small.refused["sgd"].startswith(
        "it needs the server, because a page runs real SGD in overlap space, on isotropic"
    )
    assert small.refused["pde"].endswith("open the problem with dimfree lab.")
    told = answer_of(small.text, "() => makeTheory().refused", None)
    assert {one["name"] for one in told} == set(small.refused)


OTHER_STATES = {
    "momentum": problem(momentum=0.9),
    "levels": problem(data={"covariance": {"kind": "levels", "values": [2.0, 0.5], "shares": [0.5, 0.5]}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_STATES)
def test_equations_for_every_eigenvalue_and_with_velocities(name):
    """At their own start, which the page has without drawing it, and at random numbers."""
    made = OTHER_STATES[name]
    script, rng = script_of(made), np.random.default_rng(7)
    every = [{**case, "start": None} for case in cases(made, script, rng, 5)]
    call = "every => every.map(c => makeTheory().velocity('ode', c.numbers, null, c.t))"
    told = answer_of(script.text, call, every)
    start = setting_of(made).start_of(made, jax.random.fold_in(jax.random.key(0), 0), frozenset({"pairs"}))
    assert furthest(told, known("ode", made, every, start, ["state", "velocity"])) < 1e-10


@pytest.mark.slow
def test_stiff_equations_and_large_modules_are_refused(monkeypatch):
    stiff = script_of(SMALL.replace(**{"training.second_layer_rate": 1e6}))
    assert "explicit steps would be too many" in stiff.refused["ode"]
    monkeypatch.setattr("dimfree.lab.export.script.LARGEST", 5_000)
    large = script_of(SMALL)
    assert "kB of JavaScript, and a page takes at most 5 kB" in large.refused["ode"]
    assert large.chain is None
    assert answer_of(large.text, "() => makeChain()", None) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_right_hand_sides_and_risks_of_many_problems(name):
    made, theories = PROBLEMS[name]
    script, rng = script_of(made), np.random.default_rng(11)
    every = cases(made, script, rng)
    chain = blocks(made, script, rng, **{"training.learning_rate": 60.0, "dimension": 40})
    told = told_by(answer_of, script, dict.fromkeys(theories, every + nudged(every)), chain)
    for theory in theories:
        right = known(theory, made, every)
        assert furthest(told[theory][:20], right) < 1e-10
        assert furthest(told[theory][20:], right, ["velocity"]) > 1e-10
    right_blocks = known_blocks(made, chain)
    moves = [float(np.abs(block["state"] - block["before"]).max()) for block in right_blocks]
    assert max(moves) > 0.3
    for found, block, moved in zip(told["chain"], right_blocks, moves, strict=True):
        assert np.abs(np.array(found["state"]) - block["state"]).max() < 1e-12 * moved


def test_steps_are_of_fifth_order_and_stop_at_jumps():
    """y' = -y cos t by its exact solution, and a rate that jumps: nothing of the error is left at the jump."""
    told = answer_of(
        script_text(),
        """times => {
        const smooth = integrate((t, y, out) => { out[0] = -y[0] * Math.cos(t); }, [1], times, { rtol: 1e-10, atol: 1e-12 });
        const rate = t => t < 1 ? 1 : t < 2.5 ? -3 : 0;
        const jumps = integrate((t, y, out) => { out[0] = rate(t); }, [0], times, { rtol: 1e-10, atol: 1e-12, jumps: [1, 2.5] });
        const lost = integrate((t, y, out) => { out[0] = y[0] * y[0]; }, [1], times, { size: y => Math.abs(y[0]) });
        return { smooth: smooth.states.map(y => y[0]), jumps: jumps.states.map(y => y[0]), steps: jumps.steps,
                 lost: lost.failed, at: lost.t, states: lost.states.length }; }""",
        [0.0, 0.3, 1.0, 1.7, 2.5, 4.0],
    )
    t = np.array([0.0, 0.3, 1.0, 1.7, 2.5, 4.0])
    np.testing.assert_allclose(told["smooth"], np.exp(-np.sin(t)), rtol=2e-10)
    np.testing.assert_allclose(told["jumps"], [0.0, 0.3, 1.0, 1 - 2.1, 1 - 4.5, 1 - 4.5], atol=1e-10)
    assert told["lost"] == "diverged"
    assert told["at"] == pytest.approx(1.0, abs=1e-5)
    assert told["states"] == 2


def script_text():
    return files("dimfree.lab.export").joinpath("integrator.js").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_chain_has_the_law_of_ours():
    """Means of overlaps over many replicas, by our generator and by the page's: z-scores."""
    made = problem(width=2, units=1).replace(
        **{"run.replicas": 400, "run.times": [1.0, 5.0, 20.0], "run.until": 20.0, "dimension": 100}
    )
    script = script_of(made)
    ours = df.simulate(made, "chain")
    data = {"Q": np.ravel(ours.Q.values[0, 0]).tolist(), "M": np.ravel(ours.M.values[0, 0]).tolist()}
    call = """start => { const chain = makeChain(), found = [];
        chain.set({});
        for (let r = 0; r < 400; r++) {
            const state = chain.begin(start), rng = dimfreeGenerator.generatorOf(5, r), rows = [];
            let at = 0;
            for (const t of [1, 5, 20]) {
                const to = Math.round(t / chain.timeStep);
                chain.run(state, rng, at, to);
                at = to;
                rows.push(chain.observe(state));
            }
            found.push(rows); }
        return found; }"""
    told = answer_of(generator_text() + script.text, call, data)
    for name in ("M", "Q"):
        theirs = np.array([[np.array(row[name], dtype=float) for row in rows] for rows in told])
        mine = np.moveaxis(getattr(ours, name).values[1:].reshape(3, 400, -1), 0, 1)
        error = np.sqrt(theirs.var(axis=0) / 400 + mine.var(axis=0) / 400)
        z = (theirs.mean(axis=0) - mine.mean(axis=0)) / error
        assert np.abs(z).max() < 4.8  # 18 numbers
        ratio = np.log(theirs.var(axis=0) / mine.var(axis=0)) / np.sqrt(4 / 400)
        assert np.abs(ratio).max() < 6.0  # kurtosis of overlaps is not that of a Gaussian


def generator_text():
    return files("dimfree.lab").joinpath("page", "generator.js").read_text(encoding="utf-8")
