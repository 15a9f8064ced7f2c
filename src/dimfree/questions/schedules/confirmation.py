"""What real SGD says: the final risk under each schedule from fresh starts, and the gain with its error."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.questions.schedules.optimum import Hunt, Tried
from dimfree.questions.schedules.runs import risks

BY: dict[str, AnyDescription] = {"chain": OverlapChain(), "sgd": VectorSGD()}


@dataclass(frozen=True)
class Confirmation:
    """Risks of real SGD by schedule: at every look, from every start, of every replica; not finite where it is lost."""

    by: str
    dimension: int
    risks: Mapping[str, Float[np.ndarray, "t starts r"]]

    def ends(self, name: str) -> Float[np.ndarray, "starts r"]:
        """Final risks."""
        return self.risks[name][-1]

    def log_gain(self, name: str = "optimal", over: str = "constant") -> tuple[float, float]:
        """The logarithm of the ratio of exp<log risk>, and its standard error.

        Starts and samples are shared by all schedules, so that differences are taken replica by replica; what scatters are
        starts, if there are several.
        """
        gained = np.log(self.ends(over)) - np.log(self.ends(name))
        independent = gained.mean(axis=1) if len(gained) > 1 else gained[0]
        error = independent.std(ddof=1) / np.sqrt(len(independent)) if len(independent) > 1 else 0.0
        return float(gained.mean()), float(error)

    def gain(self, name: str = "optimal", over: str = "constant") -> tuple[float, float]:
        """The same as a ratio."""
        log, error = self.log_gain(name, over)
        return float(np.exp(log)), float(np.exp(log) * error)

    def lost(self, name: str) -> float:
        """The share of replicas that diverged."""
        return float(np.mean(~np.isfinite(self.ends(name))))

    def told(self, name: str) -> str:
        """The final risk with its error, for a table."""
        if name not in self.risks:
            return ""
        if self.lost(name):
            return f"{100 * self.lost(name):.0f} % diverge"
        ends = self.ends(name).ravel()
        return f"{ends.mean():.3g} ± {ends.std(ddof=1) / np.sqrt(ends.size):.1g}" if ends.size > 1 else f"{ends[0]:.3g}"

    def gained(self, name: str) -> str:
        """The gain over the constant with its error, for a table."""
        if name not in self.risks or name == "constant" or self.lost(name) or self.lost("constant"):
            return ""
        return "{:.3g} ± {:.1g}".format(*self.gain(name))

    def plain(self) -> dict[str, object]:
        """Mean, median and worst replica of every schedule, and its gain, as plain data."""
        return {"by": self.by, "dimension": self.dimension} | {name: self._plain(name) for name in self.risks}

    def _plain(self, name: str) -> dict[str, object]:
        if self.lost(name):
            return {"diverged": self.lost(name)}
        ends = self.ends(name).ravel()
        found: dict[str, object] = {
            "replicas": ends.size,
            "mean": float(ends.mean()),
            "error": float(ends.std(ddof=1) / np.sqrt(ends.size)) if ends.size > 1 else None,
            "median": float(np.median(ends)),
            "worst": float(ends.max()),
            "exp_mean_log": float(np.exp(np.log(ends).mean())),
        }
        if name != "constant" and not self.lost("constant"):
            found["gain"] = dict(zip(("value", "error"), self.gain(name), strict=True))
        return found

    def dataset(self, samples: Float[np.ndarray, " t"]) -> xr.Dataset:
        """All risks with names."""
        stacked = np.stack(list(self.risks.values()))
        return xr.Dataset(
            {"risk": (("schedule", "samples", "start", "replica"), stacked)},
            {"schedule": list(self.risks), "samples": samples},
            {"description": self.by, "dimension": self.dimension},
        )


def confirmed(
    hunt: Hunt,
    tried: Mapping[str, Tried],
    names: Sequence[str],
    one: AnyDescription,
    replicas: int,
    watch: Callable[[str, float], None],
) -> Confirmation:
    """Real SGD under the named schedules, with the same samples from the same starts, which the search has not seen if drawn."""
    count = len(hunt.starts)
    fresh = hunt.problem.replace(
        **{
            "run.seed": hunt.problem.run.seed + 1,
            "run.replicas": count * max(1, replicas // count),
            "run.starts": count,
        }
    )
    starts, key, found = starts_of(fresh, (one,)), own_key(fresh, one.title), {}
    for done, name in enumerate(names):
        watch(f"{one.name}: {name}", done / len(names))
        problem = hunt.problem_with(tried[name].numbers)
        found[name] = risks(
            problem, one, starts, hunt.course.grid, tried[name].written, key, fresh.run.replicas // count
        )
    return Confirmation(one.name, fresh.dimension, found)
