"""Runs of real SGD: the final risk under each schedule from fresh starts, and the gain with its error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.special import stdtrit  # `scipy.stats` takes as long to import as jax

from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.projected import EigenbasisSGD, ProjectedRows
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.progress import PartWatcher
from dimfree.questions.schedules.optimum import Hunt, Tried
from dimfree.questions.schedules.runs import risks
from dimfree.setting import why_not

_STARTS = 8  # that real SGD runs from at least, where the search averages over several
_USUAL = 0.05  # the probability that an interval misses the true value
BY: dict[str, AnyDescription] = {
    "rows": RowsSGD(),
    "projected-rows": ProjectedRows(),
    "sgd-eigenbasis": EigenbasisSGD(),
    "chain": OverlapChain(),
    "sgd": VectorSGD(),
}  # the nearest to the user first
ON_ROWS = ("rows", "projected-rows")


@dataclass(frozen=True)
class Confirmation:
    """Risks of real SGD by schedule, over looks, starts and replicas; not finite where a run has diverged."""

    by: str
    dimension: int
    risks: Mapping[str, Float[np.ndarray, "t starts r"]]
    floor: float = 0.0  # what no network of the theory learns, where risks are those of true labels: it is part of them

    def ends(self, name: str) -> Float[np.ndarray, "starts r"]:
        """Final risks."""
        return self.risks[name][-1]

    def log_gain(self, name: str = "optimal", over: str = "constant") -> tuple[float, float]:
        """The logarithm of the ratio of exp<log risk>, and its standard error; nan from a single run."""
        each = self._independent(name, over)
        return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else nan

    def interval(self, name: str, over: str) -> tuple[float, float]:
        """The 95 % interval of that logarithm, by Student's t; a single run gives an infinite interval."""
        value, error = self.log_gain(name, over)
        freedom = len(self._independent(name, over)) - 1
        reach = error * float(stdtrit(freedom, 1 - _USUAL / 2)) if freedom else inf
        return value - reach, value + reach

    def _independent(self, name: str, over: str) -> Float[np.ndarray, " n"]:
        """Differences between two schedules, replica by replica, because all schedules share starts and samples.

        With several starts, these are the independent runs.
        """
        gained = np.log(self.ends(over)) - np.log(self.ends(name))
        return np.asarray(gained.mean(axis=1) if len(gained) > 1 else gained[0])

    @property
    def replicas(self) -> int:
        """The final risks of every schedule, over all starts."""
        return int(self.ends("optimal").size)

    def gain(self, name: str = "optimal", over: str = "constant") -> tuple[float, float]:
        """The same as a ratio."""
        log, error = self.log_gain(name, over)
        return float(np.exp(log)), float(np.exp(log) * error)

    def lost(self, name: str) -> float:
        """The share of replicas that diverged."""
        return float(np.mean(~np.isfinite(self.ends(name))))

    def in_words(self, name: str) -> str:
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
        value, error = self.gain(name)
        return f"{value:.3g} ± {error:.1g}" if isfinite(error) else f"{value:.3g}"

    def plain(self) -> dict[str, object]:
        """Mean, median and worst replica of every schedule, and its gain, as plain data."""
        return {"by": self.by, "dimension": self.dimension, "floor": self.floor} | {
            name: self._plain(name) for name in self.risks
        }

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
            value, error = self.gain(name)
            found["gain"] = {"value": value, "error": error}
        return found

    def dataset(self, samples: Float[np.ndarray, " t"]) -> xr.Dataset:
        """All risks with names."""
        stacked = np.stack(list(self.risks.values()))
        return xr.Dataset(
            {"risk": (("schedule", "samples", "start", "replica"), stacked)},
            {"schedule": list(self.risks), "samples": samples},
            {"description": self.by, "dimension": self.dimension, "floor": self.floor},
        )


def fresh_starts(sought: int, replicas: int) -> int:
    """From how many starts real SGD runs: errors are those over starts, which two or three starts do not give."""
    return sought if sought == 1 else max(sought, min(_STARTS, replicas))


def nearest(problem: OnePassProblem) -> str:
    """The experiment nearest to the user: their rows, else one that is exact in law, else SGD where that refuses the problem."""
    return next(name for name in BY if name == "sgd" or not why_not(BY[name], problem))


def _floor(problem: OnePassProblem) -> float:
    """Half of what a fitted teacher, or rows that were held out, leave of true labels, so that a risk cannot fall below 0."""
    pool = problem.spectrum.pool if problem.correlated else None
    if not problem.learns_labels or pool is None or (pool.held is None and problem.given_teachers is not None):
        return 0.0
    taught = model(problem).taught
    assert taught is not None
    return float(taught.Delta) / 2


def confirmed(
    hunt: Hunt,
    tried: Mapping[str, Tried],
    names: Sequence[str],
    one: AnyDescription,
    replicas: int,
    watch: PartWatcher,
) -> Confirmation:
    """Run real SGD under the named schedules, with the same samples from the same starts; drawn starts are new to the search."""
    starts, key, each = fresh_runs(hunt, one, replicas)
    found = {}
    for done, name in enumerate(names):
        watch(f"{one.name}: {name}", done / len(names))
        problem = hunt.problem_with(tried[name].numbers)
        found[name] = risks(problem, one, starts, hunt.course.grid, tried[name].written, key, each)
    floor = _floor(hunt.problem) if one.name == "rows" else 0.0
    return Confirmation(one.name, hunt.problem.dimension, {name: risk + floor for name, risk in found.items()}, floor)


def fresh_runs(hunt: Hunt, one: AnyDescription, replicas: int) -> tuple[list[object], jax.Array, int]:
    """Starts that are new to the search, the key of all random numbers, and the number of replicas from each start."""
    count = fresh_starts(len(hunt.starts), replicas)
    each = max(1, replicas // count)
    run = {"run.seed": hunt.problem.run.seed + 1, "run.replicas": count * each, "run.starts": count}
    fresh = hunt.problem.replace(**run)
    return starts_of(fresh, (one,)), own_key(fresh, one.title), each
