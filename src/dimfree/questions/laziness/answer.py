"""From the mean-field to the lazy scale and beyond: how far weights, kernel and outputs go from the linearised flow.

docs/theory/mean-field.md, section h. One problem with many output scales gamma: the same points, the same networks at the start,
and the same time s = gamma² N t, in which all of them learn equally fast. Lemmas 1 to 3 of the notes are checked on every run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float
from rich.table import Table

from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription
from dimfree.errors import ProblemError, RefusalError
from dimfree.lazy.flow import NetworkFlow, starts
from dimfree.lazy.lemmas import Lemmas, check_lemmas
from dimfree.lazy.linear import Linearised
from dimfree.lazy.model import LazyModel, lazy_model
from dimfree.lazy.problem import LazyProblem
from dimfree.machine import duration
from dimfree.problem import Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.laziness.question import QUESTION
from dimfree.questions.question import check_count
from dimfree.readings.power_laws import power
from dimfree.results.record import price_of, record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTITIES = {
    "movement": "relative movement |theta - theta_0|/|theta_0| at the end",
    "kernel_change": "kernel change |K - K_0|/|K_0| at the end",
    "gap": "largest distance |e - e_lin|/|e_0| from the linearised flow",
    "risk": "error on held-out points at the end",
    "linear_risk": "the same of the linearised network",
}
_LAZY = ("movement", "kernel_change", "gap")  # these fall like a power of the scale where it is large


@dataclass(frozen=True, eq=False, repr=False)
class Laziness(Answer[LazyProblem]):
    """Every quantity at every output scale and of every network, and the lemmas on every run."""

    scales: Float[np.ndarray, " g"]  # gamma
    measured: dict[str, Float[np.ndarray, "g r"]]  # by QUANTITIES
    lemmas: tuple[tuple[Lemmas, ...], ...]  # by scale and network

    @property
    def certain_from(self) -> float:
        """The output scale from which all networks satisfy the sufficient condition, whose radius falls like 1/gamma."""
        return float(self.scales[-1] * max(one.condition.left / one.condition.right for one in self.lemmas[-1]))

    @property
    def hold(self) -> bool:
        """Whether the lemmas hold on every run."""
        return all(one.holds for row in self.lemmas for one in row)

    def slope(self, name: str, last: int = 2) -> float:
        """The slope of the logarithm of a quantity's mean against log gamma, over the last scales."""
        mean = self.measured[name].mean(axis=1)[-last:]
        if not (mean > 0).all() or len(mean) < 2:
            return float("nan")
        return power(self.scales[-last:], mean)

    def said(self) -> Iterator[Table | str]:
        """A row per scale; then what the lemmas say."""
        N = self.problem.network.width
        table = Table(title=f"From the mean-field to the lazy scale: width {N}, s = {self.problem.run.until:g}")
        for heading in ("gamma N", "gamma √N", "movement", "kernel change", "gap to linear", "error", "linear error"):
            table.add_column(heading, justify="right")
        for heading in ("lemmas", "lazy for certain"):
            table.add_column(heading)
        for number, (gamma, row) in enumerate(zip(self.scales, self.lemmas, strict=True)):
            values = [f"{self.measured[name][number].mean():.3g}" for name in QUANTITIES]
            holds = "hold" if all(one.holds for one in row) else "VIOLATED"
            certain = "yes" if all(one.condition.holds for one in row) else "no"
            table.add_row(f"{gamma * N:.3g}", f"{gamma * N**0.5:.3g}", *values, holds, certain)
        yield table
        slopes = ", ".join(f"{name.replace('_', ' ')} {self.slope(name):.2f}" for name in _LAZY)
        yield f"Slopes in gamma between the two largest scales: {slopes}."
        last = self.lemmas[-1][0]
        yield (
            f"At the largest scale the weights of the first network move by {last.lemmas[2].left:.3g}, and lemma 3 allows "
            f"{last.radius:.3g}; its Jacobian changes by {last.measured_beta:.3g} per unit of movement, and lemma 2 allows "
            f"{last.beta:.3g}. By these bounds it is lazy for certain from gamma N = {self.certain_from * N:.2g} on."
        )

    def values(self) -> dict[str, object]:
        """Means over the networks, slopes, and the inequalities with both sides."""
        return {
            "scales": self.scales.tolist(),
            "networks": len(self.lemmas[0]),
            "means": {name: values.mean(axis=1).tolist() for name, values in self.measured.items()},
            "slopes": {name: self.slope(name) for name in _LAZY},
            "hold": self.hold,
            "certain_from": self.certain_from,
            "lemmas": [[_sides(one) for one in row] for row in self.lemmas],
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        data = {
            name: (("scale", "network"), values, {"long_name": QUANTITIES[name]})
            for name, values in self.measured.items()
        }
        sides = {
            f"lemma_{number + 1}_{side}": (
                ("scale", "network"),
                np.array([[getattr(one.lemmas[number], side) for one in row] for row in self.lemmas]),
            )
            for number in range(3)
            for side in ("left", "right")
        }
        certain = np.array([[one.condition.holds for one in row] for row in self.lemmas], dtype=np.int8)
        return {
            "laziness": xr.Dataset(data | sides | {"certain": (("scale", "network"), certain)}, {"scale": self.scales})
        }

    def draw(self, figure: "Figure") -> None:
        """Four panels against gamma N."""
        from dimfree.questions.laziness.figure import draw_laziness

        draw_laziness(self, figure)


def laziness(
    problem: Problem | str | Path | None = None,
    *,
    decades: float = 2.5,
    scales: int = 6,
    networks: int = 4,
    seed: int | None = None,
    budget: float = 300.0,
    flow: AnyDescription = NetworkFlow(),  # noqa: B008
    linear: AnyDescription = Linearised(),  # noqa: B008
    watch: PartWatcher = nobody,
) -> Laziness:
    """Sweep the output scale from 1/width upwards, with the real and the linearised flow from the same starts.

    Arguments:
        problem: a Problem on given points, or the path of a TOML file; without it, the one of docs/lazy.md; its
            own output scale is not used
        decades: how far to sweep output_scale * width upwards from 1, in powers of ten
        scales: number of output scales in the sweep
        networks: number of independent starts
        seed: instead of the problem's own
        budget: CPU seconds that all may take together
        flow, linear: descriptions to run instead of the real and the linearised flow
        watch: called with the name of what runs and the share of all work that is done

        print(df.laziness(networks=2).summary())
    """
    if not 0 < decades <= 12:
        raise ProblemError(f"decades = {decades:g} is not a range of output scales; give a number between 0 and 12.")
    chosen = QUESTION.settled(problem, seed).replace(**{"run.replicas": networks})
    check_count("scales", scales)
    gammas = 10 ** np.linspace(0, decades, scales) / chosen.network.width
    price = scales * sum(price_of(one, chosen).seconds for one in (flow, linear))
    if price > budget:
        raise RefusalError(
            f"{scales} scales of {networks} networks would take about {duration(price)}, more than the budget of "
            f"{duration(budget)}; raise the budget, or lower run.until, scales or networks."
        )
    measured: dict[str, list[Float[np.ndarray, " r"]]] = {name: [] for name in QUANTITIES}
    checked = []
    for number, gamma in enumerate(gammas):
        watch(f"gamma N = {gamma * chosen.network.width:.3g}", number / scales)
        one = chosen.replace(**{"network.output_scale": float(gamma)})
        start = starts_of(one, (flow,))[0]
        assert isinstance(start, jax.Array)
        real, straight = (record(one, each, start, own_key(one, each.title)) for each in (flow, linear))
        for name, values in _quantities(real, straight).items():
            measured[name].append(values)
        checked.append(_lemmas(lazy_model(one), start, real))
    watch("done", 1.0)
    return Laziness(chosen, gammas, {name: np.stack(rows) for name, rows in measured.items()}, tuple(checked))


def _quantities(real: xr.Dataset, linear: xr.Dataset) -> dict[str, Float[np.ndarray, " r"]]:
    apart = np.linalg.norm(real["residual"].values - linear["residual"].values, axis=-1)
    return {
        "movement": real["relative_movement"].values[-1],
        "kernel_change": real["kernel_change"].values[-1],
        "gap": apart.max(axis=0) / real["residual_norm"].values[0],
        "risk": real["risk"].values[-1],
        "linear_risk": linear["risk"].values[-1],
    }


def _lemmas(model: LazyModel, start: jax.Array, real: xr.Dataset) -> tuple[Lemmas, ...]:
    count = real.sizes["replica"]
    networks = starts(model, start, count)
    return tuple(
        check_lemmas(
            model,
            jax.tree.map(lambda x, r=r: x[r], networks),
            real["time"].values,
            {str(name): real[name].values[:, r] for name in real.data_vars},
        )
        for r in range(count)
    )


def _sides(one: Lemmas) -> dict[str, object]:
    """Both sides of every inequality, by name."""
    rows = {
        row.name: {"left": row.left, "right": row.right, "holds": row.holds} for row in (*one.lemmas, one.condition)
    }
    return rows | {"beta": one.beta, "measured_beta": one.measured_beta}
