"""The best schedule of a committee with a plateau, without noise and with it: rates, risks, certificates, real SGD.

docs/theory/schedules.md, problems A and B, in the units of Saad and Solla. The greedy schedule is a trap: it never leaves
the plateau.
"""

from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, OverlapStart, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.questions.schedules.figure import LOOKS, draw_conditions
from dimfree.questions.schedules.optimise import optimise

CASES = {"noiseless": (0.0, 50.0), "noisy": (1e-2, 100.0)}
_SHOWN = {"constant": "constant", "cosine": "family", "greedy": "greedy", "optimal": "optimal"}
_SURE = 3.0  # standard errors


def committee(noise: float, until: float) -> OnePassProblem:
    """erf, two units learn two: t is half of the samples per dimension."""
    return OnePassProblem(
        dimension=1000,
        data=Teacher(units=2, scaling="sum", noise=noise),
        network=TwoLayer(width=2, scaling="sum"),
        training=OnePass(learning_rate=1.0),
        start=OverlapStart(Q=((0.25, 0.0), (0.0, 0.25)), M=((0.06, 0.01), (0.0, 0.03))),
        run=Run(until=until),
    )


class OptimalSchedule(Entry[xr.DataTree]):
    """Both problems, optimised and confirmed by the chain."""

    name: ClassVar[str] = "optimal-schedule"
    title: ClassVar[str] = "The best learning-rate schedule, certified, and confirmed by real SGD"
    cites: ClassVar[tuple[str, ...]] = ("saad1997globally", "leen1998")
    knots: int = 33

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Schedules, certificate and confirmation of each."""
        trees = {}
        for number, (name, (noise, until)) in enumerate(CASES.items()):
            report = lambda text, done, before=number: watch(text, (before + done) / len(CASES))  # noqa: E731
            best = optimise(
                committee(noise, until), knots=self.knots, against="cosine,greedy", replicas=self._replicas(full),
                budget=np.inf, watch=report,
            )  # fmt: skip
            tree = best.to_tree()
            found = best.certificate
            tree.children["certificate"].attrs.update(
                pontryagin_error=found.pontryagin_error,
                hamiltonian_spread=found.hamiltonian_spread,
                starts_spread=found.starts_spread,
            )
            trees[name] = tree
        return xr.DataTree(children=trees)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The optimum, its certificates, and the gain of SGD less three standard errors."""
        quiet, noisy = (_ends(data.children[name]) for name in CASES)
        certificates = [data.children[name].children["certificate"].attrs for name in CASES]
        return (
            Claim("final risk of the optimum without noise", quiet["optimal"], 0.0, 2.7260e-6),
            Claim("final risk of the optimum with noise 0.01", noisy["optimal"], 0.0, 1.4345e-4),
            Claim("best constant over optimum without noise", quiet["constant"] / quiet["optimal"], 2.7, 2.8),
            Claim("best constant over optimum with noise", noisy["constant"] / noisy["optimal"], 9.7, 9.9),
            Claim("final risk of greedy, which stays on the plateau", quiet["greedy"], 1e-2, 2e-2),
            Claim("largest violation of Pontryagin's rate", _worst(certificates, "pontryagin_error"), 0.0, 0.01),
            Claim("largest relative spread of H", _worst(certificates, "hamiltonian_spread"), 0.0, 0.005),
            Claim("relative spread over first guesses", _worst(certificates, "starts_spread"), 0.0, 1e-4),
            Claim(
                "gain of SGD without noise, less 3 s.e.", _surely(data.children["noiseless"], "constant"), 2.0, np.inf
            ),
            Claim("gain of SGD with noise, less 3 s.e.", _surely(data.children["noisy"], "constant"), 9.0, np.inf),
            Claim(
                "gain of SGD over the best cosine with noise, less 3 s.e.",
                _surely(data.children["noisy"], "cosine"),
                1.1,
                np.inf,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Rates over risks over certificates, a column for each problem."""
        figure.set_size_inches(9.6, 8.0)
        panels = figure.subplots(3, 2, sharex="col", height_ratios=(3, 3, 2))
        for column, (name, (noise, _)) in enumerate(CASES.items()):
            _draw(panels[0, column], panels[1, column], data.children[name])
            seen = data.children[name].children["certificate"].to_dataset()
            kept = seen.isel(samples=np.flatnonzero(seen["inside"]))
            draw_conditions(
                panels[2, column], *(kept[one].values for one in ("samples", "pontryagin_ratio", "hamiltonian"))
            )
            panels[2, column].set_xlabel("samples per dimension")
            panels[0, column].set_title("no label noise" if not noise else f"label noise of variance {noise:g}")
        panels[0, 0].legend(frameon=False)
        panels[0, 0].set_ylabel("learning rate")
        panels[1, 0].set_ylabel("risk (lines: ode; empty markers: SGD)")
        panels[2, 0].set_ylabel("certificate, per cent")
        panels[2, 0].legend(frameon=False, fontsize=7)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Search and chain."""
        return 90.0 + 1.2 * self._replicas(full)

    def _replicas(self, full: bool) -> int:
        return 128 if full else 32


def geometric_mean(data: xr.DataArray, dims: list[str]) -> xr.DataArray:
    """exp<log> over some dimensions."""
    logs: xr.DataArray = xr.apply_ufunc(np.log, data)
    mean: xr.DataArray = xr.apply_ufunc(np.exp, logs.mean(dims))
    return mean


def _ends(tree: xr.DataTree) -> dict[str, float]:
    """Final risks by schedule."""
    found = geometric_mean(tree.children["schedules"].to_dataset()["risk"].isel(samples=-1), ["start"])
    return {str(name): float(found.sel(schedule=name)) for name in found["schedule"].values}


def _surely(tree: xr.DataTree, over: str) -> float:
    """The gain of real SGD, ratio of exp<log risk>, at its lower end."""
    ends = tree.children["confirmed"].to_dataset()["risk"].isel(samples=-1)
    gained = np.log(ends.sel(schedule=over).values) - np.log(ends.sel(schedule="optimal").values)  # the same samples
    return float(np.exp(gained.mean() - _SURE * gained.std(ddof=1) / np.sqrt(gained.size)))


def _worst(certificates: list[dict[Any, Any]], name: str) -> float:
    return max(float(one[name]) for one in certificates)


def _draw(rates: Axes, risks: Axes, tree: xr.DataTree) -> None:
    schedules, real = (tree.children[name].to_dataset() for name in ("schedules", "confirmed"))
    for name, look in _SHOWN.items():
        one = schedules.sel(schedule=name)
        rates.plot(one["samples"], one["rate"], label=name, **LOOKS[look])
        risks.plot(one["samples"], one["risk"].mean("start"), **LOOKS[look])
        if name in real["schedule"].values:
            seen = geometric_mean(real["risk"].sel(schedule=name), ["start", "replica"])[::5]
            risks.plot(seen["samples"], seen, "o", color=LOOKS[look]["color"], mfc="white", ms=4)
    rates.set_yscale("log")
    risks.set_yscale("log")
