"""What descriptions of training on a data set need from the models of one unit and of networks alike."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

from jaxtyping import Array, Key

from dimfree.description import Cost, Model, Times, Values
from dimfree.problem import Problem


class RevisitedModel(Model):
    """Training that revisits a data set, from its start on."""

    about: ClassVar[str] = "a data set"


@runtime_checkable
class Account(Protocol):
    """A theory or an experiment for one type of model, with what a description asks of it."""

    def refuses(self, problem: Problem, model: Any) -> str | None: ...
    def cost(self, problem: Problem, model: Any) -> Cost: ...
    def replicas(self, model: Any, asked: int) -> int: ...
    def warns(self, problem: Problem, model: Any) -> tuple[str, ...]: ...
    def replica(
        self, model: Any, start: Any, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]: ...
