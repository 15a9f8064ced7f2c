"""What the limits of overlaps are not derived for, in one place."""

import numpy as np

from dimfree.functions.activation import Polynomial
from dimfree.functions.label_law import StudentValues
from dimfree.functions.sample_loss import ExponentialLoss
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import typical_overlaps
from dimfree.problem import Problem


def not_derived(model: DirectionsModel) -> str | None:
    """Why the equations of the overlaps do not hold for this network or training rule, in one sentence."""
    if model.rows_only:
        return model.rows_only
    if model.beyond_square and not model.any_loss:
        return _derived_for_squares(model.beyond_square, "sgd or chain")
    if model.no_averages:
        return model.no_averages
    if model.offsets:
        return (
            "it is derived for neurons without offsets; set network.bias_start = 0 and leave 'bias' out of "
            "network.trained, or use sgd, chain or pde."
        )
    if not model.train_w:
        return (
            "it is derived for a first layer that learns; put 'first-layer' into network.trained, or use sgd or chain."
        )
    if model.noisy:
        return "it is derived without noise on the weights; leave out training.inverse_temperature, or use sgd or pde."
    if model.all_scheduled and (float(model.omega) or float(model.omega_a)):
        return "it is derived for decays that do not follow the schedule; set training.scheduled = 'gradient'."
    return None


def infinite_variance(problem: OnePassProblem, model: TargetModel) -> str | None:
    """Why E[e²] does not exist, so that steps have no variance (docs/theory/losses.md, sections 4 and 7), in one sentence."""
    if model.clip_norm is not None or model.loss.bounded:
        return None
    if isinstance(model.labels, StudentValues) and float(model.labels.degrees) <= 2:
        return (
            f"noise_law student = {float(model.labels.degrees):g} has no variance: with the {model.loss.name} loss E[e²] is "
            'infinite and the ode does not exist; use loss = "huber" or "absolute", or training.clip.'
        )
    if isinstance(model.loss, ExponentialLoss) and isinstance(model.activation, Polynomial):
        return _exponential_of_polynomial(problem, model.activation)
    return None


def infinite_mean(model: TargetModel) -> str | None:
    """Why E[e] does not exist, so that there is no gradient of the risk to follow, in one sentence."""
    if model.clip_norm is not None or model.loss.bounded:
        return None
    if isinstance(model.labels, StudentValues) and float(model.labels.degrees) <= 1:
        return (
            f"noise_law student = {float(model.labels.degrees):g} has no mean: with the {model.loss.name} loss E[e] does not "
            'exist, and neither does gradient flow; use loss = "huber" or "absolute", or training.clip.'
        )
    return None


def _exponential_of_polynomial(problem: OnePassProblem, sigma: Polynomial) -> str | None:
    """E exp(-2 y f) of f = sum_i a_i sigma(lambda_i)/p: beyond squares it is infinite, and squares bound Q."""
    degree, start = sigma.degree, typical_overlaps(problem)
    if degree > 2:
        return f"exponential loss with activation {sigma.name}: E[e²] is infinite; use logistic."
    if degree < 2 or start is None:
        return None
    a, q = np.asarray(start.a), np.diagonal(np.asarray(start.Q))
    now = 4 * abs(sigma.coefficients[2]) * float(np.max(np.abs(a) * q)) / problem.network.width
    if now < 1:
        return None
    why = f"E[e²] is infinite once 4·max|a|·Q/p ≥ 1 (now {now:.2g})"
    return f"exponential loss with activation {sigma.name}: {why}; use logistic."


def square_only(problem: Problem, model: OnePassModel) -> str | None:
    """The refusal of descriptions that are derived for the square loss of values only, and which ones know the loss."""
    if not model.beyond_square:
        return None
    assert isinstance(problem, OnePassProblem)
    if model.rows_only:
        return model.rows_only
    return _derived_for_squares(
        model.beyond_square, "ode, sgd or chain" if _has_ode(problem, model) else "sgd or chain"
    )


def _has_ode(problem: OnePassProblem, model: OnePassModel) -> bool:
    """Whether equations of overlaps know the loss, the labels and the clipping of a problem."""
    if not isinstance(model, DirectionsModel) or not_derived(model):
        return False
    return model.taught is None or infinite_variance(problem, model.taught) is None


def _derived_for_squares(given: str, known: str) -> str:
    return f"it is derived for the square loss of values with Gaussian noise, not for {given}; use {known}."
