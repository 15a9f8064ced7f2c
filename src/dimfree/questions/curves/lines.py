"""The theoretical curves that are drawn with a learner, over samples per dimension (docs/theory/static.md, a and b)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.dataset.ends import rademacher
from dimfree.dataset.ends.diagnosis import no_gaussian_teacher
from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.max_margin import max_margin
from dimfree.dataset.ends.optimal_ridge import Best
from dimfree.dataset.ends.solve import SETTLED
from dimfree.dataset.ends.solve import curve as ends
from dimfree.dataset.ends.source import Pool
from dimfree.dataset.ends.task import Task
from dimfree.dataset.ends.yardsticks import best_learner, why_not_best
from dimfree.programs.compiled import quick_program

Numbers = Float[np.ndarray, " n"]
FINE = 50  # points of a theory's line, all solved in one call
TRAINING = "train-loss"  # the only line that is not a risk
VACUOUS = 0.5  # the error of guessing; a bound above it says nothing


class Line(NamedTuple):
    """One theory: its label and its values; nan where it does not hold."""

    label: str
    samples: Numbers
    values: Numbers


def learned(task: Task, samples: Numbers) -> dict[str, Numbers]:
    """The minimum at the task's own ridge, by the names of `End`."""
    found = ends(task, jnp.asarray(samples), jnp.full(len(samples), task.lambda_))
    return {name: np.where(found.left <= SETTLED, values, np.nan) for name, values in found._asdict().items()}


def lines(model: EndModel, samples: Numbers, best: Best) -> dict[str, Line]:
    """All lines of a task by name; `best` are the risks at the best ridge (and threshold, where the loss has one)."""
    task = model.task
    assert task is not None
    fine = np.geomspace(samples.min(), samples.max(), FINE) if len(samples) > 1 else samples
    label, own = f"{task.loss.name}, ridge {float(task.lambda_):g}", learned(task, fine)
    if no_gaussian_teacher(model):
        label += "\n(Gaussian teacher, not valid for these labels)"
    threshold = "" if best.threshold is None else " and threshold"
    found = {
        "ridge": Line(label, fine, own["risk"]),
        "optimal-ridge": Line(f"{task.loss.name}, best ridge{threshold}", samples, best.risk),
        TRAINING: Line(label, fine, own["train_loss"]),
    }
    if isinstance(model.source, Pool):
        return found
    known = why_not_best(task) is None
    if task.labels == "sign":
        found["max-margin"] = Line("largest margin (ridge to 0)", fine, np.asarray(_margins(task, jnp.asarray(fine))))
    if known:
        found["bayes"] = Line("Bayes-optimal", fine, best_risks(task, fine))
    if known and task.labels == "sign" and float(task.Delta) == 0:
        found |= _complexities(fine)
    return found


def _complexities(samples: Numbers) -> dict[str, Line]:
    """Bounds for every classifier without training errors; nan where they are not better than guessing."""

    def shown(label: str, values: Numbers) -> Line:
        return Line(label, samples, np.where(values < VACUOUS, values, np.nan))

    found = {
        "rademacher-bound": shown("Rademacher bound (smaller of RS and counting)", rademacher.sign_bound(samples)),
        "rademacher-asymptote": shown("Rademacher, large-α asymptote", rademacher.sign_asymptote(samples)),
    }
    return {name: one for name, one in found.items() if np.isfinite(one.values).any()}


def best_risks(task: Task, samples: Numbers) -> Numbers:
    """The errors of the best possible learner."""
    return np.asarray(_best(task, jnp.asarray(samples)))


@quick_program
def _margins(task: Task, samples: Float[Array, " n"]) -> Float[Array, " n"]:
    def risk(alpha: Float[Array, ""]) -> Float[Array, ""]:
        end = max_margin(task.at(alpha, task.lambda_))
        return jnp.where(end.left <= SETTLED, task.risk(end.m, end.q), jnp.nan)

    return jax.vmap(risk)(samples)


@quick_program
def _best(task: Task, samples: Float[Array, " n"]) -> Float[Array, " n"]:
    return jax.vmap(lambda alpha: best_learner(eqx.tree_at(lambda one: one.alpha, task, alpha))["risk"])(samples)
