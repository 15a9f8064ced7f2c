"""The written schema of results: names, dimensions, units and meanings (docs/results.md is made from this table)."""

from typing import NamedTuple


class Variable(NamedTuple):
    """One observable as it is stored."""

    dims: tuple[str, ...]
    units: str
    meaning: str


VARIABLES: dict[str, Variable] = {
    "risk": Variable(
        ("time", "replica"),
        "1",
        "population risk E[(f* - f)²]/2 without the noise floor; on data sets the mean error on fresh samples",
    ),
    "Q": Variable(("time", "replica", "unit", "unit_"), "1", "overlaps between students, W Wᵀ/d"),
    "M": Variable(("time", "replica", "unit", "teacher"), "1", "overlaps between students and teachers, W W*ᵀ/d"),
    "a": Variable(("time", "replica", "unit"), "1", "second layer in the canonical scaling"),
    "Q_diagonal": Variable(
        ("time", "replica", "unit"), "1", "squared norms of the students, stored when Q is too large"
    ),
    "m": Variable(("time", "replica"), "1", "overlap w.v/d with the direction that matters"),
    "C": Variable(("time", "replica", "time_"), "1", "overlap w(t).w(t')/d of the weights at two times"),
    "R": Variable(("time", "replica", "time_"), "1", "response tr(dw(t)/dw(t' + step))/d of the weights"),
    "K": Variable(
        ("time", "replica", "time_"), "1", "response of the force on one sample to a shift of its preactivation"
    ),
    "lambda_hat": Variable(("time", "replica"), "1", "effective regularisation of the weights"),
    "M_R": Variable(("time", "replica", "time_"), "1", "memory kernel of the continuous-time equations, t' < t"),
    "M_C": Variable(("time", "replica", "time_"), "1", "correlation of the noise on the weights"),
    "train_loss": Variable(("time", "replica"), "1", "mean loss over the data set, without weight decay"),
    "bias": Variable(("time", "replica", "unit"), "1", "offsets b of the neurons"),
    "r1": Variable(
        ("time", "replica", "unit"), "1", "norms of the first layer in the coordinates that tell classes apart"
    ),
    "r2": Variable(("time", "replica", "unit"), "1", "norms of the first layer in all other coordinates"),
    "train_accuracy": Variable(("time", "replica"), "1", "part of the data set that is classified correctly"),
}

ATTRIBUTES: dict[str, str] = {
    "description": "which account this is",
    "problem": "the problem as TOML",
    "digest": "content hash of the problem",
    "seed": "seed of the run",
    "cpu_seconds": "CPU time of the run, compilation included",
    "wall_seconds": "wall time of the run, compilation included",
    "created_at": "UTC, ISO 8601",
    "dimfree_version": "version of dimfree",
    "jax_version": "version of jax",
    "python_version": "version of Python",
    "platform": "operating system, machine and jax backend",
    "cites": "keys into references.bib",
}

LARGEST_ARRAY = 20_000_000  # entries; Q over all times and replicas above this is stored as its diagonal
