"""What `dimfree show` says about a one-pass problem beside its keys."""

from collections.abc import Iterator

import numpy as np

from dimfree.gaussian.any_loss.ladder import quadrature
from dimfree.gaussian.variance.ladder import variance_method
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.kind import kind_of
from dimfree.onepass.labelled import Labelled
from dimfree.onepass.model import model
from dimfree.onepass.nodes import nodes_of
from dimfree.onepass.pool import said_of_inputs
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem.loss import Clip, Hinge, Huber, loss_name
from dimfree.problem.noise_law import Student

_METHODS = {
    "erf": "in closed form",
    "square": "in closed form",
    "relu": "in closed form",
    "product": "by a product quadrature, exactly",
    "smooth": "by a quadrature that follows the overlaps, with an error estimate",
    "sampled": "from sampled points, with an error estimate",
}
_RATE = 0.5  # momentum differs from a rate by this number over theta
_SECOND_ORDER = 0.02  # a larger difference means that momentum is more than a rate


def remark(problem: OnePassProblem) -> str | None:
    """The notes of the kind of data."""
    return kind_of(problem).remark(problem)


def said_of_directions(problem: OnePassProblem) -> str:
    """How the variance of a step is computed, which decides what equations cost and how exact they are; inputs and momentum."""
    found = model(problem).taught
    assert found is not None
    by = [f"The variance of the steps is computed {_METHODS[variance_method(found)]} (docs/accuracy.md)."]
    inputs = (*said_of_inputs(problem), *_said_of_nodes(problem)) if problem.correlated else ()
    averages = by if found.plain else _said_of_averages(found)
    return " ".join([*said_of_loss(problem), *inputs, *_said_of_momentum(found), *averages])


def said_of_loss(problem: OnePassProblem) -> Iterator[str]:
    """The loss, the law of labels and clipping, where they are not the square loss of values."""
    if not problem.beyond_square:
        return
    said = [f"The loss is {_loss(problem.training.loss)}", *_said_of_labels(problem.data)]
    match problem.training.clip:
        case Clip(error=float(limit)):
            said.append(f"errors are clipped at {limit:g}")
        case Clip(norm=float(limit)):
            said.append(f"gradients of the first layer are clipped at norm {limit:g}")
    yield f"{'; '.join(said)} (docs/problem.md)."


def _said_of_averages(found: TargetModel) -> Iterator[str]:
    """How equations average other losses than the square one."""
    if found.outputs > 1 or found.no_averages:
        return
    made = quadrature(found.task, found.width)
    how = "at fixed points, with an error estimate" if made.rule.sobol else "over panels that are cut at jumps"
    yield f"Equations average the loss over {made.fields} preactivation{'s' if made.fields > 1 else ''} {how} (docs/losses.md)."


def _loss(written: object) -> str:
    match written:
        case Hinge(kind=kind, margin=margin):
            return f"{kind} of margin {margin:g}"
        case Huber(threshold=threshold):
            return f"huber of threshold {threshold:g}"
        case _:
            return loss_name(written)


def _said_of_labels(data: object) -> Iterator[str]:
    if not isinstance(data, Labelled) or data.learns_labels:
        return
    match data.labels:
        case "sign":
            blurred = f" after noise of variance {data.noise:g}" if data.noise else ""
            flipped = f", {100 * data.flip:.3g} % of them flipped" if data.flip else ""
            yield f"labels are signs of the teacher{blurred}{flipped}"
        case "logistic":
            yield f"labels are +1 with probability 1/(1 + exp(-{data.slope:g} f*)), else -1"
        case "argmax":
            flipped = f", {100 * data.flip:.3g} % of them another one" if data.flip else ""
            yield f"labels are the largest of {data.label_classes} outputs of the teacher{flipped}"
        case "softmax":
            yield f"labels are one of {data.label_classes} classes, with probabilities proportional to exp({data.slope:g} f*)"
        case _ if isinstance(data.noise_law, Student):
            yield f"label noise is Student's with {data.noise_law.student:g} degrees of freedom and scale {data.noise**0.5:.3g}"
            if data.noise_without_mean:
                yield "this noise has no mean, so that risks are differences to the teacher's, whose own is infinite"


def _said_of_nodes(problem: OnePassProblem) -> Iterator[str]:
    """How many nodes stand for very many eigenvalues, and how well, by the start that runs begin from."""
    blocks = nodes_of(problem)
    if blocks is None:
        return
    noise = int(np.count_nonzero(np.asarray(blocks.rho)))
    yield (
        f"{blocks.s.size - noise} nodes for the signal and {noise} for the noise stand for all eigenvalues, with an estimated "
        f"error of {float(blocks.error):.1g}."
    )


def _said_of_momentum(found: TargetModel) -> Iterator[str]:
    """What momentum amounts to (docs/theory/structured.md, section 4.1)."""
    if not found.momentum:
        return
    beta, rate, theta = float(found.beta), float(found.effective_rate), float(found.theta)
    if _RATE / theta < _SECOND_ORDER:
        yield (
            f"Momentum {beta:.6g} amounts to a rate of {rate:.4g} to within {100 * _RATE / theta:.1g} % (velocities relax at "
            f"{theta:.3g} per unit of time)."
        )
    else:
        yield (
            f"Momentum {beta:.6g} is second order: velocities relax at {theta:.3g} per unit of time, and a sample moves weights "
            f"at the rate {rate:.4g} in the end."
        )
