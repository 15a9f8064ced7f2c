"""One-pass SGD in NumPy, sample after sample on vectors, in the words of a problem; nothing of dimfree's numbers is used."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.polynomial import hermite_e
from plain_functions import Plain

ALL = ("first-layer", "bias", "second-layer")
FRONT: dict[str, Callable[[int], float]] = {"mean": lambda n: 1 / n, "sqrt": lambda n: n**-0.5, "sum": lambda n: 1.0}
Label = Callable[[np.ndarray], np.ndarray]  # of the teacher's preactivations (..., k)


@dataclass(frozen=True)
class Rule:
    """A training rule as docs/problem.md tells it, for a student of `width` units in `dimension`."""

    sigma: Plain
    width: int
    dimension: int
    label: Label | None = None  # none: two Gaussians
    noise: float = 0.0
    rate: float = 1.0
    batch: int = 1
    scaling: str = "mean"
    trained: tuple[str, ...] = ("first-layer",)
    decay: float = 0.0
    second_decay: float = 0.0
    second_rate: float = 1.0
    spherical: bool = False
    temperature: float = 0.0
    schedule: dict[str, Any] = field(default_factory=dict)
    everything_scheduled: bool = False
    contrast: float = 0.0
    signal: int = 0

    @property
    def front(self) -> float:
        """What stands before the sum over units."""
        return FRONT[self.scaling](self.width)

    @property
    def time_step(self) -> float:
        """Of one step."""
        return self.rate / (self.width * self.dimension)

    def factor(self, t: float) -> float:
        """On the rate at time t."""
        given = self.schedule
        match given.get("kind"):
            case "linear":
                return float(np.interp(t, given["times"], given["factors"]))
            case "cosine" if t < given["warm_up"]:
                return given["top"] * t / given["warm_up"]
            case "cosine":
                share = min(1.0, (t - given["warm_up"]) / (given["until"] - given["warm_up"]))
                return given["end"] + (given["top"] - given["end"]) * float(1 + np.cos(np.pi * share)) / 2
            case "hold-power":
                return given["top"] * max(1.0, t / given["hold"]) ** -given["exponent"]
            case "power":
                return (1 + t / self.schedule["scale"]) ** -self.schedule["exponent"]
            case "exponential":
                return float(np.exp(-t / self.schedule["scale"]))
            case "steps":
                passed = sum(t >= time * (1 - 1e-9) for time in self.schedule["times"])
                return [1.0, *self.schedule["factors"]][passed]
            case _:
                return 1.0


def committee(g: Plain, a: np.ndarray, scaling: str) -> Label:
    """Labels of a teacher network."""
    return lambda u: FRONT[scaling](len(a)) * g.value(u) @ a


def hermite_link(terms: list[list[int]], coefficients: list[float]) -> Label:
    """Labels that are a sum of products of Hermite polynomials."""

    def label(u: np.ndarray) -> np.ndarray:
        total = np.zeros(u.shape[:-1])
        for term, c in zip(terms, coefficients, strict=True):
            product = np.full(u.shape[:-1], c)
            for r, degree in enumerate(term):
                product = product * hermite_e.hermeval(u[..., r], [0.0] * degree + [1.0])
            total = total + product
        return total

    return label


@dataclass
class Students:
    """Weights (replica, p, d), offsets and second layers (replica, p), the latter as the user writes them."""

    W: np.ndarray
    b: np.ndarray
    a: np.ndarray


def samples(rule: Rule, W_star: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Fresh inputs (count, batch, d) and their labels."""
    n, d = rule.batch, rule.dimension
    x = rng.standard_normal((count, n, d)) / np.sqrt(d)
    if rule.label is None:
        y = rng.choice([-1.0, 1.0], size=(count, n))
        x[..., : rule.signal] *= 1 + rule.contrast * y[..., None]
        return x, y
    return x, rule.label(x @ W_star.T) + np.sqrt(rule.noise) * rng.standard_normal((count, n))


def step(rule: Rule, now: Students, norms: np.ndarray, x: np.ndarray, y: np.ndarray, t: float, rng) -> Students:
    """One step of every replica on its own batch."""
    rate, dt = rule.rate * rule.factor(t), rule.time_step
    others = rule.factor(t) if rule.everything_scheduled else 1.0
    gradient_W, gradient_b, gradient_a = np.zeros_like(now.W), np.zeros_like(now.b), np.zeros_like(now.a)
    for n in range(rule.batch):
        u = np.einsum("rpd,rd->rp", now.W, x[:, n]) + now.b
        value = rule.sigma.value(u)
        error = y[:, n] - rule.front * np.sum(now.a * value, axis=1)
        pull = rule.front * now.a * rule.sigma.slope(u) * error[:, None] / rule.batch
        gradient_W += pull[:, :, None] * x[:, n, None, :]
        gradient_b += pull
        gradient_a += rule.front * value * error[:, None] / rule.batch
    W = (1 - rule.decay * dt * others) * now.W + rate * gradient_W
    b = (1 - rule.decay * dt * others) * now.b + rate / rule.dimension * gradient_b
    a = (1 - rule.second_decay * dt * others) * now.a + rule.second_rate * rate / rule.dimension * gradient_a
    if rule.temperature:
        shake = np.sqrt(2 * rule.temperature * dt * others)
        W = W + shake * np.sqrt(rule.dimension) * rng.standard_normal(W.shape)
        b = b + shake * rng.standard_normal(b.shape)
        a = a + shake / (rule.width * rule.front) * rng.standard_normal(a.shape)
    if rule.spherical:
        W = W * (norms / np.linalg.norm(W, axis=2))[:, :, None]
    learns = rule.trained
    return Students(
        W if "first-layer" in learns else now.W,
        b if "bias" in learns else now.b,
        a if "second-layer" in learns else now.a,
    )


def observed(rule: Rule, W_star: np.ndarray, now: Students) -> dict[str, np.ndarray]:
    """As dimfree names it; the second layer in the scaling `mean`."""
    d = rule.dimension
    seen = {"a": rule.width * rule.front * now.a, "bias": now.b}
    if rule.label is None:
        squares = now.W**2 / d
        parts = squares[..., : rule.signal], squares[..., rule.signal :]
        return seen | {name: np.sqrt(part.sum(axis=2)) for name, part in zip(("r1", "r2"), parts, strict=True)}
    return seen | {"Q": now.W @ np.swapaxes(now.W, 1, 2) / d, "M": now.W @ W_star.T / d}


def run(
    rule: Rule, start: Students, W_star: np.ndarray, counts: list[int], rng: np.random.Generator
) -> Iterator[Students]:
    """The replicas after so many steps each."""
    now, norms, done = start, np.linalg.norm(start.W, axis=2), 0
    for count in counts:
        for number in range(done, count):
            x, y = samples(rule, W_star, len(now.a), rng)
            now = step(rule, now, norms, x, y, number * rule.time_step, rng)
        done = count
        yield now


def risks(rule: Rule, W_star: np.ndarray, now: Students, count: int, rng: np.random.Generator) -> np.ndarray:
    """An unbiased estimate of every replica's risk from `count` samples of its own, without the noise floor."""
    fresh = Rule(**{**rule.__dict__, "batch": count, "noise": 0.0})
    found = np.empty(len(now.a))
    for r in range(len(found)):
        x, y = (part[0] for part in samples(fresh, W_star, 1, rng))
        f = rule.front * rule.sigma.value(x @ now.W[r].T + now.b[r]) @ now.a[r]
        found[r] = 0.5 * np.mean((y - f) ** 2)
    return found
