"""Networks trained on data sets in NumPy, all replicas side by side, written from docs/theory/committee-dmft.md, section 1."""

import numpy as np
from scipy.special import erf, expit

import dimfree as df

UNITS = {
    "erf": (lambda h: erf(h / 2**0.5), lambda h: (2 / np.pi) ** 0.5 * np.exp(-(h**2) / 2)),
    "relu": (lambda h: np.maximum(h, 0), lambda h: 1.0 * (h > 0)),
    "tanh": (np.tanh, lambda h: 1 - np.tanh(h) ** 2),
}


def loss_and_slope(problem: df.extend.NetworkProblem, F: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """l(F, y) and its derivative in F."""
    match problem.training.loss:
        case "square":
            return (F - y) ** 2 / 2, F - y
        case "huber":
            limit, r = problem.training.threshold, F - y
            far = np.abs(r) > limit
            return np.where(far, limit * np.abs(r) - limit**2 / 2, r**2 / 2), np.clip(r, -limit, limit)
        case _:
            return np.logaddexp(0, -y * F), -y * expit(-y * F)


def batches(problem: df.extend.NetworkProblem, shape: tuple[int, int], rng: np.random.Generator, steps: int):
    """Which samples (replica, sample) are in the batch, step by step."""
    training, replicas = problem.training, shape[0]
    b, number = training.batch_fraction, round(1 / training.batch_fraction)

    def cut() -> np.ndarray:
        return np.stack([rng.permutation(shape[1]) for _ in range(replicas)]) % number

    groups, inside = cut(), rng.random(shape) < b
    for t in range(steps):
        match training.batches:
            case "one-pass":
                yield groups == t
            case "twice":
                yield groups == t // 2
            case "cyclic":
                yield groups == t % number
            case "reshuffle":
                if t and t % number == 0:
                    groups = cut()
                yield groups == t % number
            case _ if training.persistence is None:
                yield rng.random(shape) < b
            case _:
                yield inside
                enter = training.learning_rate / training.persistence
                leaves, enters = rng.random(shape) < enter * (1 - b) / b, rng.random(shape) < enter
                inside = np.where(inside, ~leaves, enters)


def start(problem: df.extend.NetworkProblem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Teachers (k, d) and weights (p, d) of the overlaps of the problem, along random axes."""
    d, p, k = problem.dimension, problem.network.width, problem.data.units
    axes = np.linalg.qr(rng.standard_normal((d, p + k)))[0].T * d**0.5
    P, M, Q = problem.data.teacher_overlap, np.array(problem.start.M), np.array(problem.start.Q)
    teachers = np.linalg.cholesky(P) @ axes[:k]
    along = M @ np.linalg.inv(P)
    return teachers, along @ teachers + np.linalg.cholesky(Q - along @ M.T) @ axes[k:]


def rate(problem: df.extend.NetworkProblem, t: int) -> float:
    """Of step t; the only schedule that is drawn is exponential."""
    eta, schedule = problem.training.learning_rate, problem.training.schedule
    return eta if schedule is None else eta * schedule.top * float(np.exp(-eta * t / schedule.scale))


def run(
    problem: df.extend.NetworkProblem, replicas: int, counts: list[int], rng: np.random.Generator
) -> list[dict[str, np.ndarray]]:
    """What is observed after so many steps, with names as in dimfree; the replica comes first."""
    rule, d, p = problem.training, problem.dimension, problem.network.width
    sigma, slope_of = UNITS[problem.network.activation]
    teachers, W = start(problem, rng)
    n, g = round(problem.data.samples * d), 1 / rule.batch_fraction if rule.gradient == "mean" else 1.0
    x = rng.standard_normal((replicas, n, d))
    y = UNITS[problem.data.activation][0](x @ teachers.T / d**0.5).mean(axis=-1)
    y = y + problem.data.noise**0.5 * rng.standard_normal(y.shape)
    if problem.data.labels == "sign":
        y = np.where(y > 0, 1.0, -1.0)
    W = np.broadcast_to(W, (replicas, *W.shape))
    a = np.broadcast_to(np.array(problem.network.second_layer_start), (replicas, p)).astype(float)
    b = np.full((replicas, p), problem.network.bias_start)
    norm, V, v_a, v_b = np.linalg.norm(W, axis=-1, keepdims=True), 0 * W, 0 * a, 0 * b
    seen, active = [], batches(problem, y.shape, rng, counts[-1])
    for t in range(counts[-1] + 1):
        h = np.einsum("rnd,rpd->rpn", x, W) / d**0.5 + b[..., None]
        F = np.einsum("rp,rpn->rn", a, sigma(h)) / p
        loss, slope = loss_and_slope(problem, F, y)
        if t in counts:
            M, Q = W @ teachers.T / d, np.einsum("rpd,rqd->rpq", W, W) / d
            seen.append({"M": M, "Q": Q, "a": a, "bias": b, "train_loss": loss.mean(axis=1)})
            seen[-1]["train_error"] = np.mean(F * y <= 0, axis=1)
        if t == counts[-1]:
            return seen
        slope, eta = slope * g * next(active), rate(problem, t)
        f = a[..., None] / p * slope[:, None] * slope_of(h)
        V = rule.momentum * V - eta * (rule.weight_decay * W + np.einsum("rpn,rnd->rpd", f, x) / d**0.5)
        V = V + (2 * rule.temperature * eta) ** 0.5 * rng.standard_normal(V.shape)
        if "second-layer" in problem.network.trained:
            pull = rule.second_layer_decay * a + np.einsum("rn,rpn->rp", slope, sigma(h)) / p / d
            v_a = rule.momentum * v_a - eta * rule.second_layer_rate * pull
        if "bias" in problem.network.trained:
            v_b = rule.momentum * v_b - eta * (rule.weight_decay * b + f.sum(axis=-1) / d)
        W, a, b = W + V, a + v_a, b + v_b
        if rule.spherical:
            W = W * norm / np.linalg.norm(W, axis=-1, keepdims=True)
    return seen
