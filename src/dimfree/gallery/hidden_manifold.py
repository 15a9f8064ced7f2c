"""A hidden manifold: real SGD on features of hidden variables beside the ODE of Gaussian inputs with the same covariance.

docs/theory/structured.md, section 1.3: features are signs of combinations of hidden variables, of which there are half as many
as features; the teacher sees the hidden variables; networks have two erf units. Features are not Gaussian, and explain only a
part of what the teacher sees. The equations hold within two per cent once the unexplained part is added to the variance of the
teacher, and are far off without it.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.description import Ask, Dynamics, Piece
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.manifold.numbers import manifold_of
from dimfree.onepass.kinds.manifold.section import HiddenManifold
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import TwoLayer
from dimfree.onepass.start import Start
from dimfree.problem import Run
from dimfree.progress import PartWatcher

TIMES = (0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8, 1.1, 1.6, 2.0, 2.4, 2.8, 3.4, 4.0, 4.8, 5.6, 6.6, 8.0)
_CHECKED = (0.4, 1.6, 4.0, 8.0)
_CLOSE = 0.02
_LOOKS = {"ode": ("-", "#d95f02", "ODE"), "blind": ("--", "#7570b3", "ODE that takes inputs to tell everything")}


class Blind(HighDimensional):
    """The same equations without P_res: as if the inputs explained everything that the teacher sees."""

    name: ClassVar[str] = "blind"

    def twin(self, model: DirectionsModel) -> tuple[Dynamics[Any, Start, Any], DirectionsModel]:
        """The dynamics and the model of the parent class."""
        return super().twin(model)

    def account(self, model: DirectionsModel, start: Start, ask: Ask) -> Iterator[Piece]:
        """Give the account of a model whose target has only the variance that inputs explain."""
        k, blocks = model.units, start.blocks
        seen = jnp.einsum("b,bij->ij", blocks.s, blocks.Omega)[-k:, -k:]
        return HighDimensional().account(eqx.tree_at(lambda one: one.target.P, model, seen), start, ask)


class HiddenManifoldEntry(Entry[xr.DataTree]):
    """Real SGD, the equations, and the same without what inputs do not tell."""

    name: ClassVar[str] = "hidden-manifold"
    title: ClassVar[str] = "Features of hidden variables: SGD and the ODE of their covariance"
    cites: ClassVar[tuple[str, ...]] = ("goldt2020", "goldt2022")
    theory: str = "ode"  # "blind" forgets what inputs do not tell

    def cases(self, full: bool) -> dict[str, Case]:
        """One problem; `full` has the dimension of the documents."""
        return {"manifold": Case(problem(800 if full else 200), (VectorSGD(), HighDimensional(), Blind()))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all runs, and how much of the teacher no student sees."""
        cases = self.cases(full)
        found, one = run_cases(cases, watch), cases["manifold"].problem
        assert isinstance(one, OnePassProblem)
        found.attrs |= {
            "dimension": one.dimension,
            "unseen": float(np.trace(manifold_of(one).residual) / one.data.units),
        }
        return found

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Agreement at four times, and what the part that no student sees is worth."""
        ratio = self.ratio(data, self.theory)
        off = max(abs(float(ratio[TIMES.index(t)]) - 1) for t in _CHECKED)
        worth = 1 / float(self.ratio(data, "blind")[-1])
        return (
            Claim("largest deviation of the ODE from SGD at t = 0.4, 1.6, 4, 8", off, 0.0, _CLOSE),
            Claim("SGD over the ODE that takes inputs to tell everything, t = 8", worth, 3.5, 7.0),
            Claim("share of the teacher's variance that no student sees", data.attrs["unseen"], 0.29, 0.33),
        )

    def ratio(self, data: xr.DataTree, theory: str) -> Float[np.ndarray, " t"]:
        """A theory's risk over that of SGD, after the start."""
        predicted, sgd = (
            data[f"manifold/{name}"].to_dataset()["risk"].mean("replica").values for name in (theory, "sgd")
        )
        return predicted[1:] / sgd[1:]

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Mean risks with error bars and both theories; below, how far the right one is off."""
        figure.set_size_inches(7.0, 5.4)
        risks, ratios = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.2))
        runs = data["manifold/sgd"].to_dataset().isel(time=slice(1, None))
        sgd, tested = runs["risk"], runs["risk_error"].mean("replica")
        # all runs share the test inputs, and their error
        mean, error = sgd.mean("replica"), np.sqrt(sgd.var("replica") / sgd.sizes["replica"] + tested**2)
        for name, (style, colour, label) in _LOOKS.items():
            predicted = data[f"manifold/{name}"].to_dataset()["risk"].isel(time=slice(1, None), replica=0)
            risks.plot(predicted["time"], predicted, style, color=colour, lw=1.8, label=label)
        named = f"SGD on signs of hidden variables, mean of {sgd.sizes['replica']} runs"
        marks = {"fmt": "o", "ms": 4.5, "capsize": 3}
        risks.errorbar(sgd["time"], mean, error, color="black", mfc="white", label=named, zorder=3, **marks)
        ratios.axhspan(-100 * _CLOSE, 100 * _CLOSE, color="0.9", label="2 %")
        ratios.axhline(0, color="0.6", lw=0.8)
        off = 100 * (self.ratio(data, "ode") - 1)
        ratios.errorbar(sgd["time"], off, 100 * error / mean, color=_LOOKS["ode"][1], **marks)
        ratios.set(ylim=(-4, 4), xlabel="time $t$ = steps × rate / (width × dimension)", ylabel="ODE − SGD (%)")
        ratios.legend(frameon=False, loc="lower right", fontsize=8)
        risks.set(xscale="log", yscale="log", ylabel="population risk")
        risks.legend(frameon=False)
        d, unseen = data.attrs["dimension"], data.attrs["unseen"]
        about = f"$d$ = {d} features of $D$ = {d // 2} hidden variables, {100 * unseen:.0f} % of the teacher unseen"
        figure.suptitle(f"{self.title}\nerf, 2 and 2 units, {about}", fontsize=10)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


def problem(dimension: int) -> OnePassProblem:
    """Signs of half as many hidden variables, learned at the rate 1."""
    return OnePassProblem(
        dimension=dimension,
        data=HiddenManifold(latent=dimension // 2, noise=0.0),
        network=TwoLayer(width=2),
        run=Run(until=TIMES[-1], times=TIMES, replicas=64),
    )
