"""The page's slow.js: one step of SGD in the part that is linear in the learning rate and the part that is quadratic."""

from importlib.resources import files

import numpy as np
import pytest
from in_node import answered

import dimfree as df
from dimfree.errors import RefusalError
from dimfree.lab.export.script import chain_script, has_chain, script_of

# A chain of one number M with M' = M + rate z, and of one number Q with Q' = Q + 2 rate z + rate² z².
_PLAIN_CHAIN = """
(script, given) => {
  const z = new Float64Array(1), numbers = { "training.learning_rate": 0.4 };
  let rate = NaN;
  const chain = {
    numbers, draws: { normals: z },
    set: (more) => { rate = { ...numbers, ...more }["training.learning_rate"]; },
    learn: (at) => { at[1] += 2 * rate * z[0] + (rate * z[0]) ** 2; at[0] += rate * z[0]; },
    block: (at, rng) => { z[0] = rng(); chain.learn(at); },
    observe: (at) => ({ M: at.slice(0, 1), Q: at.slice(1, 2) }),
  };
  const state = Float64Array.from(given.state), drawn = [...given.draws], rng = () => drawn.shift();
  const found = script.slowStep(chain, given.numbers, state, rng, { samples: given.draws.length - 1 });
  return { ...found, state, rate };
}
"""


@pytest.mark.parametrize("numbers", [{}, {"training.learning_rate": 1.5}])
def test_a_step_is_the_pull_of_the_gradient_and_the_push_of_the_noise(numbers):
    draws, rate = [0.7, -1.2, 0.3, 2.0], numbers.get("training.learning_rate", 0.4)
    seen = answered("slow.js", _PLAIN_CHAIN, {"state": [0.5, 1.0], "draws": draws, "numbers": numbers})
    z, others = draws[0], np.array(draws[1:])
    expected = {
        "before": {"M": 0.5, "Q": 1.0},
        "after": {"M": 0.5 + rate * z, "Q": 1.0 + 2 * rate * z + rate**2 * z**2},
        "gradient": {"M": rate * z, "Q": 2 * rate * z},
        "noise": {"M": 0.0, "Q": rate**2 * z**2},
    }
    for name, parts in expected.items():
        for what, value in parts.items():
            assert seen[name][what] == pytest.approx([value], abs=1e-14)
    assert seen["mean"]["gradient"]["Q"] == pytest.approx([2 * rate * np.mean(others)], abs=1e-14)
    assert seen["mean"]["noise"]["Q"] == pytest.approx([rate**2 * np.mean(others**2)], abs=1e-14)
    assert seen["state"] == [0.5, 1.0]
    assert seen["rate"] == rate  # the chain goes on as it was


_SHOWN = """
(script, {text, seen, numbers}) => {
  require("vm").runInThisContext(text);
  const chain = require("vm").runInThisContext("makeChain()");
  chain.set(numbers);
  return { seen: chain.observe(chain.begin(seen)), step: chain.timeStep };
}
"""


@pytest.mark.slow
def test_a_served_page_looks_at_a_step_from_the_overlaps_that_it_shows():
    problem = df.Problem(dimension=50, data={"units": 1}, network={"width": 2})
    seen = {"Q": [1.5, 0.2, 0.2, 0.7], "M": [0.3, -0.4], "a": [1.0, 1.0]}
    found = answered("slow.js", _SHOWN, {"text": chain_script(problem), "seen": seen, "numbers": {}})
    for name, values in seen.items():
        assert found["seen"][name] == pytest.approx(values, abs=1e-14)
    assert found["step"] == pytest.approx(problem.time_step, rel=1e-14)


def test_whether_a_step_can_be_shown_is_known_before_it_is_written():
    assert has_chain(df.Problem())
    for changes in ({"network.width": 200}, {"training.batch": 100}):
        assert not has_chain(df.Problem().replace(**changes))
        with pytest.raises(RefusalError, match="SGD of this problem is not followed in few overlaps"):
            chain_script(df.Problem().replace(**changes))


_WRITTEN_CHAIN = """
(script, {text, generator, numbers, samples}) => {
  const run = require("vm").runInThisContext;
  run(text);
  const { makeTheory, makeChain } = run("({makeTheory, makeChain})"), { generatorOf } = require(generator);
  const theory = makeTheory(), chain = makeChain(), many = 100;
  chain.set(numbers);
  const state = chain.begin(null), kept = state.slice(), rng = generatorOf(5, 0);
  const one = script.slowStep(chain, numbers, state, rng, { samples: 0 });
  const groups = Array.from({ length: many }, () => script.slowStep(chain, numbers, state, rng, { samples }).mean);
  const rates = Object.fromEntries(["ode", "gradient-flow"].map((name) => {
    const step = 1e-3 * chain.timeStep, { observables } = theory.solve(name, numbers, null, [0, step]);
    const moved = (x) => Array.from(x.subarray(x.length / 2), (then, i) => 1e3 * (then - x[i]));
    return [name, { M: moved(observables.M), Q: moved(observables.Q) }];
  }));
  return { one, groups, rates, same: state.every((x, i) => x === kept[i]) };
}
"""


@pytest.mark.slow
def test_gradient_and_noise_of_the_written_chain_are_on_average_those_of_the_equations():
    """Section 1.3 of docs/theory/committee.md: the linear part is gradient-flow, the quadratic one what ode has beside it."""
    problem = df.Problem(dimension=2000, data={"noise": 0.01}, training={"learning_rate": 2.0})
    generator = str(files("dimfree.lab").joinpath("page", "generator.js"))
    given = {"text": script_of(problem).text, "generator": generator, "numbers": {}, "samples": 50}
    seen = answered("slow.js", _WRITTEN_CHAIN, given)
    assert seen["same"]
    assert np.abs(seen["one"]["noise"]["M"]).max() < 1e-13
    push = np.reshape(seen["one"]["noise"]["Q"], (4, 4))
    assert np.linalg.eigvalsh(push).max() > 0
    assert np.linalg.eigvalsh(push).min() > -1e-12
    flow, ode = (seen["rates"][name] for name in ("gradient-flow", "ode"))
    expected = {
        ("gradient", "M"): flow["M"],
        ("gradient", "Q"): flow["Q"],
        ("noise", "Q"): np.subtract(ode["Q"], flow["Q"]),
    }
    for (part, what), mean in expected.items():
        found = np.array([group[part][what] for group in seen["groups"]])
        z = (found.mean(axis=0) - mean) / (found.std(axis=0, ddof=1) / np.sqrt(len(found)))
        assert np.abs(z).max() < 5, (part, what, z)
