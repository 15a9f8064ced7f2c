"""How far Gaussian inputs of the same covariance are from rows of digits: python benchmarks/own_rows.py writes own_rows.json.

Real SGD on rows over real SGD on Gaussians, from the same starts and teachers; errors of the ratios by leaving out one start.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import dimfree as df

TIMES = (0.0, 0.4, 2.0, 5.0, 10.0, 20.0)
STARTS, RUNS, FEW = 24, 2, 100
DIVERGED = 1e6
NETWORKS = {
    "linear, 0.2": ("linear", 1, 0.2),
    "erf 2/2, 0.5": ("erf", 2, 0.5),
    "ReLU 2/2, 0.5": ("relu", 2, 0.5),
}


def main() -> None:
    """Measure all rows of the table."""
    digits = load_digits().data
    tables = {
        "digits, one scale": ("digits", "common"),
        "digits, a scale for each pixel": ("digits", "each"),
        f"the first {FEW} digits, one scale": (digits[:FEW], "common"),
    }
    found = {
        table: {network: ratios(*given, *sizes) for network, sizes in NETWORKS.items()}
        for table, given in tables.items()
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({"times": TIMES, "starts": STARTS, "ratios": found}, indent=1) + "\n", encoding="utf-8")


def ratios(rows: Any, scale: Any, activation: str, width: int, rate: float) -> list[dict[str, float | None]]:
    """At each time the ratio of mean risks, its standard error, and the range over single starts."""
    problem = df.Problem(
        data=df.Teacher(
            units=width, activation=activation, noise=0.01, covariance=df.Covariance.features(rows, scale=scale)
        ),
        network=df.TwoLayer(width=width, activation=activation),
        training=df.OnePass(learning_rate=rate),
        start=df.GaussianStart(scale=1.0),
        run=df.Run(until=TIMES[-1], points=101, spacing="linear", starts=STARTS, replicas=RUNS * STARTS),
    )
    real, gaussian = (mean_risks(problem, name) for name in ("rows", "sgd"))
    return [ratio(a, b) for a, b in zip(real, gaussian, strict=True)]


def mean_risks(problem: Any, name: str) -> Any:
    """At each time and for each start, the mean over its runs."""
    risk = df.simulate(problem, by=name)["risk"].sel(time=list(TIMES), method="nearest")
    return risk.groupby("start").mean().transpose("time", "start").values


def ratio(real: np.ndarray, gaussian: np.ndarray) -> dict[str, float | None]:
    """Of two sums over the same starts, with its error by leaving out one start; no numbers after SGD has diverged."""
    if not (np.isfinite(real).all() and real.sum() < DIVERGED * gaussian.sum()):
        return dict.fromkeys(("mean", "error", "lowest", "highest"))
    without = (real.sum() - real) / (gaussian.sum() - gaussian)
    error = np.sqrt((len(real) - 1) * without.var())
    single = real / gaussian
    found = {"mean": real.sum() / gaussian.sum(), "error": error, "lowest": single.min(), "highest": single.max()}
    return {name: float(number) for name, number in found.items()}


if __name__ == "__main__":
    main()
