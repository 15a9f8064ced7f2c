"""Problems as JavaScript beside the same problems in jax: random starts, random numbers, random draws."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import dimfree as df
from dimfree.description import Draws
from dimfree.lab.export.flows import Split
from dimfree.onepass.start import Start
from dimfree.registry import description
from dimfree.setting import model_of
from dimfree.states.overlaps import Overlaps

ASKED = """data => { const theory = makeTheory(), chain = makeChain(), found = {};
    for (const [name, cases] of Object.entries(data.theories)) found[name] = cases.map(c => ({
        ...theory.velocity(name, c.numbers, c.start, c.t), ...theory.observe(name, c.numbers, c.start) }));
    if (data.blocks) found.chain = data.blocks.map(c => {
        chain.set(c.numbers);
        const state = chain.begin(c.start);
        for (const [name, values] of Object.entries(c.draws)) chain.draws[name].set(values);
        chain.learn(state, c.first, c.active);
        return { state, freedom: chain.freedom.slice(), step: chain.timeStep, ...chain.observe(state) }; });
    return found; }"""


def problem(width=4, units=2, activation="erf", data=(), network=(), **training):
    """A committee that learns another one."""
    return df.Problem(
        dimension=300,
        data={"kind": "teacher", "units": units, "noise": 1e-3, "activation": activation, **dict(data)},
        network={"width": width, "activation": activation, **dict(network)},
        training={"learning_rate": 1.0, **training},
    )


def cases(made, script, rng, count=20):
    """Starts that exist, numbers around those of the problem, and times."""
    p, k = made.network.width, made.data.units
    found = []
    for _ in range(count):
        W, B = rng.normal(size=(p, 8 + k)) * rng.uniform(0.3, 1.2), np.eye(k, 8 + k)
        start = {"Q": W @ W.T / 8, "M": W @ B.T / np.sqrt(8), "a": rng.normal(size=p), "bias": np.zeros(p)}
        numbers = {path: _moved(script.laws.numbers[path], rng) for path in script.live}
        found.append({"start": start, "numbers": numbers, "t": rng.uniform(0, 20)})
    return found


def nudged(every):
    """The same cases with starts that differ by one part in 10^9."""
    return [{**case, "start": {name: x * (1 + 1e-9) for name, x in case["start"].items()}} for case in every]


def _moved(value, rng):
    return round(value * rng.uniform(0.5, 3)) if isinstance(value, int) else (value or 0.1) * rng.uniform(0.5, 2)


def as_start(start):
    """The same start in Python."""
    return Start(Overlaps(*(jnp.asarray(start[name]) for name in ("Q", "M", "a"))), None, jnp.asarray(start["bias"]))


def plain(case):
    """A case as data for node."""
    return {**case, "start": {name: np.ravel(x).tolist() for name, x in case["start"].items()}}


def twin(name, made, numbers):
    """The dynamics and the model of a description at other numbers."""
    one = description(name)
    return one.twin(model_of(made.replace(**numbers)))


def known(name, made, every, start=None, names=None):
    """State, velocity and observables of all cases by jax, in one program; all from one start if that is given."""
    dynamics, first = twin(name, made, every[0]["numbers"])
    split = Split(first)

    def one(leaves, start, t):
        model = split.model(leaves)
        state = dynamics.initial(model, start)
        seen = dynamics.observe(model, jax.tree.map(lambda x: x[None, None], state))
        return {"state": _flat(state), "velocity": _flat(dynamics.velocity(model, t, state))} | {
            key: x.ravel() for key, x in seen.items()
        }

    leaves = [Split(twin(name, made, case["numbers"])[1]).leaves for case in every]
    starts = [as_start(case["start"]) if start is None else start for case in every]
    given = [(one, begin, case["t"]) for one, begin, case in zip(leaves, starts, every, strict=True)]
    found = jax.jit(jax.vmap(one))(*jax.tree.map(lambda *x: jnp.stack(x), *given))
    return found if names is None else {key: found[key] for key in names}


def _flat(tree):
    return ravel_pytree(tree)[0]


def furthest(told, expected, names=None):
    """The largest difference, as a share of the largest term of the same array in the same case."""
    worst = 0.0
    for place, one in enumerate(told):
        for name in names or expected:
            found, right = np.array(one[name], dtype=float), np.asarray(expected[name][place]).ravel()
            assert found.shape == right.shape
            worst = max(worst, float(np.max(np.abs(found - right)) / max(np.max(np.abs(right)), 1e-300)))
    return worst


def blocks(made, script, rng, count=4, **numbers):
    """Blocks of the chain whose steps change overlaps by their own size."""
    chain, model = twin("chain", made, {})
    taken = chain.block(model)
    found = []
    for case in cases(made, script, rng, count):
        values = case["numbers"] | numbers
        freedom = np.asarray(chain.block(twin("chain", made, values)[1]).freedom)
        draws = {
            "normals": rng.normal(size=taken.normals),
            "uniforms": rng.uniform(size=taken.uniforms),
            "chiSquares": rng.chisquare(freedom),
        }
        more = {"first": int(rng.integers(100)), "active": int(rng.integers(1, taken.steps + 1))}
        found.append({**case, "numbers": values, "draws": draws, **more})
    return found


def plain_block(case):
    """A block as data for node."""
    return plain(case) | {"draws": {name: x.tolist() for name, x in case["draws"].items()}}


def known_blocks(made, every):
    """The same blocks by jax."""
    chain, first = twin("chain", made, every[0]["numbers"])
    split = Split(first)

    @jax.jit
    def one(leaves, start, draws, at, active):
        model = split.model(leaves)
        before = chain.enter(model, start)
        after = chain.through(model, before, draws, at, active)
        seen = {key: x.ravel() for key, x in chain.seen(model, after).items()}
        return {"state": _flat(after), "before": _flat(before), "step": chain.pace(model), **seen}

    found = []
    for case in every:
        leaves = Split(twin("chain", made, case["numbers"])[1]).leaves
        draws = Draws(*(jnp.asarray(case["draws"][name]) for name in ("normals", "uniforms", "chiSquares")))
        found.append(one(leaves, as_start(case["start"]), draws, case["first"], case["active"]))
    return found


def told_by(engine, script, theories, chain=None):
    """What the script says of all cases in an engine: `answer_of` is that of node."""
    data = {"theories": {name: [plain(case) for case in every] for name, every in theories.items()}}
    return engine(script.text, ASKED, data | ({"blocks": [plain_block(case) for case in chain]} if chain else {}))
