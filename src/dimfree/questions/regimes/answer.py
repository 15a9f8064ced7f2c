"""Which limit a problem is near, in words (docs/theory/committee.md, section 4)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import Problem
from dimfree.problem.network import prefactor
from dimfree.questions.answer import Answer
from dimfree.questions.regimes.formulas import Regime, classify
from dimfree.questions.regimes.question import QUESTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = {
    "gradient_flow": "gradient flow (perfect learning)",
    "saad_solla": "the high-dimensional limit of Saad and Solla (a plateau remains)",
    "noise_dominated": "domination by noise (bad learning)",
    "no_ode": "no deterministic limit",
}
_MEANINGS = {
    "gradient_flow": "SGD follows the gradient of the population risk",
    "saad_solla": "the gradient and the noise of the steps act together",
    "noise_dominated": "the noise of the steps blows up the norms before the gradient acts",
    "no_ode": "a single step is as large as the network itself",
}
_NEGLIGIBLE, _VISIBLE = 0.01, 0.5


@dataclass(frozen=True, eq=False, repr=False)
class NearLimit(Answer[OnePassProblem]):
    """The regime of a problem, and the regimes of its neighbours."""

    regime: Regime
    wider: Regime  # at twice the width
    faster: Regime  # at twice the learning rate

    def said(self) -> Iterator[str]:
        """The regime and what follows from it, in a few sentences."""
        problem, regime = self.problem, self.regime
        d, p, gamma = problem.dimension, problem.network.width, problem.training.learning_rate
        batch = problem.training.batch
        numbers = (
            f"width {p}, learning rate {gamma:g} and batch {batch}"
            if batch > 1
            else f"width {p} and learning rate {gamma:g}"
        )
        sentences = [
            f"At dimension {d}, {numbers} the regime is {_NAMES[regime.label]}: {_MEANINGS[regime.label]}.",
            _noise_sentence(regime),
            f"One unit of time takes {_count(batch / regime.dt)} samples in {_count(1 / regime.dt)} steps.",
            _doubling_sentence("width", "halves", "doubles", self.wider, regime),
            _doubling_sentence("learning rate", "doubles", "halves", self.faster, regime),
            *_scatter_sentences(regime),
            *_scaling_sentences(problem),
        ]
        yield " ".join(sentences)

    def values(self) -> dict[str, object]:
        """The numbers that the verdict rests on, and the words."""
        return self.regime._asdict() | {"wider": self.wider.label, "faster": self.faster.label, "words": self.summary()}

    def datasets(self) -> dict[str, xr.Dataset]:
        """The numbers of the problem and of its neighbours."""
        here = {"problem": self.regime, "wider": self.wider, "faster": self.faster}
        columns = {name: ("place", [getattr(one, name) for one in here.values()]) for name in Regime._fields}
        return {"regime": xr.Dataset(columns, {"place": list(here)})}

    def draw(self, figure: "Figure") -> None:
        """The phase diagram with the problem as a point."""
        from dimfree.questions.regimes.figure import draw_regimes

        draw_regimes(self, figure)


def regime(problem: Problem | str | Path | None = None) -> NearLimit:
    """Say which limit a problem is near, and what a wider network or a larger step would change.

    A single problem has no exponents: therefore learning_rate/(width * batch) is compared with 1, within a factor of 2, and
    learning_rate/width with the square root of dimension * batch.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem

        print(df.regime(df.Problem(dimension=1000)).summary())
    """
    chosen = QUESTION.settled(problem)
    d, p, gamma = chosen.dimension, chosen.network.width, chosen.training.learning_rate
    here, wider, faster = (
        classify(d, *pair, batch=chosen.training.batch) for pair in ((p, gamma), (2 * p, gamma), (p, 2 * gamma))
    )
    return NearLimit(chosen, here, wider, faster)


def _noise_sentence(regime: Regime) -> str:
    weight = regime.variance_weight
    if weight < _NEGLIGIBLE:
        verdict = "negligible"
    elif weight < _VISIBLE:
        verdict = "small but visible, above all in the final risk"
    else:
        verdict = "not negligible"
    return f"The noise term, of weight learning_rate/(width * batch) = {weight:.3g}, is {verdict}."


def _doubling_sentence(what: str, noise: str, samples: str, after: Regime, before: Regime) -> str:
    verdict = "stays the same" if after.label == before.label else f"becomes {_NAMES[after.label]}"
    return (
        f"Doubling the {what} {noise} the weight of the noise and {samples} the samples per unit of time; "
        f"the regime {verdict}."
    )


def _scatter_sentences(regime: Regime) -> list[str]:
    if regime.label == "no_ode":
        return []
    return [
        "Single runs scatter around the limit on the scale sqrt(learning_rate/(width * dimension * batch)) = "
        f"{regime.bound_prefactor:.2g}, which may grow exponentially in time."
    ]


def _scaling_sentences(problem: OnePassProblem) -> list[str]:
    """These numbers are for second layers of order one in f = (1/width) sum_i a_i sigma_i."""
    network = problem.network
    stretch = network.width * prefactor(network.scaling, network.width)
    if stretch == 1:
        return []
    return [
        f"All this is for the scaling 'mean'; with scaling {network.scaling!r} the second layer is {stretch:.3g} times larger, "
        f"so gradients act as if the learning rate were {stretch:.3g} times larger."
    ]


def _count(number: float) -> str:
    return f"{number:,.0f}" if 10 <= number < 1e9 else f"{number:.2g}"
