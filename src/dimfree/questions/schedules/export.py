"""Schedules for other libraries: a table of steps and rates, optax and torch, which are imported only when needed."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import LinearKnots
from dimfree.questions.schedules.grid import Vector

if TYPE_CHECKING:
    from dimfree.questions.schedules.answer import Schedules

Rows = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_ROWS = 10_000  # rows of the table, in addition to the knots


def schedule_table(best: "Schedules | OnePassProblem") -> Rows:
    """The schedule of learning rates as rows of a step and its rate, for other libraries.

    Every step has a row; of very long runs only some steps have one, and all knots of the schedule.

    Arguments:
        best: the answer of `df.optimise`, or a problem whose schedule has knots
    """
    problem = best if isinstance(best, OnePassProblem) else best.best
    at, _ = _knots(problem)
    last = problem.steps(problem.run.until)
    spread = np.arange(last) if last <= _ROWS else np.linspace(0, last - 1, _ROWS).round()
    steps = np.unique(np.concatenate([spread, at[at < last]]))
    return np.stack([steps, StepRate(problem)(steps)], axis=1)


def as_csv(problem: OnePassProblem) -> str:
    """The table with a line of names, below comments that say what the rate multiplies."""
    rows = "".join(f"{int(step)},{rate!r}\n" for step, rate in schedule_table(problem).tolist())
    return f"{_comments(problem)}step,rate\n{rows}"


def _comments(problem: OnePassProblem) -> str:
    """Comments that say which update the rate belongs to, because other inputs, batches or networks need another rate."""
    network, training = problem.network, problem.training
    before = {"mean": "1/width", "sqrt": "1/sqrt(width)", "sum": "1"}[network.scaling]
    offset = " + b_i" if network.has_offsets else ""
    update = "w <- w - rate * gradient"
    if training.momentum:
        update = f"v <- {training.momentum:g} v - rate * gradient, w <- w + v (PyTorch's rate multiplies v as well)"
    inputs = f"dimension d = {problem.dimension}, every coordinate of variance 1/d"
    if isinstance(problem.data, ProjectedData):
        inputs = (
            f"x = W^T z, d = {problem.dimension} random mixtures of what is projected; entries of W of variance 1/d"
        )
    lines = [
        "Learning rates by step, found by dimfree optimise.",
        f"Network: f = s sum_i a_i sigma(w_i.x{offset}), s = {before}, width {network.width}.",
        f"Inputs: {inputs}.",
        f"Update: {update}, of the loss (y - f)^2/2, mean over a batch of {training.batch}.",
    ]
    if "bias" in network.trained:
        lines.append("Offsets: b <- b - rate/d * gradient.")
    if "second-layer" in network.trained:
        lines.append(f"Second layer: a <- a - {training.second_layer_rate:g} * rate/d * gradient.")
    if training.spherical:
        lines.append("After every step each w_i is put back to its norm at the start.")
    if training.weight_decay:
        lines.append(
            f"Weight decay: w <- w - {training.weight_decay * problem.time_step:.4g} w in every step, whatever the rate."
        )
    if not isinstance(problem.data, ProjectedData):
        lines.append("Inputs of variance 1 and weights of squared norm 1 instead: divide the rate by d.")
    lines.append(f"Digest of the problem: {problem.digest}.")
    return "".join(f"# {line}\n" for line in lines)


class StepRate:
    """The learning rate as a function of the step; an object, so that it can be pickled."""

    def __init__(self, problem: OnePassProblem) -> None:
        self.steps, self.rates = _knots(problem)

    def __call__(self, step: Any) -> Any:
        """The rate in this step."""
        return np.interp(step, self.steps, self.rates)


class StepFactor(StepRate):
    """The same as a factor on the base learning rate."""

    def __init__(self, problem: OnePassProblem) -> None:
        super().__init__(problem)
        self.rates = self.rates / problem.training.learning_rate


def _knots(problem: OnePassProblem) -> tuple[Vector, Vector]:
    """The knots at whole steps; of two knots that fall on one step, the first is kept."""
    schedule, training = problem.training.schedule, problem.training
    assert isinstance(schedule, LinearKnots)
    steps, chosen = np.unique(np.rint(np.asarray(schedule.times) / problem.time_step), return_index=True)
    return steps, training.learning_rate * np.asarray(schedule.factors)[chosen]


def as_optax(problem: OnePassProblem) -> Any:
    """A schedule of optax, which interpolates the rate linearly between knots and multiplies their ratios."""
    import optax

    steps, rates = _knots(problem)
    ratios = {int(step): float(rate / before) for step, rate, before in zip(steps[1:], rates[1:], rates, strict=False)}
    return optax.piecewise_interpolate_schedule("linear", float(rates[0]), ratios)


def as_torch(problem: OnePassProblem, optimizer: Any) -> Any:
    """A LambdaLR of torch; its factor is an object, which `state_dict` keeps."""
    from torch.optim.lr_scheduler import LambdaLR

    return LambdaLR(optimizer, StepFactor(problem))


SCRIPTS = {
    "optax": """import optax

STEPS = {steps}
RATES = {rates}
RATIOS = {{step: rate / before for step, rate, before in zip(STEPS[1:], RATES[1:], RATES)}}
schedule = optax.piecewise_interpolate_schedule("linear", RATES[0], RATIOS)
""",
    "torch": """import numpy as np
from torch.optim.lr_scheduler import LambdaLR

STEPS = {steps}
RATES = {rates}


class Factor:
    def __call__(self, step):
        return float(np.interp(step, STEPS, RATES)) / {base}


def scheduler(optimizer):  # whose lr is {base}
    return LambdaLR(optimizer, Factor())
""",
}


def as_script(problem: OnePassProblem, library: str) -> str:
    """A Python file that makes the schedule for a library, and needs nothing of dimfree."""
    steps, rates = _knots(problem)
    script = SCRIPTS[library].format(
        steps=[int(step) for step in steps], rates=rates.tolist(), base=problem.training.learning_rate
    )
    return f"{_comments(problem)}\n{script}"
