"""The plan as a script that needs nothing of dimfree: numpy, jax and optax, and the files beside it."""

from dimfree.onepass.inputs.covariance import Features
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import LinearKnots
from dimfree.problem.loss import loss_name
from dimfree.questions.plan.search import Choice

_SCRIPT = '''"""Train on {table} as dimfree plan found best; prints the risk on the rows that are held out.

Network: f = sum_i {word}(w_i.x), width {width}, second layer 1, no offsets; w_i starts Gaussian of scale {start:g}.
Loss: {said}.
Inputs: columns centred{each}, then all divided by one number, so that rows have mean square norm 1.
Batch: {batch} rows, drawn with replacement; {steps} steps.
Rates: w <- w - rate * gradient, mean over a batch; for inputs of variance 1 divide them by {dimension}.
Digest of the problem: {digest}.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

HELD_OUT = {held_out}
STEPS = {knots}
RATES = {rates}
folder, seed = Path(__file__).parent, int(sys.argv[1]) if len(sys.argv) > 1 else 0

X, y = np.load(folder / "{features}"), np.load(folder / "{labels}")
n = len(X) - HELD_OUT
x = X - X[:n].mean(axis=0)
x = x[:, x[:n].std(axis=0) > 1e-12 * x[:n].std(axis=0).max()]
{scaled}x = x / np.sqrt(np.mean(np.sum(x[:n] ** 2, axis=1)))
{standardised}x, y = jnp.asarray(x), jnp.asarray(y)


def network(w, x):
    return jnp.sum({activation}, axis=1)


def loss(w, x, y):
    f = network(w, x)
    return jnp.mean({loss})


def schedule(step):
    return jnp.interp(step, jnp.array(STEPS), jnp.array(RATES))


optimiser = optax.sgd(schedule)


def step(state, key):
    w, memory = state
    rows = jax.random.randint(key, ({batch},), 0, n)
    change, memory = optimiser.update(jax.grad(loss)(w, x[rows], y[rows]), memory)
    return (optax.apply_updates(w, change), memory), None


first, later = jax.random.split(jax.random.key(seed))
w = {start!r} * jax.random.normal(first, ({width}, x.shape[1]))
(w, _), _ = jax.lax.scan(step, (w, optimiser.init(w)), jax.random.split(later, {steps}))
print(f"held-out risk {{loss(w, x[n:], y[n:]):.4f}}")
np.save(folder / "{name}-weights.npy", w)
'''


_LOSSES = {  # in words, and as jax
    "square": (
        "(y - f)^2/2, for labels y of mean 0 and variance 1 over the rows that are learned from",
        "(y - f) ** 2 / 2",
    ),
    "huber": (
        "(y - f)^2/2 up to |y - f| = 1 and |y - f| - 1/2 beyond, for labels y of mean 0 and variance 1",
        "optax.losses.huber_loss(f, y)",
    ),
    "logistic": ("log(1 + exp(-y f)), for labels y = -1 and +1", "jax.nn.softplus(-y * f)"),
}


def script(problem: OnePassProblem, choice: Choice, table: str, name: str) -> str:
    """The text; the arrays lie beside it as NAME-features.npy and NAME-labels.npy."""
    schedule, given = problem.training.schedule, getattr(problem.data, "covariance", None)
    assert isinstance(schedule, LinearKnots)
    assert isinstance(given, Features)
    linear, each = problem.network.activation == "linear", given.scale == "each"
    said, loss = _LOSSES[loss_name(problem.training.loss)]
    return _SCRIPT.format(
        said=said,
        loss=loss,
        standardised="" if problem.data.signs else "y = (y - y[:n].mean()) / y[:n].std()\n",
        table=table,
        word="" if linear else "erf(./sqrt 2) of ",
        width=choice.width,
        start=float(getattr(problem.start, "scale", 1.0)),
        each=" and divided by their standard deviations" if each else "",
        batch=choice.batch,
        steps=problem.steps(problem.run.until),
        dimension=problem.dimension,
        digest=problem.digest,
        held_out=given.held_out,
        knots=[round(time / problem.time_step, 3) for time in schedule.times],
        rates=[float(f"{problem.training.learning_rate * factor:.6g}") for factor in schedule.factors],
        features=f"{name}-features.npy",
        labels=f"{name}-labels.npy",
        scaled="x = x / x[:n].std(axis=0)\n" if each else "",
        activation="x @ w.T" if linear else "jax.scipy.special.erf(x @ w.T / jnp.sqrt(2.0))",
        name=name,
    )
