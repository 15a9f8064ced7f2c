"""SGD in overlap space for very many eigenvalues: exact in law for bins of them (docs/theory/structured.md, section 2)."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Ask, Cost, Description, Dynamics, Piece, Times, Values
from dimfree.errors import ProblemError
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.limits.scope import not_derived
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.real.bins import binned, binned_model
from dimfree.onepass.real.block_chain import own_law_pays
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel
from dimfree.problem import Problem
from dimfree.programs.compiled import quick_program
from dimfree.setting import Variable

_ODE = HighDimensional(rtol=1e-7, atol=1e-9)


class BinnedChain(Description[StructuredModel, Start]):
    """The chain for a spectrum: it keeps the largest eigenvalues and puts the others into bins, geometric in their rank."""

    name: ClassVar[str] = "binned-chain"
    summary: ClassVar[str] = (
        "the chain for very many eigenvalues: exact in law for bins of them, whose error is reported"
    )
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "yoshida2019")
    models: ClassVar[type[StructuredModel]] = StructuredModel
    needs: ClassVar[frozenset[str]] = frozenset({"vectors", "pairs"})  # from which the ode starts
    real: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True
    variables: ClassVar[Mapping[str, Variable]] = {
        "binning_error": Variable(
            ("time", "replica"), "1", "relative difference that bins make to the risk of the ode, nan where it has none"
        )
    }
    kept: int = 32  # eigenvalues
    ratio: float = 1.1  # ratio of the ranks at which a bin ends and begins

    def __check_init__(self) -> None:
        """Refuse numbers for which a bin would have no beginning or no end."""
        if self.kept < 0 or not self.ratio > 1:
            raise ProblemError(f"kept = {self.kept} must not be negative, and ratio = {self.ratio:g} must be above 1.")

    def refuses(self, problem: Problem, model: StructuredModel) -> str | None:
        """Refuse few eigenvalues, which need no bins, and bins of few directions, which are of no use."""
        if model.momentum:
            return "what bins change is not measured with momentum; set training.momentum = 0, or use sgd."
        if own_law_pays(model):
            return f"{model.s.size} eigenvalues need no bins; use chain, which is exact."
        bins = binned_model(model, self.kept, self.ratio)
        if not own_law_pays(bins):
            return (
                f"{bins.s.size} bins of {problem.dimension} dimensions are SGD itself for {model.width} units; use sgd, or "
                "raise dimension."
            )
        return OverlapChain().refuses(problem, bins)

    def cost(self, problem: Problem, model: StructuredModel) -> Cost:
        """Count the chain, and the ODE twice."""
        chain = OverlapChain().cost(problem, binned_model(model, self.kept, self.ratio))
        return chain._replace(seconds=chain.seconds + 2 * _ODE.cost(problem, model).seconds)

    def accuracy(self, problem: Problem, model: StructuredModel) -> float:
        """The largest error of bins of this ratio, from the table of section 2."""
        return 0.02 * (self.ratio - 1)

    def account(self, model: StructuredModel, start: Start, ask: Ask) -> Iterator[Piece]:
        """The chain of the bins, and by how much these change the ODE."""
        bins = binned(model, start, self.kept, self.ratio)
        error = _binning_error((model, start), bins, ask.times)
        first = ask.reached.upto
        for piece in OverlapChain().account(*bins, ask):
            assert piece.reached is not None
            last, shape = piece.reached.upto, piece.observables["risk"].shape
            seen = {name: x for name, x in piece.observables.items() if not name.endswith("_block")}
            seen["binning_error"] = np.broadcast_to(error[first:last, None], shape)
            yield piece._replace(observables=seen)
            first = last

    def warns(self, problem: Problem, model: StructuredModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Say that the law is that of the bins, and how far the bins are from the spectrum."""
        count, error = binned_model(model, self.kept, self.ratio).s.size, seen["binning_error"]
        by = f"which change the risk of the ode by up to {100 * error.max():.2g} %"
        if np.isnan(error).any():
            by = "and by how much these change the risk is not known where the ode does not hold"
        sentence = (
            f"its law is exact for {count} bins of the {model.s.size} eigenvalues, {by}; use sgd for all of them."
        )
        return (sentence, *OverlapChain().warns(problem, model, seen))


def _binning_error(
    problem: tuple[StructuredModel, Start], bins: tuple[StructuredModel, Start], times: Times
) -> Float[np.ndarray, " t"]:
    """The relative difference of risks, by the ODE; nan where that is not derived, or diverges."""
    if not_derived(problem[0]):
        return np.full(len(times), np.nan)
    one, other = (_risks(*_ODE.twin(model), start, jax.device_put(times)) for model, start in (problem, bins))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs(np.asarray(other) / np.asarray(one) - 1)


@quick_program
def _risks(
    ode: Dynamics[DirectionsModel, Start, Any], model: DirectionsModel, start: Start, times: Float[Array, " t"]
) -> Float[Array, " t"]:
    return ode.run(model, start, times, jax.random.key(0))["risk"][:, 0]
