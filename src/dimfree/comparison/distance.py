"""How far an account is from real SGD: in standard errors, in per cent, and as a verdict."""

from typing import NamedTuple

import numpy as np
import xarray as xr

HOLDS, ROUGHLY = 5.0, 25.0  # mean deviation in per cent


class Distance(NamedTuple):
    """One account against the reference, on the risk curve."""

    final_risk: float
    final_error: float  # standard error over replicas, 0 for a deterministic theory
    final_sigmas: float  # deviation at the last time in joint standard errors
    final_percent: float
    mean_percent: float  # mean over the saved times
    worst_percent: float
    worst_time: float

    @property
    def verdict(self) -> str:
        """Whether the account holds here."""
        if self.mean_percent <= HOLDS:
            return "holds"
        return "holds roughly" if self.mean_percent <= ROUGHLY else "does not hold"


def distance(account: xr.Dataset, reference: xr.Dataset) -> Distance:
    """The distance between two risk curves on the same times."""
    mean, error = _mean_and_error(account["risk"].values)
    mean_ref, error_ref = _mean_and_error(reference["risk"].values)
    joint = np.hypot(error, error_ref)
    sigmas = (mean - mean_ref) / np.where(joint > 0, joint, np.inf)
    percent = 100 * (mean - mean_ref) / mean_ref
    worst = int(np.argmax(np.abs(percent)))
    return Distance(
        final_risk=float(mean[-1]),
        final_error=float(error[-1]),
        final_sigmas=float(sigmas[-1]),
        final_percent=float(percent[-1]),
        mean_percent=float(np.mean(np.abs(percent))),
        worst_percent=float(percent[worst]),
        worst_time=float(account["time"].values[worst]),
    )


def _mean_and_error(risk: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> tuple["np.ndarray", "np.ndarray"]:
    replicas = risk.shape[1]
    spread = risk.std(axis=1, ddof=1) if replicas > 1 else np.zeros(len(risk))
    return risk.mean(axis=1), spread / np.sqrt(replicas)
