"""Whole runs on structured inputs: reference numbers, what isotropic inputs still cost, power laws, digits."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.linear_mean import LinearRule, exact_risks
from dimfree.onepass.structured_start import measured_blocks
from dimfree.reference.check import ADAPTERS, check, items
from first_contact import IMPORTS, seconds
from overlaps import problem, start_of

BARS = {
    "structured_numbers_missed": Bar(True, 0.0),  # of all reference numbers
    "isotropic_equations": Bar(True, 1.05),  # over what they were before there were covariances
    "power_law_ode_seconds": Bar(True, 5.0),  # after compilation, at d = 10,000
    "power_law_ode_error": Bar(True, 1e-6),  # against all eigenvalues
    "digits_show_seconds": Bar(True, 1.0),  # beyond a bare import
    "digits_compare_seconds": Bar(True, 60.0),
    "linear_million_seconds": Bar(True, 1.0),
}
BEFORE = 536 + 784 + 626  # equations of sgd, chain and ode on isotropic inputs, as jax 0.10 writes them
TIMES = jnp.asarray([0.02, 0.1, 0.4, 1.0, 2.0])
CLI = "from dimfree.cli import main; import sys; sys.argv = ['dimfree', {0}, '--set', 'data.covariance.file=digits'{1}]; main()"
COMPARE = "".join(f", '--only', '{name}'" for name in ("rows", "sgd", "ode")) + (
    ", '--set', 'network.width=2', '--set', 'data.noise=0.01', '--set', 'training.learning_rate=0.5', '--set', 'run.until=20'"
    ", '--set', 'run.replicas=16', '--set', 'run.starts=8', '--out', 'results'"
)


def equations(jaxpr: Any) -> int:
    """How many equations a program has, with those inside of them."""
    inner = [one for eqn in jaxpr.eqns for one in jax.tree.leaves([*eqn.params.values()], is_leaf=_is_program)]
    return len(jaxpr.eqns) + sum(equations(getattr(one, "jaxpr", one)) for one in inner if _is_program(one))


def _is_program(one: Any) -> bool:
    return hasattr(one, "eqns") or hasattr(one, "jaxpr")


def isotropic_equations() -> float:
    """Of sgd, chain and ode, over what they were."""
    p = problem(width=4, units=2)
    model, start, ode, found = df.extend.model(p), start_of(p, vectors=True), df.theories.HighDimensional(), 0
    for one in (df.experiments.VectorSGD(), df.experiments.OverlapChain()):
        state = one.begin(model, start, 16, jax.random.key(0))
        found += _equations_of(lambda m, s, one=one: one.advance(m, s, jnp.ones(1)), model, state)
    found += _equations_of(lambda m, s: ode.velocity(m, jnp.zeros(()), s), model, start.overlaps)
    return found / BEFORE


def _equations_of(function: Any, *args: Any) -> int:
    return equations(eqx.filter_make_jaxpr(function)(*args)[0].jaxpr)


def power_law(dimension: int, least: float) -> tuple[float, float]:
    """CPU seconds of the ode on nodes, and its largest relative error against all eigenvalues."""
    levels = {"kind": "power", "exponent": 1.0}
    p = problem(width=2, units=2, dimension=dimension).replace(
        **{"data.covariance": levels, "training.learning_rate": 0.5, "data.noise": 0.01, "run.until": 2.0}
    )
    model, start = df.extend.model(p), start_of(p, vectors=True)
    program, model = df.theories.HighDimensional().twin(model)
    run = eqx.filter_jit(lambda m, s: program.run(m, s, TIMES, jax.random.key(0))["risk"][:, 0])
    exact = BlockEquations(rtol=1e-10, atol=1e-12)
    everything = replace(start, measured=measured_blocks(p, start.weights, start.measured.a))
    full = eqx.filter_jit(lambda m, s: exact.run(m, s, TIMES, jax.random.key(0))["risk"][:, 0])(model, everything)
    error = float(np.max(np.abs(np.asarray(run(model, start)) / np.asarray(full) - 1)))
    return cpu_seconds(run, model, start, least=least, rounds=2), error


def linear_million(least: float) -> float:
    """The exact mean of a linear network on bins of a million eigenvalues, at times up to a billion steps."""
    firsts = np.unique(np.rint(1.02 ** np.arange(698))).astype(int) - 1
    s = np.arange(1.0, 10**6 + 1) ** -1.5
    counts = np.diff(np.append(firsts, s.size)).astype(float)
    values = np.add.reduceat(s * s.size / s.sum(), firsts) / counts
    rule = LinearRule(values, counts, 0.5, 0.01, 1)
    return cpu_seconds(exact_risks, rule, counts / s.size, np.geomspace(1e2, 1e9, 41), least=least, rounds=2)


def digits() -> tuple[float, float]:
    """CPU seconds of `show` beyond a bare import, and of `compare`, in fresh processes."""
    with tempfile.TemporaryDirectory() as place:
        cache = Path(place)
        bare = min(seconds(f"{IMPORTS}, sklearn.datasets", cache, told=False) for _ in range(2))  # where digits are
        show = min(seconds(CLI.format("'show'", ""), cache, told=False) for _ in range(2))
        return max(show - bare, 0.0), seconds(CLI.format("'compare'", COMPARE), cache, told=False)


def ratios(smoke: bool) -> dict[str, float]:
    least = 0.01 if smoke else 0.5
    listed = [item for item in items() if item.file == "structured"]
    missed = [item for item in (listed[:1] if smoke else listed) if item.kind not in ADAPTERS or check(item).problem]
    ode_seconds, ode_error = power_law(600 if smoke else 10_000, least)
    show, compare = (0.0, 0.0) if smoke else digits()
    return {
        "structured_numbers_missed": float(len(missed)),
        "isotropic_equations": isotropic_equations(),
        "power_law_ode_seconds": ode_seconds,
        "power_law_ode_error": ode_error,
        "digits_show_seconds": show,
        "digits_compare_seconds": compare,
        "linear_million_seconds": linear_million(least),
    }
