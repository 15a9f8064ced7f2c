"""Random problems of fresh samples, told twice: to dimfree in its words, and to the plain SGD of these tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from plain_functions import Plain, function
from plain_sgd import ALL, Label, Rule, committee, hermite_link

import dimfree as df

LINKS = [[[1, 0], [1, 1]], [[0, 2], [1, 0]], [[1], [2]], [[1, 1, 1], [1, 0, 0]], [[2, 1]], [[1, 0], [0, 1], [1, 1]]]
SCHEDULES = ("none", "power", "exponential", "steps", "linear", "cosine", "hold-power")


@dataclass(frozen=True)
class Structure:
    """What is compiled: shapes, functions, and which parts of the rule there are; numbers are drawn for it many times."""

    sigma: Plain
    width: int
    g: Plain | None  # none: Hermite products
    units: int
    terms: tuple[tuple[int, ...], ...] = ()
    batch: int = 1
    trained: tuple[str, ...] = ("first-layer",)
    spherical: bool = False
    schedule: str = "none"
    everything: bool = False
    scaling: str = "mean"
    teacher_scaling: str = "mean"
    two_gaussians: bool = False
    noisy: bool = False
    names: str = ""


@dataclass(frozen=True)
class Drawn:
    """One problem in both languages. P are the teacher's overlaps, a is the second layer as the user writes it."""

    problem: df.extend.OnePassProblem
    rule: Rule
    P: np.ndarray
    a: np.ndarray
    bias: float = 0.0


def structure(
    rng: np.random.Generator, sigma: str, g: str | None, width: int, units: int, names: str = "", **fixed: Any
) -> Structure:
    """A random structure around these functions and sizes; without g a Hermite link of at most so many directions."""
    one = function(sigma, rng)
    terms: tuple[tuple[int, ...], ...] = ()
    if g is None and not fixed.get("two_gaussians"):
        few = [link for link in LINKS if len(link[0]) <= units]
        terms = tuple(tuple(term) for term in few[rng.integers(len(few))])
        units = len(terms[0])
    choices: dict[str, Any] = {
        "batch": int(rng.integers(1, 9)) if rng.random() < 0.5 else 1,
        "trained": ("first-layer", "second-layer") if rng.random() < 0.5 else ("first-layer",),
        "spherical": bool(rng.random() < 0.3),
        "schedule": str(rng.choice(SCHEDULES)),
        "scaling": str(rng.choice(["mean", "sqrt", "sum"])),
        "teacher_scaling": str(rng.choice(["mean", "sqrt", "sum"])),
    }
    teacher = (one if g == sigma else function(g, rng)) if g else None
    label = names or f"{sigma}/{g or terms or 'two Gaussians'}"
    return Structure(one, width, teacher, units, terms, names=label, **{**choices, **fixed})


def covariance(rng: np.random.Generator, n: int, rank: int | None = None) -> np.ndarray:
    """A random correlation matrix, of random strength of correlation."""
    rows = rng.normal(size=(n, rank or n)) + (rng.normal(size=(1, rank or n)) * rng.choice([0.0, 1.0]))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def draw(
    rng: np.random.Generator,
    one: Structure,
    dimension: int,
    rate: tuple[float, float] = (0.1, 3.0),
    start: dict[str, Any] | None = None,
    **run: Any,
) -> Drawn:
    """Numbers for a structure; `start` is the section of dimfree's problem, by default whatever is default there."""
    p, k = one.width, one.units
    a = rng.normal(size=p) + rng.choice([0.0, 1.0])
    bias = float(rng.normal(scale=0.5)) if "bias" in one.trained else 0.0
    numbers = {
        "rate": float(np.exp(rng.uniform(*np.log(rate)))) / {"mean": 1.0, "sqrt": p**0.5, "sum": p}[one.scaling],
        "decay": float(rng.choice([0.0, rng.uniform(0, 2)])),
        "second_decay": float(rng.choice([0.0, rng.uniform(0, 2)])),
        "second_rate": float(np.exp(rng.uniform(-1, 1))),
        "temperature": float(rng.uniform(0.1, 1.0)) if one.noisy else 0.0,
        "schedule": _schedule(rng, one.schedule),
    }
    label: Label | None = None
    P, noise, contrast, signal = np.eye(k), float(rng.choice([0.0, rng.uniform(0, 1)])), 0.0, 0
    data: dict[str, Any]
    if one.two_gaussians:
        contrast, signal = float(rng.uniform(0.2, 0.9)), int(rng.integers(1, dimension + 1))
        data = {"kind": "two-gaussians", "contrast": contrast, "signal": signal}
    elif one.g is None:
        c = rng.normal(size=len(one.terms)).tolist()
        data = {"kind": "multi-index", "terms": one.terms, "coefficients": c, "noise": noise}
        label = hermite_link([list(term) for term in one.terms], c)
    else:
        a_star = rng.normal(size=k) + rng.choice([0.0, 1.0])
        norms = np.exp(rng.uniform(-1, 1, size=k))
        P = covariance(rng, k) * np.sqrt(np.outer(norms, norms))
        data = {"kind": "teacher", "units": k, "activation": one.g.written, "second_layer": tuple(a_star.tolist())}
        data |= {"overlap": tuple(map(tuple, P.tolist())), "scaling": one.teacher_scaling, "noise": noise}
        label = committee(one.g, a_star, one.teacher_scaling)
    rule = Rule(
        sigma=one.sigma,
        width=p,
        dimension=dimension,
        label=label,
        noise=noise if not one.two_gaussians else 0.0,
        batch=one.batch,
        scaling=one.scaling,
        trained=one.trained,
        spherical=one.spherical,
        everything_scheduled=one.everything,
        contrast=contrast,
        signal=signal,
        **numbers,
    )
    problem = df.Problem(
        dimension=dimension,
        data=data,
        network={
            "width": p,
            "activation": one.sigma.written,
            "trained": one.trained,
            "second_layer_start": tuple(a.tolist()),
            "bias_start": bias,
            "scaling": one.scaling,
        },
        training={
            "kind": "one-pass",
            "learning_rate": rule.rate,
            "batch": one.batch,
            "weight_decay": rule.decay,
            "second_layer_decay": rule.second_decay,
            "second_layer_rate": rule.second_rate,
            "spherical": one.spherical,
            "schedule": rule.schedule or None,
            "scheduled": "everything" if one.everything else "gradient",
            "inverse_temperature": 1 / rule.temperature if one.noisy else None,
        },
        **({"start": start} if start else {}),
        **({"run": run} if run else {}),
    )
    assert isinstance(problem, df.extend.OnePassProblem)
    return Drawn(problem, rule, P, a, bias)


def _schedule(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    match kind:
        case "power":
            return {"kind": kind, "scale": float(rng.uniform(0.1, 2)), "exponent": float(rng.uniform(0.2, 1))}
        case "exponential":
            return {"kind": kind, "scale": float(rng.uniform(0.2, 3))}
        case "steps":
            return {"kind": kind, "times": (0.05, 0.4), "factors": tuple(rng.uniform(0.1, 1.5, size=2).tolist())}
        case "linear":
            return {"kind": kind, "times": (0.05, 0.4), "factors": tuple(rng.uniform(0.1, 1.5, size=2).tolist())}
        case "cosine":
            return {"kind": kind, "until": 0.7, "warm_up": 0.1, "top": float(rng.uniform(0.3, 1.5)), "end": 0.1}
        case "hold-power":
            return {"kind": kind, "hold": 0.2, "exponent": float(rng.uniform(0.5, 3)), "top": 0.8}
        case _:
            return {}


def parts(rng: np.random.Generator) -> tuple[str, ...]:
    """A random choice of what learns, at least one of all."""
    chosen = tuple(part for part in ALL if rng.random() < 0.6)
    return chosen or ALL
