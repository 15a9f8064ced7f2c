"""The density of units mu(m, q): ten thousand particles of the dimensionless limit against the units of one SGD run.

docs/theory/committee.md, section 5, PDE reading. A unit is a point (m, q): its overlaps with the teacher units, and the
squared norm of what is orthogonal to them.
"""

from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy import stats

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.wide import Dimensionless, density
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher


class Units(NamedTuple):
    """All units at all times."""

    M: np.ndarray  # (time, unit, teacher)
    q: np.ndarray  # (time, unit)


class MeanFieldDensity(Entry[xr.DataTree]):
    """Snapshots of the density, and the units of a finite network over it."""

    name: ClassVar[str] = "mean-field-density"
    title: ClassVar[str] = "Mean-field density mu(m, q) of the units against the units of one SGD run"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023high",)
    theory: AnyDescription = Dimensionless(self_term=False)
    particles: int = 10_000
    width: int = 256
    until: float = 20.0

    def cases(self, full: bool) -> dict[str, Case]:
        """The density at its own width; SGD at a width that `full` makes four times larger."""
        problem = OnePassProblem(
            dimension=100,
            data=Teacher(units=2, noise=0.0),
            training=OnePass(learning_rate=1.0),
            run=Run(until=self.until, points=5, spacing="linear", replicas=1),
        )
        density_problem = problem.replace(network=TwoLayer(width=self.particles))
        sgd_problem = problem.replace(network=TwoLayer(width=(4 if full else 1) * self.width))
        return {"density": Case(density_problem, (self.theory,)), "neurons": Case(sgd_problem, (VectorSGD(),))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure particles and units at five times."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Moments and laws of density and units agree within the error of the finite width, and mass is conserved."""
        limit, units = self._units(data)
        mass = density(limit.M, limit.q).mass.sum(axis=(-2, -1))
        moved = float(limit.M[-1].mean() - limit.M[0].mean())
        names = ("mean of m", "mean of m²", "mean of q")
        sigmas = [_sigmas(ours, theirs) for ours, theirs in zip(_moments(units), _moments(limit), strict=True)]
        distances = (_kolmogorov(units.M[-1, :, 0], limit.M[-1, :, 0]), _kolmogorov(units.q[-1], limit.q[-1]))
        return (
            *(
                Claim(f"{name} at the end: SGD minus density in standard errors", value, -4.0, 4.0)
                for name, value in zip(names, sigmas, strict=True)
            ),
            *(
                Claim(f"Kolmogorov distance of SGD and density in {name} at the end, over its scale", value, 0.0, 1.95)
                for name, value in zip(("m_1", "q"), distances, strict=True)
            ),
            Claim("the mean of m has moved by", moved, 0.2, 1.0),
            Claim("largest change of the total mass", float(np.abs(mass - 1).max()), 0.0, 1e-12),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw one panel per snapshot: the density as colour, units as dots."""
        times = data[f"density/{self.theory.title}"].to_dataset()["time"].values
        limit, units = self._units(data)
        snapshots = density(limit.M, limit.q, bins=40)
        figure.set_size_inches(2.6 * len(times), 3.4)
        panels = figure.subplots(1, len(times), sharex=True, sharey=True)
        cell = np.diff(snapshots.m_edges)[0] * np.diff(snapshots.q_edges)[0]
        peak = snapshots.mass[:, 0].max() / cell
        for n, (axes, t) in enumerate(zip(panels, times, strict=True)):
            mass = snapshots.mass[n, 0].T / cell
            image = axes.pcolormesh(
                snapshots.m_edges,
                snapshots.q_edges,
                np.ma.masked_equal(mass, 0),
                cmap="Blues",
                vmin=0,
                vmax=peak,
                rasterized=True,
            )
            axes.plot(units.M[n, :, 0], units.q[n], ".", color="#e31a1c", ms=2.5, alpha=0.7)
            axes.set(title=f"t = {t:g}", xlabel="overlap $m_1$")
        figure.colorbar(image, ax=panels, label="density", pad=0.01)
        panels[0].set_ylabel("orthogonal norm $q$")
        figure.suptitle(f"{self.title} (dots, width {units.q.shape[1]})")

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _units(self, data: xr.DataTree) -> tuple[Units, Units]:
        limit, sgd = data[f"density/{self.theory.title}"].to_dataset(), data["neurons/sgd"].to_dataset()
        norms = np.diagonal(sgd["Q"].values, axis1=-2, axis2=-1)
        return _split(limit["M"].values, limit["Q_diagonal"].values), _split(sgd["M"].values, norms)


def _split(M: np.ndarray, norms: np.ndarray) -> Units:
    """The teacher is orthonormal: q is what the squared overlaps leave of the squared norm."""
    return Units(M[:, 0], norms[:, 0] - np.sum(M[:, 0] ** 2, axis=-1))


def _moments(units: Units) -> tuple[np.ndarray, ...]:
    """What is averaged over the units at the end."""
    M, q = units.M[-1], units.q[-1]
    return M.mean(axis=-1), (M**2).mean(axis=-1), q


def _sigmas(units: np.ndarray, limit: np.ndarray) -> float:
    error = np.hypot(units.std(ddof=1) / np.sqrt(units.size), limit.std(ddof=1) / np.sqrt(limit.size))
    return float((units.mean() - limit.mean()) / error)


def _kolmogorov(units: np.ndarray, limit: np.ndarray) -> float:
    """The distance of the two laws in units of its scale for independent samples; above 1.95 with probability 0.001."""
    effective = units.size * limit.size / (units.size + limit.size)
    return float(stats.ks_2samp(units, limit).statistic * np.sqrt(effective))
