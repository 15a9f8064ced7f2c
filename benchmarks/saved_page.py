"""The page that needs no server: SGD and theory in JavaScript by themselves, and over the same by compiled programs."""

import json
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.lab.export.script import script_of
from dimfree.registry import setting_of
from dimfree.setting import model_of

BARS = {
    "page_chain_steps_per_second": Bar(False, 300_000),
    "page_rhs_microseconds": Bar(True, 100),
    "page_rhs_over_compiled": Bar(True, 10),  # one right-hand side in the page over the same by XLA
    "page_ode_milliseconds": Bar(True, 33),  # a whole curve: what a slider waits for
}
PROBLEM = df.Problem(
    dimension=300, data={"kind": "teacher", "units": 2, "noise": 1e-3}, network={"width": 4}, run={"until": 500.0}
)
_MEASURED = """
const cpu = call => { const from = process.cpuUsage(); call(); return process.cpuUsage(from).user / 1e6; };
const best = (rounds, call) => Math.min(...Array.from({ length: rounds }, () => cpu(call)));
const theory = makeTheory(), chain = makeChain(), given = JSON.parse(process.argv[2]);
chain.set({});
const state = chain.begin(null), rng = dimfreeGenerator.generatorOf(1, 0);
let at = 0;
const walk = () => { chain.run(state, rng, at, at + given.steps); at += given.steps; };
const name = theory.descriptions[0].name, solve = () => theory.solve(name, {}, null, given.times);
walk();
solve();
const rate = given.steps / best(given.rounds, walk), curve = best(given.rounds, solve);
console.log(JSON.stringify({ rate, curve, rhs: curve / solve().evaluations }));
"""


def in_node(node: str, smoke: bool) -> dict[str, float]:
    """CPU seconds of a curve and of a right-hand side within it, and steps of SGD a CPU second, draws included."""
    generator = files("dimfree.lab").joinpath("page", "generator.js").read_text(encoding="utf-8")
    given = json.dumps(
        {"steps": 1600 if smoke else 160_000, "rounds": 2 if smoke else 12, "times": PROBLEM.times.tolist()}
    )
    text = generator + script_of(PROBLEM).text + _MEASURED
    told = subprocess.run([node, "-", given], input=text, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def compiled(least: float) -> float:
    """CPU seconds of one right-hand side by XLA; many in one program, because a call costs more than the sum."""
    one, model = df.theories.HighDimensional(), model_of(PROBLEM)
    start: Any = setting_of(PROBLEM).start_of(PROBLEM, jax.random.key(0), frozenset({"pairs"}))
    state, many = one.initial(model, start), 1000

    @jax.jit
    def steps(state: Any) -> Any:
        def step(_: Any, y: Any) -> Any:
            return jax.tree.map(lambda y, v: y + 1e-9 * v, y, one.velocity(model, jnp.zeros(()), y))

        return jax.lax.fori_loop(0, many, step, state)

    return cpu_seconds(steps, state, least=least) / many


def ratios(smoke: bool) -> dict[str, float]:
    """The table of this subject; it is empty where node is not installed."""
    if (node := shutil.which("node")) is None:
        return {}
    page = in_node(node, smoke)
    return {
        "page_chain_steps_per_second": page["rate"],
        "page_rhs_microseconds": 1e6 * page["rhs"],
        "page_rhs_over_compiled": page["rhs"] / compiled(0.01 if smoke else 1.0),
        "page_ode_milliseconds": 1e3 * page["curve"],
    }
