"""The exact mean of SGD on linear networks as a description (docs/theory/structured.md, section 1.6)."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dimfree.description import Ask, Cost, Description, Piece, Values
from dimfree.functions.schedule import Constant
from dimfree.functions.target import Committee
from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.limits.scope import square_only
from dimfree.onepass.linear_mean import (
    LinearRule,
    critical_rate,
    exact_risks,
    is_linear,
    learning_rate_of_unit_rate,
    momentum_risks,
)
from dimfree.onepass.linear_steps import nodes_of, risks_along, seconds_of_step
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel
from dimfree.problem import Problem

MOST_STEPS = 5_000_000  # the most steps of a schedule, which are computed one by one


class LinearNetwork(Description[StructuredModel, Start]):
    """The exact mean risk of linear networks: a reference for experiments and limits alike."""

    name: ClassVar[str] = "linear-mean"
    summary: ClassVar[str] = (
        "the exact mean of linear networks at finite dimension, on structured inputs and with momentum"
    )
    cites: ClassVar[tuple[str, ...]] = ("collinswoodfin2023",)
    models: ClassVar[type[StructuredModel]] = StructuredModel
    needs: ClassVar[frozenset[str]] = frozenset({"pairs"})

    def refuses(self, problem: Problem, model: StructuredModel) -> str | None:
        """Refuse anything that is not linear in the first layer."""
        if why := square_only(problem, model):
            return why
        if not is_linear(model):
            return "it is exact for linear networks; set both activations to 'linear', or use sgd or ode."
        if model.hidden_labels:
            return model.hidden_labels
        if model.train_a or not model.train_w or model.offsets:
            return "it is exact where the first layer alone learns, without offsets; set network.trained = ['first-layer']."
        if model.spherical or model.noisy or float(model.omega):
            return "it is exact for plain SGD; leave out decay, noise on the weights and spherical = true."
        if model.nesterov:
            return "it is worked out for a heavy ball; set training.nesterov = false, or use sgd or chain."
        if model.s.size > MOST_LEVELS:
            return f"it solves for at most {MOST_LEVELS} distinct eigenvalues, and there are {model.s.size}; use sgd or ode."
        steps = problem.steps(problem.run.until)
        if not isinstance(model.schedule, Constant) and steps > MOST_STEPS:
            return (
                f"it takes the {steps} steps of a schedule one by one; lower run.until to at most {MOST_STEPS} steps, or "
                "use ode."
            )
        return None

    def cost(self, problem: Problem, model: StructuredModel) -> Cost:
        """Count one eigenproblem, or powers of a matrix three times as large; along a schedule, every step."""
        n, times = model.s.size, len(problem.times)
        if not isinstance(model.schedule, Constant):
            steps = problem.steps(problem.run.until)
            return Cost(1.0 + steps * seconds_of_step(n), steps, 100.0 * n + 16.0 * steps)
        seconds = 1e-8 * n**3 + (5e-9 * times * 20 * (3 * n) ** 3 if model.momentum else 0.0)
        return Cost(1.0 + seconds, times, 80.0 * n * n)

    def warns(self, problem: Problem, model: StructuredModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Warn of a rate above the limit of stability."""
        assert isinstance(problem, OnePassProblem)
        limit = critical_rate(np.asarray(model.s), np.asarray(model.multiplicities), model.batch)
        stable = limit * learning_rate_of_unit_rate(problem)
        if model.momentum or not isinstance(model.schedule, Constant) or float(model.gamma) <= stable:
            return ()
        return (
            f"the mean risk grows without end: with this width and second layer a linear network is stable up to "
            f"learning_rate {stable:.3g}; lower the rate.",
        )

    def account(self, model: StructuredModel, start: Start, ask: Ask) -> Iterator[Piece]:
        """Compute all times in one step."""
        D, a = starting_errors(model, start), np.asarray(start.blocks.a)
        rule, steps = rule_of(model, a), np.rint(ask.times / float(model.time_step)).astype(int)
        beta = float(model.beta)
        if not isinstance(model.schedule, Constant):
            rates = rule.gamma * np.asarray(model.schedule(jnp.arange(int(steps[-1])) * model.time_step))
            risks = np.asarray(risks_along(nodes_of(rule, beta), *jax.device_put((D[None], rates))))[steps, 0]
        else:
            risks = momentum_risks(rule, beta, D, steps) if model.momentum else exact_risks(rule, D, steps)
        yield Piece({"risk": risks[:, None]}, "time", 1.0)


def starting_errors(model: StructuredModel, start: Start) -> Float[np.ndarray, " b"]:
    """D_b, the mean square of what the network gets wrong at the start, along every eigenvalue."""
    target, blocks, a = model.target, start.blocks, np.asarray(start.blocks.a)
    assert isinstance(target, Committee)
    along = np.concatenate([-a / model.width, np.asarray(target.second_layer) / model.units])
    return np.einsum("i,bij,j->b", along, np.asarray(blocks.Omega), along)


def rule_of(model: StructuredModel, a: Float[np.ndarray, " p"]) -> LinearRule:
    """The rule of one linear unit, at the base rate."""
    rate = float(model.gamma) * float(a @ a) / model.width**2
    return LinearRule(np.asarray(model.s), np.asarray(model.multiplicities), rate, float(model.Delta), model.batch)
