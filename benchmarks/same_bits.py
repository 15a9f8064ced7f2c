"""Whether two states of the sources give the same numbers, bit for bit: python benchmarks/same_bits.py OLD NEW [CASE ...].

OLD and NEW are checkouts, for example a commit before a refactoring that `git worktree add ../old COMMIT` puts beside the
present one. Small problems over all settings, kinds of data, training rules and losses are solved and simulated with the
sources of each, in a process of its own and without kept programs. What is compared is the digest of every problem, and every
array of every account. Lines name the accounts that differ, and by how much; the exit code is 1 if any does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Keys = dict[str, Any]

RUN = {"until": 1.0, "points": 4, "spacing": "linear", "replicas": 2}
LEVELS = {"kind": "levels", "values": [2.5, 0.5], "shares": [0.4, 0.6], "normalise": False}
SIGNS: Keys = {"labels": "sign", "noise": 0.0, "flip": 0.1}
LINEAR: Keys = {"data.activation": "linear", "network.activation": "linear"}
PAIR: Keys = {"network.width": 2, "data.units": 1}


class Case(NamedTuple):
    """Keys of a problem, and the accounts that are asked for."""

    dimension: int
    keys: Keys
    accounts: str


def data(**keys: Any) -> Keys:
    """Keys of [data]."""
    return {f"data.{key}": value for key, value in keys.items()}


def training(**keys: Any) -> Keys:
    """Keys of [training]."""
    return {f"training.{key}": value for key, value in keys.items()}


def trained(*parts: str) -> Keys:
    """What is trained beside the first layer."""
    return {"network.trained": ["first-layer", *parts]}


CASES = {
    # one pass: kinds of data
    "teacher": Case(100, {}, "sgd chain ode gradient-flow mean-field dimensionless diffusion"),
    "relu teacher": Case(
        100,
        {"network.activation": "relu", **data(activation="relu"), **trained("second-layer"), **training(batch=4)},
        "sgd chain ode dimensionless",
    ),
    "multi-index": Case(
        100,
        {**data(kind="multi-index", link="staircase-2"), "network.activation": "square", **training(learning_rate=0.1)},
        "sgd chain ode",
    ),
    "covariance": Case(100, data(covariance=LEVELS), "sgd chain ode gradient-flow"),
    "covariance, linear": Case(
        100, {**LINEAR, **data(covariance=LEVELS), **training(learning_rate=0.2)}, "ode linear-mean"
    ),
    "close eigenvalues": Case(400, {**PAIR, **data(covariance={"kind": "power", "exponent": 1e-6})}, "binned-chain"),
    "rows": Case(61, {**data(covariance={"file": "digits"}), **training(learning_rate=0.2)}, "sgd rows"),
    "hidden manifold": Case(30, data(kind="hidden-manifold", latent=15), "sgd ode"),
    "two Gaussians": Case(12, {**data(kind="two-gaussians"), "network.width": 20}, "sgd pde"),
    "two Gaussians, noise": Case(
        12,
        {
            **data(kind="two-gaussians"),
            "network.width": 20,
            **training(inverse_temperature=30.0, weight_decay=0.1),
        },
        "sgd pde",
    ),
    "hypercube": Case(
        20,
        {**data(kind="hypercube"), "network.width": 20, **training(learning_rate=20.0, batch=5)},
        "sgd pde pde-own-start",
    ),
    "clusters": Case(100, {**data(kind="clusters"), "network.width": 2}, "sgd chain ode gradient-flow"),
    "clusters, logistic": Case(
        100, {**data(kind="clusters"), "network.width": 2, **training(loss="logistic", batch=2)}, "sgd chain ode"
    ),
    "power law": Case(
        24,
        {**data(kind="power-law", inputs=200), **training(learning_rate=0.1, batch=4)},
        "sgd sgd-eigenbasis projected-mean equivalent",
    ),
    "projected table": Case(
        16,
        {**data(kind="projected", covariance={"file": "digits", "labels": "target"}), **training(learning_rate=0.3)},
        "projected-rows projected-mean",
    ),
    # one pass: training rules
    "sphere, schedule": Case(
        100,
        {**training(spherical=True, schedule={"kind": "power", "scale": 5.0}), "start.kind": "sphere"},
        "sgd chain ode",
    ),
    "momentum": Case(100, training(momentum=0.6, learning_rate=0.4, nesterov=True), "sgd chain ode"),
    "momentum, covariance": Case(
        100, {**data(covariance=LEVELS), **training(momentum=0.6, learning_rate=0.4)}, "sgd chain ode"
    ),
    "offsets, decay": Case(
        60, {**trained("bias"), "network.bias_start": 0.2, **training(weight_decay=0.5, batch=2)}, "sgd"
    ),
    # one pass: losses and labels
    "logistic, flips": Case(
        100,
        {**PAIR, **data(**SIGNS), **training(loss="logistic"), **trained("second-layer")},
        "sgd chain ode gradient-flow",
    ),
    "hinge, logistic labels": Case(
        100, {**PAIR, **data(labels="logistic", noise=0.0, slope=2.0), **training(loss="hinge")}, "sgd chain ode"
    ),
    "perceptron": Case(
        100,
        {
            **LINEAR,
            "network.width": 1,
            **data(units=1, labels="sign", noise=0.0),
            **training(loss={"kind": "hinge", "margin": 0.0}),
        },
        "chain ode",
    ),
    "Huber, Student": Case(
        100,
        {**PAIR, **data(noise=0.2, noise_law={"student": 3.0}), **training(loss={"kind": "huber", "threshold": 0.5})},
        "sgd chain ode",
    ),
    "absolute, covariance": Case(
        100, {**PAIR, **data(noise=0.2, covariance=LEVELS), **training(loss="absolute")}, "sgd chain ode"
    ),
    "exponential, probit": Case(
        100,
        {**PAIR, **data(labels="sign", noise=0.3), **training(loss="exponential", learning_rate=0.3)},
        "sgd chain ode",
    ),
    "clipped norms": Case(
        100, {**PAIR, **data(**SIGNS), **training(loss="logistic", clip={"norm": 0.2}, batch=2)}, "sgd chain"
    ),
    "fixed points": Case(
        100,
        {"network.width": 2, **data(units=3, **SIGNS), **training(loss="logistic")},
        "chain ode",
    ),
    "fixed points, hinge": Case(
        100, {"network.width": 2, **data(units=3, **SIGNS), **training(loss="hinge")}, "chain ode"
    ),
    "cross-entropy": Case(
        100,
        {
            "network.width": 2,
            "network.outputs": 3,
            "network.second_layer_start": [[2.0, -1.0], [-1.0, 1.5], [0.3, 0.4]],
            **trained("second-layer"),
            **data(units=2, labels="argmax", noise=0.0, second_layer=[[1, 0], [0, 1], [-1, -0.5]]),
            **training(loss="cross-entropy"),
        },
        "sgd chain ode",
    ),
    # data sets
    "two clusters": Case(100, {**data(kind="two-clusters"), **training(weight_decay=1.0)}, "multi-pass dmft static"),
    "two clusters, square": Case(
        100, {**data(kind="two-clusters"), **training(loss="square", batch_fraction=0.4)}, "multi-pass dmft"
    ),
    "three clusters": Case(100, data(kind="three-clusters"), "multi-pass dmft"),
    "phase retrieval": Case(60, data(kind="phase-retrieval"), "multi-pass dmft"),
    "sign teacher": Case(
        60, {**data(kind="sign-teacher"), **training(weight_decay=0.1)}, "multi-pass dmft fitted static"
    ),
    "Huber, outliers": Case(
        60,
        {
            **data(kind="linear-teacher", noise=0.5, outliers={"fraction": 0.3, "slope": 0.25}),
            **training(loss="huber", threshold=0.8, weight_decay=0.3, learning_rate=0.1),
        },
        "multi-pass dmft fitted static",
    ),
    "covariates": Case(60, {**data(kind="covariates"), **training(weight_decay=0.03)}, "fitted static bayes-optimal"),
    "margins": Case(60, {**data(kind="covariates"), **training(loss="hinge")}, "max-margin"),
    "random features": Case(60, {**data(kind="random-features"), **training(weight_decay=0.1)}, "fitted static"),
    # networks on data sets, and on given points
    "network on data": Case(
        60,
        {**training(kind="multi-pass", batch_fraction=0.5), **PAIR, **data(samples=2.0, noise=0.01)},
        "multi-pass dmft",
    ),
    "linear network on data": Case(
        60,
        {**training(kind="multi-pass", learning_rate=0.3), **PAIR, **LINEAR, **data(samples=2.0, noise=0.01)},
        "multi-pass dmft",
    ),
    "points": Case(
        6,
        {**data(kind="drawn-points", samples=8), "network.width": 100, "network.output_scale": 1.0},
        "network-flow linearised infinite-width",
    ),
}


def problem_of(case: Case) -> Any:
    """The problem of a case, with the sources that this process imports."""
    import dimfree as df

    return df.Problem(dimension=case.dimension, run=RUN).replace(**case.keys)


def numbers(names: list[str]) -> dict[str, np.ndarray]:
    """All arrays of these cases, by case, account and observable, with the sources that this process imports."""
    import dimfree as df

    warnings.simplefilter("ignore")  # of theories that warn about their own accuracy
    found: dict[str, np.ndarray] = {}
    for name in names:
        case = CASES[name]
        problem = problem_of(case)
        found[f"{name}|problem|digest"] = np.frombuffer(problem.digest.encode(), dtype=np.uint8)
        for account in case.accounts.split():
            real = df.descriptions()[account].real
            try:
                seen = (df.simulate if real else df.solve)(problem, account)
            except df.DimfreeError as refusal:  # older sources may not have had this account yet
                print(f"{name}, {account}: {refusal}", file=sys.stderr)
                continue
            found |= {f"{name}|{account}|{key}": np.asarray(values) for key, values in seen.variables.items()}
        print(name, file=sys.stderr, flush=True)
    return {key: values for key, values in found.items() if values.dtype.kind in "fiub"}


def measured(sources: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The same with the sources of a checkout, in a process of its own."""
    if not (sources / "src" / "dimfree").is_dir():
        sys.exit(f"{sources} is not a checkout of dimfree: it has no src/dimfree.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "numbers.npz"
        environment = os.environ | {"PYTHONPATH": str(sources.resolve() / "src"), "XDG_CACHE_HOME": folder}
        subprocess.run([sys.executable, __file__, "--write", str(file), *names], env=environment, check=True)
        with np.load(file) as written:
            return dict(written)


def apart(one: np.ndarray | None, other: np.ndarray | None) -> str | None:
    """How two arrays differ, as the end of a sentence; None if they are equal to the last bit."""
    if one is None or other is None:
        return "is only in the old sources" if other is None else "is only in the new sources"
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return f"is {one.dtype} {one.shape} and {other.dtype} {other.shape}"
    if one.tobytes() == other.tobytes():
        return None
    if one.dtype.kind != "f":
        return "is another"
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return "is finite at other places"
    finite = np.isfinite(one)
    largest = np.max(np.abs(one - other)[finite], initial=0.0) / np.max(np.abs(one[finite]), initial=1e-300)
    return f"differs by {largest:.1e} of its largest value"


def compared(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> int:
    """Print what differs, one line for each account, and how many arrays are equal; the number of those that are not."""
    lines: dict[str, list[str]] = {}
    keys = [*old, *(key for key in new if key not in old)]
    for key in keys:
        case, account, name = key.split("|")
        if (words := apart(old.get(key), new.get(key))) is not None:
            lines.setdefault(f"{case}, {account}", []).append(f"{name} {words}")
    for account, found in lines.items():
        print(f"{account}: {'; '.join(found)}")
    different = sum(map(len, lines.values()))
    cases = {key.split("|")[0] for key in keys}
    print(f"{len(keys) - different} of {len(keys)} arrays of {len(cases)} problems are equal bit for bit.")
    return different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of: {'; '.join(CASES)}")
    if sys.argv[1:2] == ["--write"]:
        np.savez(sys.argv[2], **numbers(sys.argv[3:]))
        return 0
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.cases if name not in CASES]:
        parser.error(f"there is no case {unknown[0]!r}; choose from: {'; '.join(CASES)}")
    names = arguments.cases or [*CASES]
    return int(compared(measured(arguments.old, names), measured(arguments.new, names)) > 0)


if __name__ == "__main__":
    sys.exit(main())
