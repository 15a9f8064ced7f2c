"""The seam: one protocol for theory and experiment, so that `compare` never asks which is which."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from dimfree.dataset.words import DataSetModel, dataset_model
from dimfree.onepass.model import Model
from dimfree.onepass.model import model as model_of
from dimfree.onepass.gaussians_model import NeuronModel, neuron_model
from dimfree.gaussian.moments import risk
from dimfree.onepass.gaussians_start import NeuronStart, Seen, draw_neurons
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.particles import MOST_PAIRS
from dimfree.onepass.start import draw_start
from dimfree.onepass.problem import OnePassProblem
from dimfree.dataset.problem import DataSetProblem
from dimfree.onepass.gaussians_problem import TwoGaussiansProblem
from dimfree.problem.problem import Problem

_AS_VECTORS = 50_000_000  # numbers; starts are drawn as weight vectors up to this size


class Cost(NamedTuple):
    """What a run will take, known before it starts."""

    seconds: float  # CPU seconds on a machine like the ones in benchmarks/
    steps: float  # sequential steps: of SGD, or a guess for a solver
    memory: float  # bytes


class Description(eqx.Module):
    """One account of a training run: a limit (theory/) or the real thing (simulate/).

    A description turns a start into a state and advances it; what it returns at the asked times are overlaps with leading
    axes (time, replica), one replica for a deterministic theory. `begin` and `advance` are pure: jit, vmap and (for
    theories) grad pass through.
    """

    name: eqx.AbstractClassVar[str]  # the CLI word, the legend label, the `description` coordinate
    summary: eqx.AbstractClassVar[str]  # one line for `dimfree list`
    cites: eqx.AbstractClassVar[tuple[str, ...]]  # keys into references.bib
    family: ClassVar[str] = OnePassProblem.family  # the problems it speaks of
    stochastic: ClassVar[bool] = False
    pairs: ClassVar[bool] = True  # whether it follows the overlaps between all pairs of units
    chunk: ClassVar[int] = 1  # how many times one call of `advance` answers
    compiled: ClassVar[bool] = True  # whether `advance` is jax throughout

    def refuses(self, problem: Any) -> str | None:
        """Why this description does not hold here, in one sentence; None when it does."""
        return None

    def refusal(self, problem: Problem) -> str | None:
        """What users of a description ask: whether the problem is of another family or too large, or is refused."""
        if problem.family != self.family:
            return f"it speaks of training on {self.family}, and this problem is training on {problem.family}."
        return self.too_large(problem) or self.refuses(problem)

    def too_large(self, problem: Any) -> str | None:
        """Why the problem does not fit, in one sentence."""
        p = problem.network.width
        if not self.pairs or p <= MOST_PAIRS:
            return None
        return (
            f"overlaps between all pairs of {p} units do not fit into memory over time; use dimensionless, which is "
            f"linear in the width, or lower network.width to {MOST_PAIRS}."
        )

    @abstractmethod
    def cost(self, problem: Any) -> Cost:
        """What running this problem to `run.until` would take."""

    def model(self, problem: Any) -> Any:
        """Structure and numbers of the problem, as `begin` and `advance` take them."""
        return model_of(problem)

    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        """A start, the same for all descriptions of a family; as vectors while these are small, whoever runs."""
        size = problem.dimension * (problem.network.width + problem.data.units)
        return draw_start(problem, key, vectors=size <= _AS_VECTORS)

    @abstractmethod
    def begin(self, model: Any, start: Any, replicas: int, key: Key[Array, ""]) -> Any:
        """The state at time 0."""

    @abstractmethod
    def advance(self, model: Any, state: Any, times: Float[Array, " t"]) -> tuple[Any, Any]:
        """The state at the last of `times`, and the overlaps at each of them."""

    def observe(self, model: Any, overlaps: Any) -> dict[str, Float[Array, "t r ..."]]:
        """Observables by their names in results/schema."""
        return {"risk": _risks(model, overlaps), "Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}

    def failure(self, model: Any, state: Any) -> str | None:
        """Why the state is no longer to be trusted (a solver gave up), in one sentence; None while all is well."""
        return None

    def divergence(self, model: Any, time: float) -> str:
        """What to say when an observable stops being finite before `time`."""
        gamma = float(model.gamma)
        return (
            f"{self.name} diverges before t = {time:.3g} with learning rate {gamma:g}; "
            f"lower training.learning_rate (try {gamma / 4:.2g}) or keep the norms with training.spherical = true."
        )

    def run(
        self, model: Any, start: Any, times: Float[Array, " t"], key: Key[Array, ""], replicas: int = 1
    ) -> dict[str, Float[Array, "t r ..."]]:
        """Observables at `times`, in one pure call."""
        _, overlaps = self.advance(model, self.begin(model, start, replicas, key), times)
        return self.observe(model, overlaps)


class DataSetDescription(Description):
    """An account of multi-pass SGD on a data set: all times are answered at once, because nothing of the past is forgotten."""

    family: ClassVar[str] = DataSetProblem.family
    chunk: ClassVar[int] = 1_000_000
    compiled: ClassVar[bool] = False

    def too_large(self, problem: DataSetProblem) -> str | None:
        """There is one unit."""
        return None

    def model(self, problem: DataSetProblem) -> DataSetModel:
        """The letters of docs/theory/dmft.md."""
        return dataset_model(problem)

    def start(self, problem: DataSetProblem, key: Key[Array, ""]) -> None:
        """A start is two numbers of the model; weights with exactly these are drawn by those who need them."""

    def begin(self, model: DataSetModel, start: None, replicas: int, key: Key[Array, ""]) -> tuple[int, Key[Array, ""]]:
        """How many runs, and their randomness."""
        return replicas, key

    def observe(self, model: DataSetModel, overlaps: Any) -> Any:
        """What `advance` returns are observables already."""
        return overlaps

    def divergence(self, model: DataSetModel, time: float) -> str:
        """What to say when an observable stops being finite before `time`."""
        eta = float(model.letters.eta)
        return (
            f"{self.name} diverges before t = {time:.3g} with learning rate {eta:g}; "
            f"lower training.learning_rate (try {eta / 4:.2g})."
        )


class TwoGaussiansDescription(Description):
    """An account of neurons that learn to tell two centred Gaussians apart."""

    family: ClassVar[str] = TwoGaussiansProblem.family

    def too_large(self, problem: TwoGaussiansProblem) -> str | None:
        """The cost says what does not fit."""
        return None

    def model(self, problem: TwoGaussiansProblem) -> NeuronModel:
        """The letters of docs/theory/mean-field.md."""
        return neuron_model(problem)

    def start(self, problem: TwoGaussiansProblem, key: Key[Array, ""]) -> NeuronStart:
        """A network drawn from the law of the start."""
        return draw_neurons(problem, key)

    def observe(self, model: NeuronModel, overlaps: Seen) -> dict[str, Any]:
        """What `advance` returns are observables already."""
        return vars(overlaps)

    def divergence(self, model: NeuronModel, time: float) -> str:
        """What to say when an observable stops being finite before `time`."""
        gamma = float(model.time_step) * model.width * model.dimension
        return f"the neurons diverge before t = {time:.3g}; lower training.learning_rate (try {gamma / 4:.2g})."


def _risks(model: Model, overlaps: Overlaps) -> Float[Array, "t r"]:
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), overlaps)
    one: Callable[[Overlaps], Array] = lambda state: risk(model, state)  # noqa: E731
    values = jax.lax.map(one, flat, batch_size=min(256, flat.a.shape[0]))
    return values.reshape(overlaps.a.shape[:2])
