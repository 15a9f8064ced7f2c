"""A teacher in the letters of its sheet: labels of a network, or of a polynomial, of a few directions.

The canonical convention (docs/theory/committee.md, section 0) is reached here: f* = (1/k) sum_r a*_r sigma*(lambda*_r) from here
on, whatever the scaling of the teacher.
"""

from functools import lru_cache

import jax
import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation, Polynomial
from dimfree.functions.named import activation
from dimfree.functions.target import Committee, HermiteLink, Target, UnlikeUnits
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.inputs.spectrum import Pool as ReadPool
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher, TeacherNetwork
from dimfree.onepass.label_laws import label_law, of_rows
from dimfree.onepass.law import Pool
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import few_directions, rule_of
from dimfree.onepass.structured_model import StructuredModel
from dimfree.problem.loss import loss_name
from dimfree.problem.network import prefactor

_VECTORS = 10_000_000  # on structured inputs at most this many coordinates are drawn one by one


def directions_model(problem: OnePassProblem) -> TeacherModel | StructuredModel:
    """The model of a problem; inputs with a covariance, and momentum, need overlaps for every eigenvalue."""
    if problem.structured:
        return structured_model(problem)
    data = problem.data
    assert isinstance(data, TeacherNetwork | MultiIndex)
    target = _target(data, problem.teacher_overlap)
    return TeacherModel(**rule_of(problem), target=target, Delta=jax.device_put(data.noise), labels=label_law(data))


def structured_model(problem: OnePassProblem) -> StructuredModel:
    """For the user's own labels, the teacher is the best linear fit, or one from a file, and the rest is noise (section 3)."""
    data = problem.data
    assert isinstance(data, TeacherNetwork | MultiIndex)
    found, P, noise = problem.spectrum, problem.teacher_overlap, data.noise
    if problem.learns_labels and problem.given_teachers is not None:
        w, noise = found.linear_teacher
        P = np.array([[found.coordinates @ w**2 / found.dimension]])
    labels, pool = label_law(data), None if found.pool is None else _pool(found.pool)
    if pool is not None and problem.learns_labels and (problem.training.needs_signs or data.signs):
        labels, pool = labels if data.signs else of_rows(), _of_classes(problem, pool)
    training, vectors = problem.training, (2 if problem.training.momentum else 1) * problem.network.width + data.units
    return StructuredModel(
        **rule_of(problem),
        target=_target(data, P),
        Delta=jax.device_put(noise),
        labels=labels,
        few=few_directions(found.multiplicities, vectors, training.batch),
        on_rows=False,
        s=jax.device_put(found.values),
        multiplicities=jax.device_put(found.multiplicities.astype(float)),
        roots=jax.device_put(np.sqrt(found.coordinates).astype(np.float32)) if found.dimension <= _VECTORS else None,
        pool=pool,
    )


@lru_cache(maxsize=4)
def _pool(found: ReadPool) -> Pool:
    """The rows that were read, once for all problems about them: a plan has dozens."""
    held = (None, None) if found.held is None else found.held[:2]
    return Pool(*jax.device_put((found.rows, found.labels, *held)))


def _of_classes(problem: OnePassProblem, pool: Pool) -> Pool:
    """The pool with the user's own labels, for a loss that needs classes."""
    found = problem.spectrum.pool
    assert found is not None
    if found.classes is None:
        raise ProblemError(
            f"loss {loss_name(problem.training.loss)!r} needs labels of ±1, and data.covariance.labels has other numbers; write "
            "the two classes as 1 and -1, or choose another loss."
        )
    held = None if found.held is None else found.held.classes
    return pool._replace(labels=jax.device_put(found.classes), held_labels=jax.device_put(held))


def _target(data: TeacherNetwork | MultiIndex, overlap: Float[np.ndarray, "k k"]) -> Target:
    P = jax.device_put(overlap)
    if isinstance(data, MultiIndex):
        terms, coefficients = data.expansion
        return HermiteLink(terms, jax.device_put(np.array(coefficients)), P)
    layer = data.layer * data.units * prefactor(data.scaling, data.units)
    if isinstance(data, Teacher) and data.unlike:
        return _unlike(data, layer, P)
    return Committee(_varying(activation(data.activation)), jax.device_put(layer), P)


def _unlike(data: Teacher, layer: Float[np.ndarray, " k"], P: Float[jax.Array, "k k"]) -> UnlikeUnits:
    """Units that differ; the offset of a linear one is a constant in the label."""
    given = data.activation if isinstance(data.activation, tuple) else (data.activation,) * data.units
    every = tuple(_varying(activation(one)) for one in given)
    slopes = np.array([one.coefficients[1] if isinstance(one, Polynomial) and one.degree == 1 else 0 for one in every])
    bias = np.array(data.bias or (0.0,) * data.units)
    constant, kept = data.constant + np.sum(layer * slopes * bias) / data.units, np.where(slopes == 0, bias, 0.0)
    with_offset = tuple(bool(one) for one in kept)
    weights, shifts, added = jax.device_put((layer, kept, constant))
    return UnlikeUnits(every, with_offset, weights, shifts, added, P)


def _varying(taught: Activation) -> Activation:
    if taught.is_constant:
        raise ProblemError(
            f"data.activation ({taught.name}) is constant, so there is nothing to learn; choose another one."
        )
    return taught
