"""The effective temperature of multi-pass SGD: vanilla against its closed form, persistent against the sheet's table.

docs/theory/dmft.md, section 5: two clusters, square loss, alpha = 3, Delta = 0.5, lambda = 0.1. Vanilla SGD has a temperature of
the order eta b (1 - b) times the training loss; batches that persist are correlated in time, and much hotter.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.dataset.dataset_model import DataSetModel
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.problem import DataSetProblem, MultiPass, TwoClusters
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import Description
from dimfree.gallery.entry import Claim, Entry
from dimfree.problem.run import Run
from dimfree.progress import PartWatcher
from dimfree.questions.temperature.answer import Account, Temperature, temperature
from dimfree.readings.power_laws import power
from dimfree.results.record import cost_of

_INF = float("inf")
_COLOURS = ("#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e")
_TABLE = {  # T_fit at persistence 0 (vanilla), 1, 2, 4: docs/theory/dmft.md, section 5
    0.3: (0.00292, 0.01203, 0.02170, 0.03373),
    0.6: (0.00313, 0.02471, 0.03980, 0.05584),
}
_PERSISTENCE = (0.0, 1.0, 2.0, 4.0)


class EffectiveTemperatureEntry(Entry[xr.DataTree]):
    """Vanilla SGD at several rates and batches: exact two-time functions, closed form, and twin runs."""

    name: ClassVar[str] = "effective-temperature"
    title: ClassVar[str] = "Vanilla SGD near its minimum: response against correlation gives a temperature"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2022",)
    theory: Description[DataSetModel, None] = DMFT()
    persistence: float | None = None
    settings: tuple[tuple[float, float], ...] = ((0.1, 0.3), (0.2, 0.3), (0.15, 0.3), (0.1, 0.6), (0.1, 0.9))  # eta, b
    dimension: int = 400
    seeds: int = 8  # of the twin runs, in the first setting

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """chi and Delta C in every setting; `full` simulates in dimension 1000 with 24 seeds."""
        tree: dict[str, Any] = {}
        for number, (rate, fraction) in enumerate(self.settings):
            problem = two_clusters(rate, fraction, self.persistence, 1000 if full else self.dimension)
            seeds = 0 if number else 24 if full else self.seeds
            found = temperature(problem, seeds=seeds, theory=self.theory, budget=_INF)
            tree |= {f"{_label(rate, fraction)}/{name}": _stored(found, name) for name in found.names}
            watch(_label(rate, fraction), (number + 1) / len(self.settings))
        return xr.DataTree.from_dict(tree)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Exact, closed and simulated temperatures agree, and follow eta b (1 - b)."""
        first = _label(*self.settings[0])
        fits = np.array([self._slope(data, _label(*one), "fit") for one in self.settings])
        natural = np.array([rate * b * (1 - b) for rate, b in self.settings])
        of_rate = [number for number, (_, b) in enumerate(self.settings) if b == self.settings[0][1]]
        exponent = power([self.settings[n][0] for n in of_rate], fits[of_rate])
        simulated, exact = (_account(data, first, name) for name in ("simulation", self.theory.title))
        measured, error = simulated.slope("fit")
        return (
            Claim(
                "fitted temperature over that of the closed form, largest of all settings",
                self._worst(data, "fit"),
                0.98,
                1.02,
            ),
            Claim("temperature of the first step over that of the closed form", self._worst(data, "short"), 0.99, 1.01),
            Claim(
                "twin runs minus theory on the same lags, in standard errors",
                (measured - exact.at(simulated.lag).slope("fit")[0]) / error,
                -3.5,
                3.5,
            ),
            Claim("temperature grows like rate^x, x", exponent, 0.9, 1.3),
            Claim(
                "temperature over rate b (1 - b): largest over smallest",
                float(np.max(fits / natural) / np.min(fits / natural)),
                1.0,
                1.4,
            ),
            Claim(
                "temperature over the second half of the response over that of the first step",
                self._slope(data, first, "long") / self._slope(data, first, "short"),
                0.4,
                0.9,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """chi against Delta C with twin runs, ratio against lag, and all settings in natural units."""
        figure.set_size_inches(12.5, 4.0)
        plot, ratio, scaled = figure.subplots(1, 3)
        first = _label(*self.settings[0])
        draw_accounts(plot, ratio, [_account(data, first, name) for name in data[first].children], self.theory.title)
        plot.set_title(first)
        for one, colour in zip(self.settings, _COLOURS, strict=False):
            exact, unit = _account(data, _label(*one), self.theory.title), one[0] * one[1] * (1 - one[1])
            scaled.plot(exact.Delta_C[0] / unit, exact.chi[0], color=colour, lw=1.4, label=_label(*one))
        scaled.set(xlabel=r"$\Delta C/[\eta\, b(1-b)]$", ylabel=r"response $\chi$", xlim=(0, None), ylim=(0, None))
        scaled.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Exact solutions, and twins at ten lags."""
        problems = [two_clusters(*one, self.persistence, 1000 if full else self.dimension) for one in self.settings]
        twins = cost_of(MultiPassSGD(), problems[0].replace(**{"run.replicas": 24 if full else self.seeds}))
        return sum(cost_of(self.theory, one).seconds for one in problems) + 11 * twins.seconds

    def _slope(self, data: xr.DataTree, setting: str, which: str) -> float:
        return _account(data, setting, self.theory.title).slope(which)[0]

    def _worst(self, data: xr.DataTree, which: str) -> float:
        """The ratio to the closed form that is farthest from one; nan where there is no closed form."""
        ratios = []
        for one in self.settings:
            closed = "closed form" in data[_label(*one)]
            expected = _account(data, _label(*one), "closed form").slope(which)[0] if closed else float("nan")
            ratios.append(self._slope(data, _label(*one), which) / expected)
        return float(max(ratios, key=lambda ratio: abs(np.log(ratio))))


class TemperaturePersistent(Entry[xr.Dataset]):
    """Temperature against persistence for two batch fractions."""

    name: ClassVar[str] = "temperature-persistent"
    title: ClassVar[str] = "Persistent batches are hot: the effective temperature against the persistence time"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2022",)
    theory: Description[DataSetModel, None] = DMFT()
    samples: float = 3.0

    def times(self, full: bool) -> tuple[float, ...]:
        """The persistence times of the table; `full` has more between them."""
        return (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0) if full else _PERSISTENCE

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Measure all four slopes of 600 steps, and the curves."""
        taus, rows = self.times(full), []
        for number, fraction in enumerate(_TABLE):
            found = []
            for place, tau in enumerate(taus):
                problem = two_clusters(0.1, fraction, tau or None, 500, self.samples)
                found.append(temperature(problem, theory=self.theory, budget=_INF).accounts[0])
                watch(f"batch fraction {fraction:g}", (number + (place + 1) / len(taus)) / len(_TABLE))
            rows.append(found)
        values = {w: [[one.slope(w)[0] for one in row] for row in rows] for w in ("short", "long", "total", "fit")}
        curves = {name: [[getattr(one, name)[0] for one in row] for row in rows] for name in ("chi", "Delta_C")}
        return xr.Dataset(
            {w: (("fraction", "persistence"), np.array(v)) for w, v in values.items()}
            | {name: (("fraction", "persistence", "lag"), np.array(v)) for name, v in curves.items()},
            {"fraction": list(_TABLE), "persistence": list(taus), "lag": rows[0][0].lag},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """The sheet's table, and how much hotter persistence is."""
        table = data["fit"].sel(persistence=list(_PERSISTENCE))
        off = np.abs(table.values / np.array(list(_TABLE.values())) - 1).max()
        hotter = table.sel(persistence=4.0) / table.sel(persistence=0.0)
        growth = table.values[:, 1:] / table.values[:, :-1]
        curved = data["long"].sel(persistence=4.0) / data["short"].sel(persistence=4.0)
        return (
            Claim("largest relative difference from the table of the theory sheet", float(off), 0.0, 0.01),
            Claim("temperature at persistence 4 over that of vanilla SGD, smallest", float(hotter.min()), 8.0, 30.0),
            Claim(
                "temperature at each persistence over that at the next shorter, smallest",
                float(growth.min()),
                1.2,
                _INF,
            ),
            Claim(
                "at persistence 4, temperature at long lags over that at the first step, smallest",
                float(curved.min()),
                10.0,
                _INF,
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Temperature against persistence, and response against correlation."""
        figure.set_size_inches(9.6, 4.0)
        against, plot = figure.subplots(1, 2)
        for fraction, colour in zip(data["fraction"].values, _COLOURS, strict=False):
            here = data.sel(fraction=fraction)
            against.plot(here["persistence"], here["fit"], "o-", color=colour, ms=4, label=f"$b$ = {fraction:g}: fit")
            against.plot(here["persistence"], here["total"], ":", color=colour, lw=1.2, label="largest lag")
            against.plot(_PERSISTENCE, _TABLE[float(fraction)], "x", color="black", ms=6, zorder=5)
            for tau, line in zip(_PERSISTENCE, ("-", "--", "-.", ":"), strict=True):
                one = here.sel(persistence=tau).isel(lag=slice(1, None))
                label = f"$b$ = {fraction:g}, " + (f"$\\tau$ = {tau:g}" if tau else "vanilla")
                plot.plot(one["Delta_C"], one["chi"], line, color=colour, lw=1.3, label=label)
        against.plot([], [], "x", color="black", ms=6, label="theory sheet")
        against.set(
            xlabel=r"persistence time $\tau$ (0: vanilla)", ylabel=r"temperature $\Delta C/\chi$", ylim=(0, None)
        )
        plot.set(xlabel=r"correlation lost, $\Delta C$", ylabel=r"response $\chi$", xscale="log", yscale="log")
        for axes in (against, plot):
            axes.legend(fontsize=7)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Count one exact solution per point."""
        one = two_clusters(0.1, 0.3, None, 500, self.samples)
        return len(_TABLE) * len(self.times(full)) * cost_of(self.theory, one).seconds


def two_clusters(
    rate: float, fraction: float, persistence: float | None, dimension: int, samples: float = 3.0
) -> DataSetProblem:
    """Until time 60, when all is stationary."""
    return DataSetProblem(
        dimension=dimension,
        data=TwoClusters(samples=samples, variance=0.5),
        training=MultiPass(
            learning_rate=rate, loss="square", batch_fraction=fraction, persistence=persistence, weight_decay=0.1
        ),
        run=Run(until=60.0),
    )


def draw_accounts(plot: Axes, ratio: Axes, accounts: Iterable[Account], theory: str) -> None:
    """Response against correlation, and their ratio against the lag."""
    lines = {theory: ("#d95f02", "-"), "closed form": ("#7570b3", "--")}
    for one in accounts:
        if one.name in lines:
            colour, line = lines[one.name]
            plot.plot(one.Delta_C[0], one.chi[0], line, color=colour, lw=1.5, label=one.name)
            ratio.plot(one.lag[1:], one.Delta_C[0, 1:] / one.chi[0, 1:], line, color=colour, lw=1.5, label=one.name)
            continue
        ratios, count = one.Delta_C[:, 1:] / one.chi[:, 1:], np.sqrt(len(one.chi))
        bars = [2 * values.std(axis=0, ddof=1) / count for values in (one.chi, one.Delta_C, ratios)]
        points: dict[str, Any] = {
            "fmt": "o",
            "color": "black",
            "mfc": "white",
            "ms": 4,
            "lw": 1,
            "label": "twin runs ± 2 s.e.",
        }
        plot.errorbar(one.Delta_C.mean(axis=0), one.chi.mean(axis=0), bars[0], bars[1], **points)
        ratio.errorbar(one.lag[1:], ratios.mean(axis=0), bars[2], **points)
    plot.set(xlabel=r"correlation lost, $\Delta C = C(t,t) - C(t,s)$", ylabel=r"response $\chi(t,s)$")
    plot.set(xlim=(0, None), ylim=(0, None))
    plot.legend()
    ratio.set(xscale="log", ylim=(0, None), xlabel="lag $t - s$", ylabel=r"$\Delta C/\chi$ up to this lag")


def _label(rate: float, fraction: float) -> str:
    return f"rate {rate:g}, batch fraction {fraction:g}"


def _stored(found: Temperature, name: str) -> xr.Dataset:
    return found.to_tree()[name].to_dataset()


def _account(data: xr.DataTree, setting: str, name: str) -> Account:
    stored = data[f"{setting}/{name}"].to_dataset()
    return Account(name, *(stored[which].values for which in ("lag", "chi", "Delta_C")))
