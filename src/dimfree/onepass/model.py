"""The model of a one-pass problem: a static structure, for which jax compiles once, and numbers (a pytree)."""

from functools import lru_cache

import jax

from dimfree.errors import RefusalError
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kind import kind_of
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import OnePassModel


def model(problem: OnePassProblem) -> OnePassModel:
    """The model of a problem."""
    return _model(problem, problem.stamps)


@lru_cache(maxsize=64)
def _model(problem: OnePassProblem, stamps: tuple[tuple[int, int], ...]) -> OnePassModel:
    with jax.ensure_compile_time_eval():  # a model first made inside a traced function must stay valid after the trace
        return kind_of(problem).model_of(problem)


def teacher_model(problem: OnePassProblem) -> TeacherModel:
    """The model of a problem with a teacher and isotropic inputs."""
    taught = model(problem).taught
    if problem.unusual:
        raise RefusalError(f"this is not derived for {problem.unusual}; use ode, chain or sgd.")
    found = None if taught is None else taught.isotropic
    assert found is not None, f"{problem.data.kind} has no teacher"
    return found
