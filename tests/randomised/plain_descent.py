"""Multi-pass SGD on data sets in NumPy, all replicas side by side, written from docs/theory/dmft.md, section 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import dimfree as df

TASKS = ("two-clusters", "three-clusters", "linear-teacher", "sign-teacher", "phase-retrieval")
ROBUST = ("huber", "absolute", "insensitive")
LOSSES = ("logistic", "square", "smooth-hinge", "hinge", *ROBUST)


@dataclass(frozen=True)
class Descent:
    """One data-set problem in plain numbers."""

    task: str
    dimension: int
    samples: float
    loss: str = "square"
    rate: float = 0.1
    variance: float = 1.0
    threshold: float = 0.0
    middle: float = 0.0
    noise: float = 0.0
    scale: float = 0.25
    smoothing: float = 1.0  # also the threshold of Huber's loss, and half the width of the tube
    outliers: tuple[float, float, float] | None = None  # fraction, slope, variance
    fraction: float = 1.0
    persistence: float | None = None
    mean_gradient: bool = False
    decay: float = 0.0
    temperature: float = 0.0
    spherical: bool = False
    overlap: float = 0.0
    start_variance: float = 1.0

    def problem(self, **run: Any) -> df.extend.DataSetProblem:
        """The same in dimfree's words."""
        data: dict[str, Any] = {"kind": self.task, "samples": self.samples}
        if self.task in ("two-clusters", "three-clusters"):
            data["variance"] = self.variance
        else:
            data["noise"] = self.noise
        if self.outliers is not None:
            data["outliers"] = dict(zip(("fraction", "slope", "variance"), self.outliers, strict=True))
        if self.task == "three-clusters":
            data |= {"threshold": self.threshold, "middle_fraction": self.middle}
        if self.task == "phase-retrieval":
            data["scale"] = self.scale
        training = {
            "kind": "multi-pass",
            "learning_rate": self.rate,
            "loss": self.loss,
            "smoothing": self.smoothing,
            "threshold": self.smoothing,
            "tube": self.smoothing,
            "batch_fraction": self.fraction,
            "persistence": self.persistence,
            "gradient": "mean" if self.mean_gradient else "sum",
            "weight_decay": self.decay,
            "temperature": self.temperature,
            "spherical": self.spherical,
        }
        start = {"kind": "aligned", "overlap": self.overlap, "variance": self.start_variance}
        made = df.Problem(dimension=self.dimension, data=data, training=training, start=start, run=run)
        assert isinstance(made, df.extend.DataSetProblem)
        return made


def of_margin(one: Descent, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss of a margin, and its derivative."""
    match one.loss:
        case "logistic":
            return np.logaddexp(0, -u), -expit(-u)
        case "square":
            return (1 - u) ** 2 / 2, u - 1
        case "hinge":
            return np.maximum(1 - u, 0), -1.0 * (u < 1)
        case "huber":
            s, r = one.smoothing, 1 - u
            far = np.abs(r) > s
            return np.where(far, s * np.abs(r) - s**2 / 2, r**2 / 2), np.where(far, -s * np.sign(r), -r)
        case "absolute":
            return np.abs(1 - u), np.sign(u - 1)
        case "insensitive":
            r, s = 1 - u, one.smoothing
            return np.where(np.abs(r) > s, np.abs(r) - s, 0.0), np.where(r > s, -1.0, np.where(r < -s, 1.0, 0.0))
        case _:
            s = one.smoothing
            below, inside = u < 1 - s, (u >= 1 - s) & (u < 1)
            value = np.where(below, 1 - u - s / 2, np.where(inside, (1 - u) ** 2 / (2 * s), 0.0))
            return value, np.where(below, -1.0, np.where(inside, -(1 - u) / s, 0.0))


def loss_and_force(one: Descent, y: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lambda(y, h) and its derivative in h."""
    match one.task:
        case "phase-retrieval":
            return one.scale * (y**2 - h**2) ** 2, -4 * one.scale * h * (y**2 - h**2)
        case "linear-teacher":
            return of_margin(one, 1 - (y - h))
        case "three-clusters":
            value, slope = of_margin(one, y * (h**2 - one.threshold**2))
            return value, slope * 2 * y * h
        case _:
            value, slope = of_margin(one, y * h)
            return value, slope * y


def data(one: Descent, replicas: int, v: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (replica, M, N) and labels; v is the direction that matters, |v|² = N."""
    N, M = one.dimension, round(one.samples * one.dimension)
    z = rng.standard_normal((replicas, M, N))
    noise = np.sqrt(one.noise) * rng.standard_normal((replicas, M))
    zeta = z @ v / np.sqrt(N)
    match one.task:
        case "two-clusters":
            c = rng.choice([-1.0, 1.0], size=(replicas, M))
            return c[..., None] * v / np.sqrt(N) + np.sqrt(one.variance) * z, c
        case "three-clusters":
            c = rng.choice([-1.0, 1.0], size=(replicas, M)) * (rng.random((replicas, M)) >= one.middle)
            return c[..., None] * v / np.sqrt(N) + np.sqrt(one.variance) * z, np.where(c == 0, -1.0, 1.0)
        case "sign-teacher":
            return z, np.where(zeta + noise < 0, -1.0, 1.0)
        case _ if one.outliers is not None:
            fraction, slope, variance = one.outliers
            other = slope * zeta + np.sqrt(variance) * rng.standard_normal((replicas, M))
            return z, np.where(rng.random((replicas, M)) < fraction, other, zeta + noise)
        case _:
            return z, zeta + noise


def run(one: Descent, replicas: int, counts: list[int], rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """What is observed after so many steps, with names as in dimfree."""
    N = one.dimension
    v = rng.choice([-1.0, 1.0], size=N)  # every direction is as good
    x, y = data(one, replicas, v, rng)
    across = rng.standard_normal((replicas, N))
    across -= (across @ v)[:, None] * v / N
    w = one.overlap * v + across * np.sqrt(one.start_variance * N) / np.linalg.norm(across, axis=1)[:, None]
    radius = np.linalg.norm(w, axis=1, keepdims=True)
    inside = rng.random(y.shape) < one.fraction
    seen, done = [], 0
    for count in counts:
        for _ in range(done, count):
            h = np.einsum("rmn,rn->rm", x, w) / np.sqrt(N)
            force = np.where(inside, loss_and_force(one, y, h)[1], 0.0)
            gradient = np.einsum("rm,rmn->rn", force, x) / np.sqrt(N) / (one.fraction if one.mean_gradient else 1.0)
            w = w - one.rate * (one.decay * w + gradient)
            w = w + np.sqrt(2 * one.temperature * one.rate) * rng.standard_normal(w.shape)
            if one.spherical:
                w = w * radius / np.linalg.norm(w, axis=1, keepdims=True)
            inside = next_batch(one, inside, rng)
        done = count
        seen.append(observed(one, x, y, w, v))
    return seen


def next_batch(one: Descent, inside: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Drawn anew, or a sample outside enters after the mean time `persistence` and one inside leaves so that b is kept."""
    if one.persistence is None:
        return rng.random(inside.shape) < one.fraction
    enter = one.rate / one.persistence
    leave = enter * (1 - one.fraction) / one.fraction
    return np.where(inside, rng.random(inside.shape) >= leave, rng.random(inside.shape) < enter)


def observed(one: Descent, x: np.ndarray, y: np.ndarray, w: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """m, C(t,t), the training loss and accuracy, and the error on fresh noiseless samples."""
    N = one.dimension
    h, m, C = np.einsum("rmn,rn->rm", x, w) / np.sqrt(N), w @ v / N, np.sum(w**2, axis=1) / N
    seen = {"m": m, "C": C, "train_loss": loss_and_force(one, y, h)[0].mean(axis=1), "risk": error(one, m, C)}
    if one.task in ("two-clusters", "sign-teacher"):
        seen["train_accuracy"] = np.mean(y * h > 0, axis=1)
    if one.task == "three-clusters":
        seen["train_accuracy"] = np.mean((np.abs(h) > one.threshold) == (y > 0), axis=1)
    return seen


def error(one: Descent, m: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The part of fresh samples that is misclassified, or their mean loss: h is Gaussian of variance C times that of inputs."""
    match one.task:
        case "two-clusters":
            return norm.cdf(-m / np.sqrt(one.variance * C))
        case "three-clusters":
            spread = np.sqrt(one.variance * C)
            middle = 2 * norm.sf(one.threshold / spread)
            outer = norm.cdf((one.threshold - m) / spread) - norm.cdf((-one.threshold - m) / spread)
            return one.middle * middle + (1 - one.middle) * outer
        case "linear-teacher":
            return (1 - 2 * m + C) / 2
        case "sign-teacher":
            return np.arccos(m / np.sqrt(C)) / np.pi
        case _:  # E(zeta² - h²)², both Gaussian of variances 1 and C and covariance m
            return one.scale * (3 + 3 * C**2 - 2 * (C + 2 * m**2))


def drawn(task: str, dimension: int, rng: np.random.Generator, **fixed: Any) -> Descent:
    """Random numbers for a task, inside what is stable and admissible."""
    known = {"linear-teacher": ("square", *ROBUST), "phase-retrieval": ("logistic",)}
    loss = str(rng.choice(known.get(task, LOSSES)))
    spoiled = (float(rng.uniform(0.05, 0.6)), float(rng.uniform(-1, 1)), float(rng.uniform(0.0, 6.0)))
    choices: dict[str, Any] = {
        "loss": loss,
        "samples": float(rng.uniform(0.7, 3.0)),
        "variance": float(rng.uniform(0.1, 1.0)) if "clusters" in task else 1.0,
        "threshold": float(rng.uniform(0.3, 1.0)),
        "middle": float(rng.uniform(0.2, 0.7)),
        "noise": float(rng.choice([0.0, rng.uniform(0, 0.5)])) if "clusters" not in task else 0.0,
        "scale": float(rng.uniform(0.1, 0.3)),
        "smoothing": float(rng.uniform(0.3, 1.5)),
        "outliers": spoiled if task == "linear-teacher" and rng.random() < 0.5 else None,
        "fraction": float(rng.choice([1.0, rng.uniform(0.2, 0.9)])),
        "mean_gradient": bool(rng.random() < 0.3),
        "decay": float(rng.choice([0.0, rng.uniform(0, 0.5)])),
        "temperature": float(rng.choice([0.0, rng.uniform(0, 0.3)])),
        "spherical": bool(task == "phase-retrieval" or rng.random() < 0.3),
        "overlap": float(rng.uniform(-0.5, 0.8)),
        "start_variance": float(rng.uniform(0.3, 2.0)),
    }
    choices |= fixed
    steep = 1.0 if task != "three-clusters" else 0.5
    fraction = choices["fraction"]
    speed = choices["variance"] * (1 + choices["samples"]) ** 2 / (fraction if choices["mean_gradient"] else 1.0)
    if task == "phase-retrieval":
        choices["rate"] = float(rng.uniform(0.005, 0.02))
    else:
        choices["rate"] = float(steep * rng.uniform(0.1, 0.5) / (speed + 0.5))
    if fraction < 1 and rng.random() < 0.5:
        choices["persistence"] = float(choices["rate"] * max(1.0, (1 - fraction) / fraction) * rng.uniform(1.1, 6.0))
    return Descent(task=task, dimension=dimension, **choices)
