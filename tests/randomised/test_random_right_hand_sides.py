"""Velocities and risks of the overlaps against means of SGD's increments: a million samples, or a dense rule in a plane."""

import dataclasses
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from chance import Checks, means
from drawn_problems import Drawn, Structure, draw, structure

import dimfree as df
from dimfree.gaussian.moments import risk
from dimfree.gaussian.variance.ladder import variance_error

pytestmark = pytest.mark.slow
SAMPLES, PORTION = 600_000, 3000  # a portion fits a cache
DIMENSION = 10**6
OWN_ERRORS = 6  # how many of its own error estimates, from four scramblings, a sampled variance may be off
KINDS = {  # which functions, and how many units at most: forms that are closed, product rules, sampled ones
    "erf": ("erf", "erf", 12, 4),
    "relu": ("relu", "relu", 6, 3),
    "smooth, few": ("tanh", "tanh", 2, 1),
    "smooth, many": ("tanh", "sin", 12, 4),
    "user-written and smooth": ("user softplus", "user wave", 8, 3),
    "kinked": ("hard-tanh", "leaky-relu", 12, 4),
    "user-written and kinked": ("user cut", "user hinges", 8, 3),
    "custom knots": ("custom knots", "erf", 10, 2),
    "several directions": ("tanh", None, 6, 3),
    "kinked, several directions": ("relu", None, 6, 3),
}
EXACT = {  # functions, students, teachers, the largest norm: averages over all directions by a dense rule
    "square": ("square", "square", 2, 1, 50.0),
    "he3": ("he3", "he3", 1, 2, 10.0),
    "polynomials": ("custom polynomial", "custom hermite", 2, 1, 10.0),
    "he2, several directions": ("he2", None, 1, 2, 50.0),
    "erf": ("erf", "erf", 2, 1, 4.0),
    "tanh": ("tanh", "tanh", 2, 1, 4.0),
    "tanh, far": ("tanh", "tanh", 1, 1, 50.0),
    "user-written": ("user swish", "user wave", 1, 1, 50.0),
    "tanh, several directions": ("tanh", None, 1, 1, 50.0),
}
IN_A_PLANE = {  # any number of students whose weights lie in one plane: the gradient terms alone
    "tanh": ("tanh", "tanh"),
    "user-written": ("user softplus", "sigmoid"),
    "polynomials": ("custom hermite", "he3"),
    "erf and sin": ("erf", "sin"),
    "several directions": ("user swish", None),
}
STEP = {2: 0.06, 3: 0.25}  # of the dense rule, by the number of directions
PROMISED = 1e-8  # of the root of the mean square (docs/accuracy.md)


def overlaps(rng: np.random.Generator, one: Drawn, largest: float, rank: int | None = None) -> np.ndarray:
    """A random Omega of that rank around the teacher's overlaps, with students of norms from 0.01 up."""
    p, k = one.rule.width, len(one.P)
    rank = rank or p + k
    root = np.linalg.cholesky(one.P / np.sqrt(np.outer(np.diag(one.P), np.diag(one.P))))
    stress = rng.choice([0.3, 1.0, 3.0], size=(p, 1)) ** (np.arange(rank) < k)  # on the directions of the teacher
    students = rng.normal(size=(p, rank)) * stress
    students /= np.linalg.norm(students, axis=1, keepdims=True)
    rows = np.concatenate([students, np.pad(root, ((0, 0), (0, rank - k)))])
    C = rows @ rows.T
    scale = np.sqrt(np.concatenate([np.exp(rng.uniform(np.log(0.01), np.log(largest), size=p)), np.diag(one.P)]))
    return C * np.outer(scale, scale)


def portions(drawn: Drawn, Omega: np.ndarray, t: float, rng: np.random.Generator) -> Iterator[dict[str, np.ndarray]]:
    """Increments on fresh Gaussian preactivations."""
    root = np.linalg.cholesky(Omega + 1e-13 * np.diag(np.diag(Omega)))
    for _ in range(SAMPLES // PORTION):
        u = rng.standard_normal((PORTION, len(Omega))) @ root.T
        yield increments(drawn, Omega, t, u, np.sqrt(drawn.rule.noise) * rng.standard_normal(PORTION))


def increments(drawn: Drawn, Omega: np.ndarray, t: float, u: np.ndarray, noise: np.ndarray) -> dict[str, np.ndarray]:
    """What one sample adds to the overlaps per unit of time as the dimension goes to infinity, |x|² = 1, and its loss.

    w <- w + rate s a sigma'(w.x) error x a step, as the user writes it; the time of a step is base rate/(p d).
    """
    rule, p = drawn.rule, drawn.rule.width
    students, teachers, s, factor = u[:, :p], u[:, p:], rule.front, rule.factor(t)
    value, clean = rule.sigma.value(students), rule.label(teachers)
    output = s * value @ drawn.a
    error = clean - output + noise
    pull = p * s * drawn.a * rule.sigma.slope(students) * error[:, None]  # a step moves w by rate/p times this
    dM = factor * pull[:, :, None] * teachers[:, None, :]
    mixed = pull[:, :, None] * students[:, None, :]
    dQ = factor * (mixed + np.swapaxes(mixed, 1, 2))
    dQ += factor**2 * rule.rate / (p * rule.batch) * pull[:, :, None] * pull[:, None, :]
    Q, M = Omega[:p, :p], Omega[:p, p:]
    if rule.spherical:
        shrink = np.diagonal(dQ, axis1=1, axis2=2) / (2 * np.diag(Q))
        dQ = dQ - (shrink[:, :, None] + shrink[:, None, :]) * Q
        dM = dM - shrink[:, :, None] * M
    else:
        dQ, dM = dQ - 2 * rule.decay * Q, dM - rule.decay * M
    canonical = p * s  # a of dimfree over a of the user
    da = np.zeros_like(value)
    if "second-layer" in rule.trained:
        da = factor * rule.second_rate * canonical * p * s * value * error[:, None]
        da = da - rule.second_decay * canonical * drawn.a
    return {"Q": dQ, "M": dM, "a": da, "risk": 0.5 * (clean - output) ** 2}


@jax.jit
def right_hand_side(model, t, state):
    """Velocity, risk, and the size of what the sampled variance may be off."""
    full, flow = (one.velocity(model, t, state) for one in (df.theories.HighDimensional(), df.theories.GradientFlow()))
    return full, flow, risk(model, state), variance_error(model, state)


def told(drawn: Drawn, Omega: np.ndarray, t: float) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], float]:
    """What dimfree says: with the variance term, without it, and by how much the entries of Q may be off."""
    p, rule = drawn.rule.width, drawn.rule
    state = df.extend.Overlaps(
        jnp.asarray(Omega[:p, :p]), jnp.asarray(Omega[:p, p:]), jnp.asarray(p * rule.front * drawn.a)
    )
    full, flow, value, error = right_hand_side(df.extend.model(drawn.problem), jnp.asarray(t), state)
    own = OWN_ERRORS * float(error) * np.linalg.norm(np.asarray(full.Q - flow.Q))
    as_numpy = [{name: np.asarray(getattr(one, name)) for name in ("Q", "M", "a")} for one in (full, flow)]
    return as_numpy[0] | {"risk": np.asarray(value)}, as_numpy[1], own


def passed_on(drawn: Drawn, Omega: np.ndarray, sizes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What errors of such sizes in the terms do to the velocity: the sphere takes off what the norms gain."""
    if not drawn.rule.spherical:
        return sizes
    p = drawn.rule.width
    over = np.diag(sizes["Q"]) / (2 * np.diag(Omega)[:p])
    Q = sizes["Q"] + (over[:, None] + over) * np.abs(Omega[:p, :p])
    return {**sizes, "Q": Q, "M": sizes["M"] + over[:, None] * np.abs(Omega[:p, p:])}


def typical_sizes(drawn: Drawn, Omega: np.ndarray, t: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Roots of the mean squares of all that is summed up, before the sphere lets it cancel."""
    free = dataclasses.replace(drawn, rule=dataclasses.replace(drawn.rule, spherical=False))
    found = means([next(portions(free, Omega, t, rng))])
    return passed_on(
        drawn, Omega, {name: np.sqrt(mean**2 + error**2 * PORTION) for name, (mean, error) in found.items()}
    )


def own_errors(drawn: Drawn, Omega: np.ndarray, own: float) -> dict[str, np.ndarray]:
    """What an error of the variance term does to everything."""
    p, k = drawn.rule.width, len(drawn.P)
    zeros = {"M": np.zeros((p, k)), "a": np.zeros(p), "risk": np.zeros(())}
    return passed_on(drawn, Omega, {"Q": np.full((p, p), own), **zeros})


def compare(checks: Checks, rng: np.random.Generator, one: Structure, largest: float, spoil: float = 1.0) -> None:
    """One draw of numbers, against samples."""
    drawn, t = draw(rng, one, DIMENSION), float(rng.uniform(0, 1))
    Omega = overlaps(rng, drawn, largest)
    found, _, own = told(drawn, Omega, t)
    sizes, owned = typical_sizes(drawn, Omega, t, rng), own_errors(drawn, Omega, own)
    for name, (mean, error) in means(portions(drawn, Omega, t, rng)).items():
        words = f"{one.names}, p = {one.width}, norms up to {largest:g}, {name}"
        checks.averaged(words, found[name], spoil * mean, error, owned[name] + PROMISED * sizes[name])


@pytest.mark.parametrize("kind", KINDS)
def test_right_hand_sides(kind, rng, checks, cases):
    sigma, g, width, units = KINDS[kind]
    one = structure(rng, sigma, g, int(rng.integers(1, width + 1)), int(rng.integers(1, units + 1)))
    for largest in np.resize([50.0, 1.0, 10.0], cases):
        compare(checks, rng, one, float(largest))
    checks.settle()


def test_a_wrong_factor_would_be_noticed(rng):
    """Three parts in a hundred of everything."""
    checks = Checks(0)
    compare(checks, rng, structure(rng, "relu", "relu", 3, 2, spherical=False), 1.0, spoil=1.03)
    with pytest.raises(AssertionError, match="checks fail"):
        checks.settle()


def dense(drawn: Drawn, Omega: np.ndarray, t: float, rank: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Means of the increments by the trapezoidal rule over the space that the units span, and how far half the step moves them.

    The noise of the labels enters as its variance: two signs of equal weight.
    """
    values, vectors = np.linalg.eigh(Omega)
    root = vectors[:, -rank:] * np.sqrt(values[-rank:])
    results = []
    for step in (STEP[rank], STEP[rank] / 2**0.5):
        x = np.arange(-9.0, 9.0, step)
        weight = np.exp(-(x**2) / 2) * step / np.sqrt(2 * np.pi)
        total = dict[str, np.ndarray]()
        others = np.stack(np.meshgrid(*[x] * (rank - 1), indexing="ij"), axis=-1).reshape(-1, rank - 1)
        other_weight = np.prod(np.stack(np.meshgrid(*[weight] * (rank - 1), indexing="ij"), axis=-1), axis=-1).ravel()
        for first, share in zip(x, weight, strict=True):
            u = np.concatenate([np.full((len(others), 1), first), others], axis=1) @ root.T
            for sign in (-1.0, 1.0):
                noise = np.full(len(u), sign * np.sqrt(drawn.rule.noise))
                for name, values_there in increments(drawn, Omega, t, u, noise).items():
                    part = share / 2 * np.tensordot(other_weight, values_there, 1)
                    total[name] = total.get(name, 0.0) + part
        results.append(total)
    coarse, fine = results
    return fine, {name: np.abs(fine[name] - coarse[name]) for name in fine}


def against_dense_rule(checks: Checks, rng: np.random.Generator, one: Structure, largest: float, plane: bool) -> None:
    """One draw of numbers; in a plane without the variance term, which a rate of zero switches off."""
    drawn, t = draw(rng, one, DIMENSION), float(rng.uniform(0, 1))
    rank = 2 if plane else one.width + one.units
    Omega = overlaps(rng, drawn, largest, rank)
    full, flow, own = told(drawn, Omega, t)
    found = {**flow, "risk": full["risk"]} if plane else full
    slow = dataclasses.replace(drawn, rule=dataclasses.replace(drawn.rule, rate=0.0)) if plane else drawn
    known, moved = dense(slow, Omega, t, rank)
    sizes, owned = typical_sizes(slow, Omega, t, rng), own_errors(drawn, Omega, 0.0 if plane else own)
    for name in known:
        allowed = PROMISED * sizes[name] + moved[name] + owned[name]
        checks.bounded(
            f"{one.names}, p = {one.width}, norms up to {largest:g}, {name}", found[name], known[name], allowed
        )


@pytest.mark.parametrize("kind", EXACT)
def test_right_hand_sides_to_all_digits(kind, rng, checks, cases):
    *functions, largest = EXACT[kind]
    one = structure(rng, *functions)
    for _ in range(max(1, cases // 2)):
        against_dense_rule(checks, rng, one, largest, plane=False)
    checks.settle()


@pytest.mark.parametrize("kind", IN_A_PLANE)
def test_gradient_terms_to_all_digits(kind, rng, checks, cases):
    one = structure(rng, *IN_A_PLANE[kind], int(rng.integers(1, 13)), int(rng.integers(1, 3)))
    for largest in np.resize([50.0, 1.0], max(1, cases // 3)):
        against_dense_rule(checks, rng, one, float(largest), plane=True)
    checks.settle()
