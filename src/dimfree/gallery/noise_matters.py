"""Does the noise of SGD matter? Phase retrieval on the sphere, width 1, from one start of typical overlap.

docs/theory/committee.md, section 6: near m = 0 the noise of the steps adds to m² as much as the drift does once the
learning rate is of the order of its limit 1/6, equation (6.7). The ODE leaves this noise out; the diffusion includes it.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.diffusion import Diffusion
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, OverlapStart, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.questions.exit_times.first_passage import Times, crossing
from dimfree.questions.exit_times.formulas import second_moment

_NOISE, _THRESHOLD = 0.01, 0.1
_RATES = {"small": 0.01, "large": 0.08}
_UNTIL = {"small": 1.6, "large": 4.0}
_COLOURS = {"chain": "#1f78b4", "diffusion": "#1b9e77"}


class NoiseMatters(Entry[xr.DataTree]):
    """ODE, diffusion and real SGD from the same start, at a small and at a large learning rate."""

    name: ClassVar[str] = "noise-matters"
    title: ClassVar[str] = "Does noise matter? Phase retrieval: ODE, diffusion and SGD from one start"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023escaping",)
    theory: AnyDescription = Diffusion()
    rates: tuple[float, float] = (_RATES["small"], _RATES["large"])
    dimension: int = 3000
    replicas: int = 200  # five times as many with `full`

    def cases(self, full: bool) -> dict[str, Case]:
        """One case per learning rate."""
        replicas = self.replicas * (5 if full else 1)
        runs = (OverlapChain(), self.theory, HighDimensional())
        return {
            name: Case(_problem(self.dimension, rate, _UNTIL[name], replicas), runs)
            for name, rate in zip(_RATES, self.rates, strict=True)
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Risk and overlaps along all paths."""
        cases = self.cases(full)
        tree = run_cases(cases, watch)
        for name, rate in zip(cases, self.rates, strict=True):
            tree[name].attrs |= {"dimension": self.dimension, "learning_rate": rate}
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Exit times and the early growth of m², against SGD."""
        name = self.theory.title
        chain, theory = (_exits(data, "large", one) for one in ("chain", name))
        ode = float(_exits(data, "large", "ode")[0])
        joint = float(np.hypot(*(_spread(times) / np.sqrt(len(times)) for times in (chain, theory))))
        return (
            Claim(f"large rate: mean exit of the {name} over SGD's", float(theory.mean() / chain.mean()), 0.9, 1.1),
            Claim(
                f"large rate: mean exit of the {name} minus SGD's, in standard errors",
                float(theory.mean() - chain.mean()) / joint,
                -3.5,
                3.5,
            ),
            Claim(
                f"large rate: spread of the exits of the {name} over SGD's",
                _spread(theory) / _spread(chain) if _spread(chain) else np.inf,
                0.75,
                1.33,
            ),
            Claim("large rate: spread of SGD's exits over the one exit of the ODE", _spread(chain) / ode, 0.2, 1.0),
            Claim("large rate: mean m² of SGD over the ODE's when that has doubled", _lead(data, "large"), 1.25, 2.0),
            Claim(
                "large rate: the same over the prediction of equation (6.7)",
                _lead(data, "large") / _predicted_lead(data, "large"),
                0.85,
                1.15,
            ),
            Claim("small rate: mean m² of SGD over the ODE's when that has doubled", _lead(data, "small"), 0.9, 1.15),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk against time: mean and 80 % of the paths, one panel per rate."""
        figure.set_size_inches(9.5, 3.8)
        for axes, case in zip(figure.subplots(1, 2, sharey=True), _RATES, strict=True):
            for one in ("chain", self.theory.title):
                risk = _of(data, case, one)["risk"]
                low, high = risk.quantile([0.1, 0.9], "replica").values
                colour, dashed = _COLOURS.get(one, "#e7298a"), one != "chain"
                axes.fill_between(risk["time"], low, high, color=colour, alpha=0.0 if dashed else 0.2, lw=0)
                if dashed:
                    axes.plot(risk["time"], np.stack([low, high], axis=1), ":", color=colour, lw=1)
                label = f"{'SGD (chain)' if one == 'chain' else one}, mean and 80 % of {risk.sizes['replica']} paths"
                axes.plot(
                    risk["time"], risk.mean("replica"), "--" if dashed else "-", color=colour, lw=1.8, label=label
                )
            ode = _of(data, case, "ode")["risk"].isel(replica=0)
            axes.plot(ode["time"], ode, "-", color="#d95f02", lw=1.6, label="ODE")
            axes.axhline((1 - _THRESHOLD) * float(ode[0]), color="0.5", lw=0.8, ls=(0, (1, 3)))
            axes.set(
                xlabel="time $t$ = steps × rate / dimension",
                title=f"learning rate {data[case].attrs['learning_rate']:g} (limit 1/6)",
                xlim=(0, float(ode["time"][-1])),
                ylim=(0, None),
            )
        figure.axes[0].set_ylabel("population risk (without label noise)")
        figure.axes[0].legend(frameon=False, loc="lower left")
        figure.axes[0].text(0.02, (1 - _THRESHOLD) * float(ode[0]), "exit", va="top", fontsize=8, color="0.35")
        figure.suptitle(f"{self.title}, dimension {data['large'].attrs['dimension']:,}")

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


def _problem(d: int, rate: float, until: float, replicas: int) -> OnePassProblem:
    return OnePassProblem(
        dimension=d,
        data=Teacher(units=1, activation="square", noise=_NOISE),
        network=TwoLayer(width=1, activation="square"),
        training=OnePass(learning_rate=rate, spherical=True),
        start=OverlapStart(Q=((1.0,),), M=((d**-0.5,),)),
        run=Run(until=until, replicas=replicas, points=161, spacing="linear"),
    )


def _exits(data: xr.DataTree, case: str, one: str) -> Times:
    """First passages of all paths; a path that stays counts with the last time."""
    risk = _of(data, case, one)["risk"]
    found = crossing(risk["time"].values, risk.values, (1 - _THRESHOLD) * risk.values[0])
    return np.minimum(found, float(risk["time"][-1]))


def _spread(times: Times) -> float:
    return float(times.std(ddof=1)) if len(times) > 1 else 0.0


def _doubling(data: xr.DataTree, case: str) -> int:
    """Index of the first saved time at which the ODE has doubled m²."""
    s = _of(data, case, "ode")["M"].values[:, 0, 0, 0] ** 2
    return int(np.argmax(s >= 2 * s[0]))


def _lead(data: xr.DataTree, case: str) -> float:
    """Mean m² of SGD over that of the ODE when the latter has doubled."""
    at = _doubling(data, case)
    chain, ode = (_of(data, case, one)["M"].values[at] ** 2 for one in ("chain", "ode"))
    return float(chain.mean() / ode.mean())


def _predicted_lead(data: xr.DataTree, case: str) -> float:
    ode = _of(data, case, "ode").isel(time=_doubling(data, case), replica=0)
    mu = data[case].attrs["dimension"] * float(ode["M"][0, 0]) ** 2
    return second_moment(1.0, float(ode["time"]), data[case].attrs["learning_rate"], 1, _NOISE) / mu


def _of(data: xr.DataTree, case: str, one: str) -> xr.Dataset:
    return data[f"{case}/{one}"].to_dataset()
