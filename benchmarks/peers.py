"""dimfree beside what people use today: the table of paper.md, written into it from one run.

`python benchmarks/peers.py` prints the numbers, `--json FILE` writes them; `--paper` writes the table of paper.md anew from
benchmarks/peers.json. A peer that is another package runs in its own interpreter, named by `--neural-tangents PYTHON`.
Ratios are CPU seconds of the peer over those of dimfree, both warm and on one core.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf

import dimfree as df
from clock import cpu_seconds
from curves import ratios as curve_ratios
from dimfree.functions.named import activation
from dimfree.lazy.kernel import compiled_kernel
from dimfree.lazy.network import Shape
from overlaps import REPLICAS, naive_step, per_step, problem, start_of

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "benchmarks" / "peers.json"
POINTS = 300  # of the tangent kernel, in 50 dimensions
THEIR_KERNEL = """
import json, sys, time
import jax
jax.config.update("jax_enable_x64", True)
import neural_tangents, numpy as np
from neural_tangents import stax
_, _, kernel = stax.serial(stax.Dense(1), stax.Erf(b=2**-0.5), stax.Dense(1))
X = np.load(sys.argv[1])
compiled = jax.jit(lambda x: kernel(x, None, "ntk"))
K, seconds = np.asarray(compiled(X)), []
for _ in range(5):
    began = time.process_time(); jax.block_until_ready(compiled(X)); seconds.append(time.process_time() - began)
np.save(sys.argv[2], K)
print(json.dumps({"seconds": min(seconds), "version": neural_tangents.__version__, "jax": jax.__version__}))
"""
WORDS = {
    "numpy_sgd": "one-pass SGD ($d = 1000$, $p = 8$, $k = 4$) | a NumPy loop",
    "jax_sgd": "the same | a compiled JAX loop, one sample at a time",
    "scipy_ode": "the overlap ODE, $p = k = 2$ | NumPy formulas and SciPy's DOP853",
    "sklearn_curve": "one point of a learning curve | ten fits by scikit-learn, $d = 1000$",
    "neural_tangents": f"the tangent kernel of {POINTS} points | neural-tangents",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--paper", action="store_true", help="write the table of paper.md from peers.json")
    parser.add_argument("--neural-tangents", metavar="PYTHON", help="an interpreter that has neural-tangents")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes")
    given = parser.parse_args()
    if given.paper:
        paper = ROOT / "paper.md"
        found = json.loads(NUMBERS.read_text(encoding="utf-8"))
        paper.write_text(renewed(paper.read_text(encoding="utf-8"), found), encoding="utf-8")
        return
    found = measured(given.smoke, given.neural_tangents)
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(smoke: bool, python: str | None) -> dict[str, Any]:
    """For every peer the ratio of CPU seconds and, where both compute one number, their largest relative difference."""
    least, steps = (0.01, 160) if smoke else (1.0, 3200)
    ours = per_step(df.experiments.VectorSGD(), problem(), steps, REPLICAS, least)
    found = {
        "numpy_sgd": {"ratio": numpy_step(problem(), 50 if smoke else 2000) / ours},
        "jax_sgd": {"ratio": naive_step(problem(), steps, least) / ours},
        "scipy_ode": scipy_ode(1.0 if smoke else 20.0, least),
        "sklearn_curve": {"ratio": 1 / curve_ratios(smoke)["curve_point_over_fits"]},
    }
    return found | ({"neural_tangents": tangent_kernel(python, least)} if python else {})


def numpy_step(p: df.Problem, steps: int) -> float:
    """CPU seconds of one step of plain SGD in NumPy."""
    rng, d, width = np.random.default_rng(0), p.dimension, p.network.width
    start = np.asarray(start_of(p, vectors=True).weights)

    def run() -> np.ndarray:
        W, teachers = start[:width].copy(), start[width:]
        for _ in range(steps):
            x = rng.normal(size=d) / np.sqrt(d)
            fields = W @ x
            y = erf(teachers @ x / np.sqrt(2)).mean() + np.sqrt(1e-3) * rng.normal()
            push = np.sqrt(2 / np.pi) * np.exp(-(fields**2) / 2) * (y - erf(fields / np.sqrt(2)).mean())
            W += push[:, None] * x / width
        return W

    return cpu_seconds(run, least=0.0, rounds=2) / steps


def scipy_ode(until: float, least: float) -> dict[str, float]:
    """The ODE of Saad and Solla for erf units, from closed formulas: risks at the end, and CPU seconds."""
    p = problem(width=2, units=2, **{"run.until": until, "run.points": 2})
    start = start_of(p).overlaps
    Q, M = np.asarray(start.Q), np.asarray(start.M)
    rate, noise, width, units = 1.0, p.data.noise, 2, 2
    v = np.array([-1 / width] * width + [1 / units] * units)

    def covariance(y: np.ndarray) -> np.ndarray:
        Q, M = y[: width**2].reshape(width, width), y[width**2 :].reshape(width, units)
        return np.block([[Q, M], [M.T, np.eye(units)]])

    def velocity(t: float, y: np.ndarray) -> np.ndarray:
        C = covariance(y)
        D, H, S = 1 + np.diag(C), np.zeros((width, width + units)), np.zeros((width, width))
        for i in range(width):
            for m in range(width + units):  # E[s'(u_i) u_m s(u_l)], summed over l
                root = np.sqrt(D[i] * D - C[i] ** 2)
                H[i, m] = v @ (2 / np.pi / root * (C[m] * D[i] - C[i, m] * C[i]) / D[i])
            for j in range(width):
                L4 = D[i] * D[j] - C[i, j] ** 2
                L0 = L4 * C - np.outer(C[j], C[j]) * D[i] - np.outer(C[i], C[i]) * D[j]
                L0 += C[i, j] * (np.outer(C[i], C[j]) + np.outer(C[j], C[i]))
                L1 = L4 * D - C[j] ** 2 * D[i] - C[i] ** 2 * D[j] + 2 * C[i, j] * C[i] * C[j]
                four = 4 / np.pi**2 / np.sqrt(L4) * np.arcsin(np.clip(L0 / np.sqrt(np.outer(L1, L1)), -1, 1))
                S[i, j] = v @ four @ v + noise * 2 / np.pi / np.sqrt(L4)
        grown = H[:, :width] + H[:, :width].T + rate / width * S
        return np.concatenate([grown.ravel(), H[:, width:].ravel()])

    def risk(y: np.ndarray) -> float:
        C = covariance(y)
        D = 1 + np.diag(C)
        return float(v @ (2 / np.pi * np.arcsin(C / np.sqrt(np.outer(D, D)))) @ v / 2)

    first = np.concatenate([Q.ravel(), M.ravel()])
    theirs = lambda: solve_ivp(velocity, (0, until), first, method="DOP853", rtol=1e-8, atol=1e-10).y[:, -1]  # noqa: E731
    one, model = df.theories.HighDimensional(), df.extend.model(p)
    times, key = jnp.array([0.0, until]), jax.random.key(0)
    beginning = df.extend.Start(start, None, jnp.zeros(2))
    ours = lambda: one.at_once(model, beginning, df.extend.Ask(times, 1, key)).observables["risk"]  # noqa: E731
    gap = abs(float(np.asarray(ours()).ravel()[-1]) / risk(theirs()) - 1)
    return {"ratio": cpu_seconds(theirs, least=0, rounds=2) / cpu_seconds(ours, least=least), "difference": gap}


def tangent_kernel(python: str, least: float) -> dict[str, Any]:
    """The kernel of erf units at infinite width; inputs there are longer by the square root of the dimension."""
    X = np.random.default_rng(0).normal(size=(POINTS, 50)) / np.sqrt(50)
    folder = Path(__file__).parent
    files = [folder / ".X.npy", folder / ".K.npy"]
    try:
        np.save(files[0], X * np.sqrt(50))
        command = [python, "-c", THEIR_KERNEL, *map(str, files)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        K = np.load(files[1])
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    shape = Shape(activation("erf"), True, True, jnp.asarray(1.0), jnp.asarray(1.0))
    ours = np.asarray(compiled_kernel(shape, jnp.asarray(X)))
    return {
        "ratio": told["seconds"] / cpu_seconds(compiled_kernel, shape, jnp.asarray(X), least=least),
        "difference": float(np.abs(ours / K - 1).max()),
        "versions": f"{told['version']} with jax {told['jax']}",
    }


def rounded(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def renewed(paper: str, found: dict[str, Any]) -> str:
    """The paper with the table of these numbers."""
    rows = [
        f"| {WORDS[name]} | {rounded(one['ratio'])} | {'{:.0e}'.format(one['difference']) if 'difference' in one else ''} |"
        for name, one in found.items()
    ]
    head = "| task | peer | CPU time of the peer over dimfree's | largest relative difference |\n|---|---|---|---|\n"
    return re.sub(f"({re.escape(head)})(?:\\|.*\n)*", lambda match: match[1] + "\n".join(rows) + "\n", paper)


if __name__ == "__main__":
    main()
