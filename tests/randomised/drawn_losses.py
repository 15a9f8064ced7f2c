"""Random losses, label laws, clipping and rules, with starts as overlaps and as weights."""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np

import dimfree as df
from dimfree.onepass.start import Start
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps

ON_CLASSES = ("square", "logistic", "hinge", "squared-hinge", "exponential", "absolute", "huber", "correlation")
ON_VALUES = ("square", "absolute", "huber", "correlation")
LAWS = {  # of labels, and the losses that go with them; Student noise may have no variance
    **dict.fromkeys(("signs", "probit", "logistic labels"), ON_CLASSES),
    "values": ON_VALUES,
    "Student": ("absolute", "huber"),
}
LEVELS, SHARES, THETA = (2.5, 0.5), (0.4, 0.6), 5.0  # a mean eigenvalue that is not 1; how fast velocities relax
SAMPLED = 0.4  # mean |a| of networks whose exponential errors have means that some 10^5 samples know
UNTIL = {"isotropic": 0.6, "covariance": 0.6, "momentum": 1.5}  # from rest


def labels(rng, law: str) -> dict:
    """The keys of a label law in [data]."""
    noise = float(rng.uniform(0.05, 0.5))
    match law:
        case "signs":
            return {"labels": "sign", "flip": float(rng.choice([0.0, rng.uniform(0, 0.3)]))}
        case "probit":
            return {"labels": "sign", "noise": noise, "flip": float(rng.choice([0.0, 0.2]))}
        case "logistic labels":
            return {"labels": "logistic", "slope": float(rng.uniform(0.5, 5))}
        case "values":
            return {"noise": noise}
        case _:
            return {"noise": noise, "noise_law": {"student": float(rng.uniform(1.2, 4))}}


def rule(rng, law: str, loss: str | None) -> dict:
    """A loss that goes with the labels, the given one or any, and clipping, as keys of [training]."""
    classes, number = law not in ("values", "Student"), float(rng.choice([0.0, rng.uniform(0, 2)]))
    if law == "Student" and loss is None and rng.random() < 0.5:
        return {"loss": "square", "clip": {"error": float(rng.uniform(0.1, 1))}}
    loss = loss or str(rng.choice(LAWS[law]))
    found: dict = {"loss": loss}
    if "hinge" in loss:
        found["loss"] = {"kind": loss, "margin": number}
    elif loss == "huber":
        found["loss"] = {"kind": loss, "threshold": number + 0.1}
    clip = rng.random()
    if clip < 0.2 and loss != "correlation":
        found["clip"] = {"error": float(rng.uniform(0.1, 1))}
    elif clip < 0.4 and classes:
        found["clip"] = {"norm": float(rng.uniform(0.05, 0.4))}
    return found


def drawn(rng, kind: str, widths=(1, 2), teachers=("erf", "tanh", "linear"), law=None, loss=None) -> dict:
    """All sections of a problem whose dimension is open, with the given label law and loss or any."""
    law, p = law or str(rng.choice(list(LAWS))), int(rng.choice(widths))
    data = {"kind": "teacher", "units": 1, "activation": str(rng.choice(teachers)), **labels(rng, law)}
    data["second_layer"] = (float(rng.uniform(0.7, 2)),)
    training = {**rule(rng, law, loss), "learning_rate": float(rng.uniform(0.3, 1.2))}
    training["learning_rate"] *= 0.3 if training["loss"] == "exponential" else 1.0
    training["batch"] = 1 if "norm" in training.get("clip", {}) else int(rng.choice([1, 3]))
    training["spherical"] = bool(kind != "momentum" and rng.random() < 0.25)
    training["weight_decay"] = 0.0 if training["spherical"] else float(rng.choice([0.0, rng.uniform(0, 1)]))
    if kind == "covariance":
        data["covariance"] = {"kind": "levels", "values": LEVELS, "shares": SHARES, "normalise": False}
    if kind == "momentum":
        training["nesterov"] = bool(rng.random() < 0.5)
    network = {
        "width": p,
        "activation": str(rng.choice(["erf", "relu", "tanh", "linear"])),
        "second_layer": str(rng.choice(["trained", "fixed"])),
    }
    a = 1.2 * rng.normal(size=p)
    if training["loss"] == "exponential":  # of larger outputs, samples that nobody draws decide E e² = E exp(-2 y f)
        a *= min(1.0, SAMPLED / np.abs(a).mean())
    return {"data": data, "network": network | {"second_layer_start": tuple(a.tolist())}, "training": training}


def with_clipped_norms(rng, parts: dict) -> dict:
    """The same problem with signs, the logistic loss and gradients of which many are shortened."""
    keys = ("kind", "units", "activation", "second_layer", "covariance")
    data = {name: parts["data"][name] for name in keys if name in parts["data"]} | {"labels": "sign", "flip": 0.05}
    network = parts["network"] | {"activation": "erf"}
    size = float(np.abs(network["second_layer_start"]).mean())
    training = {"loss": "logistic", "learning_rate": 1.0, "clip": {"norm": float(rng.uniform(0.1, 0.2)) * size}}
    return {"data": data, "network": network, "training": training}


def at(parts: dict, d: int, kind: str) -> df.extend.OnePassProblem:
    """The problem at a dimension; 1 - momentum goes to 0 as 1/d, so that equations stay of second order."""
    training = dict(parts["training"])
    if kind == "momentum":
        slow = THETA * training["learning_rate"] / (parts["network"]["width"] * d)
        training |= {"momentum": 1 - slow, "learning_rate": slow * training["learning_rate"]}
    return df.Problem(dimension=d, run={"until": UNTIL[kind]}, **{**parts, "training": training})


def begun(rng, parts: dict, kind: str) -> tuple[np.ndarray, Start]:
    """Overlaps of students and teacher for every eigenvalue, and the start that they are."""
    p, (s, rho) = parts["network"]["width"], (LEVELS, SHARES) if kind == "covariance" else ((1.0,), (1.0,))
    rows = [share**0.5 * rng.normal(size=(p + 1, 2 * (p + 1))) / (2 * (p + 1)) ** 0.5 for share in rho]
    seen = sum(level * part[-1] @ part[-1] for level, part in zip(s, rows, strict=True))
    Omega = np.stack([part @ part.T for part in rows])
    Omega[:, -1] /= seen**0.5
    Omega[:, :, -1] /= seen**0.5
    a = jnp.asarray(parts["network"]["second_layer_start"])
    one = Overlaps(jnp.asarray(Omega[0, :p, :p]), jnp.asarray(Omega[0, :p, p:]), a)
    blocks = Blocks(jnp.asarray(Omega), a, jnp.asarray(s), jnp.asarray(rho), jnp.zeros(()))
    return Omega, Start(one if kind == "isotropic" else blocks, None, jnp.zeros(p))


def vectors(rng, Omega: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights, teacher last, that have these overlaps along every eigenvalue, and the variances of their inputs."""
    counts = [d] if len(Omega) == 1 else [round(d * share) for share in SHARES]
    parts = [
        d**0.5 * np.linalg.cholesky(part) @ np.linalg.qr(rng.normal(size=(count, len(part))))[0].T
        for part, count in zip(Omega, counts, strict=True)
    ]
    return np.concatenate(parts, axis=1), np.repeat(LEVELS if len(Omega) > 1 else [1.0], counts)


def measured(weights: np.ndarray, a: np.ndarray, kind: str):
    """The overlaps of weights, for every eigenvalue where there are several."""
    p, d = len(a), weights.shape[1]
    if kind == "isotropic":
        Omega = weights @ weights.T / d
        return Overlaps(jnp.asarray(Omega[:p, :p]), jnp.asarray(Omega[:p, p:]), jnp.asarray(a))
    s, rho = (LEVELS, SHARES) if kind == "covariance" else ((1.0,), (1.0,))
    ends = np.cumsum([0, *(round(d * share) for share in rho)])
    pieces = [weights[:, i:j] for i, j in pairwise(ends)]
    Omega = np.stack([piece @ piece.T / d for piece in pieces])
    return Blocks(jnp.asarray(Omega), jnp.asarray(a), jnp.asarray(s), jnp.asarray(rho), jnp.zeros(()))
