"""Any loss, label law and clipping, drawn anew: averages against samples, steps and runs against SGD written plainly in NumPy.

The ode is held against two dimensions of real SGD at once: twice the mean at 2 d minus that at d has no term of order 1/d.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from chance import Checks, means
from drawn_losses import LAWS, UNTIL, at, begun, drawn, measured, vectors, with_clipped_norms

import dimfree as df
from dimfree.gaussian.any_loss.ladder import estimated_error, loss_terms, quadrature
from dimfree.onepass import directions
from dimfree.onepass.model import model
from dimfree.onepass.start import Start
from dimfree.states.overlaps import Overlaps
from plain_losses import ACTIVATIONS, error_of, labels_of, plain_sgd

pytestmark = pytest.mark.slow
SAMPLES, PORTION = 400_000, 4000
OWN_ERRORS, NESTED = 6, 1e-4  # of fixed points, in their own estimates from four scramblings; of nested panels
LOOKS = 0.01  # what 2,048 fixed points of risks and errors promise
NUMPY, CHAIN, SHORT_CHAIN = (125, 256), (1000, 256), (250, 512)  # dimension and replicas
PAIRS = [(loss, law) for law, losses in LAWS.items() for loss in losses]
FIRST, FIRST_STEPS, FIRST_DIMENSION = 2000, 20, 10


@pytest.fixture
def overlaps_only(monkeypatch):
    """Risks are compared apart, and compile for long."""
    seen = lambda model, overlaps, bias=None: {"Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}  # noqa: E731
    monkeypatch.setattr(directions, "teacher_observables", seen)


def program(account, problem: df.extend.OnePassProblem, replicas: int):
    """Overlaps of all replicas at a time, of any problem of this structure."""
    dynamics, _ = account.twin(model(problem))

    @jax.jit
    def run(numbers, start, key, time):
        seen = dynamics.advance(numbers, dynamics.begin(numbers, start, replicas, key), time[None])[1]
        return {name: seen[name][0] for name in ("Q", "M", "a")}

    def told(one: df.extend.OnePassProblem, start: Start, key: int, time: float) -> dict[str, np.ndarray]:
        found = run(account.twin(model(one))[1], start, jax.random.key(key), jnp.asarray(time))
        return {name: np.asarray(values) for name, values in found.items()}

    return told


def without_first_order(checks: Checks, words: str, ode, half, whole, tolerance: float) -> None:
    """The ode against real SGD at d and at 2 d."""
    for name in ("Q", "M", "a"):
        error = np.sqrt((4 * whole[name].var(axis=0) + half[name].var(axis=0)) / len(half[name]))
        mean = 2 * whole[name].mean(axis=0) - half[name].mean(axis=0)
        checks.averaged(f"{words}, {name}", ode[name][0], mean, error, tolerance)


@pytest.mark.parametrize(
    ("kind", "clipped"), [("isotropic", False), ("covariance", False), ("covariance", True), ("momentum", False)]
)
def test_the_ode_is_where_real_sgd_goes_as_dimensions_grow(kind, clipped, rng, checks, overlaps_only):
    parts = drawn(rng, kind)
    parts = with_clipped_norms(rng, parts) if clipped else parts
    held_against_real_sgd(rng, checks, parts, kind, CHAIN)


@pytest.mark.parametrize(("loss", "law"), PAIRS)
def test_every_loss_of_every_label_law_has_the_ode_of_real_sgd(loss, law, rng, checks, overlaps_only):
    held_against_real_sgd(rng, checks, drawn(rng, "isotropic", law=law, loss=loss), "isotropic", SHORT_CHAIN)


def held_against_real_sgd(rng, checks: Checks, parts: dict, kind: str, size: tuple[int, int]) -> None:
    """The ode against the chain of so many dimensions and replicas, and against SGD written plainly."""
    Omega, start = begun(rng, parts, kind)
    longest, a = at(parts, NUMPY[0], kind).time_step, np.asarray(parts["network"]["second_layer_start"])
    # dimensions are multiples of the smallest one, so this is a whole number of steps in all of them
    until = longest * round(UNTIL[kind] / longest)
    print(parts)
    d, replicas = size
    half, whole = at(parts, d, kind), at(parts, 2 * d, kind)
    ode = program(df.theories.HighDimensional(rtol=1e-6, atol=1e-8), whole, 1)(whole, start, 0, until)
    rough = 1e-3 * max(1.0, np.abs(ode["Q"]).max()) if model(whole).roughness else 1e-5
    first = start.measured if kind == "isotropic" else start.measured.fields(1)
    moved = [np.abs(ode[name][0] - np.asarray(getattr(first, name))).max() for name in ("Q", "M", "a")]
    assert max(moved) > 1e-4  # so that there is something to be compared
    chain, seeds = program(df.experiments.OverlapChain(), whole, replicas), rng.integers(2**31, size=2)
    told = [chain(one, start, int(seed), until) for one, seed in zip((half, whole), seeds, strict=True)]
    without_first_order(checks, "chain", ode, *told, rough)
    d, replicas = NUMPY
    plain = []
    for one in (at(parts, d, kind), at(parts, 2 * d, kind)):
        weights, variances = vectors(rng, Omega, one.dimension)
        steps = round(until / one.time_step)
        plain.append(plain_sgd(one, weights, a, steps, replicas, rng, variances))
    without_first_order(checks, "NumPy", ode, *plain, rough)
    checks.settle()


def test_relu_units_at_fixed_points_follow_real_sgd(rng, checks, overlaps_only):
    """Right-hand sides jump there, the solver's tolerance is 1e-4, and averages are good to a few 1e-3."""
    hinge, noise = {"kind": "hinge", "margin": float(rng.uniform(0.2, 0.8))}, float(rng.uniform(0, 0.2))
    whole = df.Problem(
        dimension=2 * CHAIN[0],
        data={"kind": "teacher", "units": 2, "activation": "erf", "labels": "sign", "flip": noise},
        network={"width": 4, "activation": "relu", "second_layer": "trained", "second_layer_start": "signs"},
        training={"learning_rate": float(rng.uniform(0.6, 1.4)), "loss": hinge},
        run={"until": UNTIL["isotropic"]},
    )
    until, half = UNTIL["isotropic"], whole.replace(dimension=CHAIN[0])
    assert model(whole).roughness > 0
    start = df.extend.draw_start(whole, jax.random.key(rng.integers(2**31)), vectors=False)
    ode = program(df.theories.HighDimensional(), whole, 1)(whole, start, 0, until)
    chain = program(df.experiments.OverlapChain(), whole, CHAIN[1])
    told = [chain(one, start, int(rng.integers(2**31)), until) for one in (half, whole)]
    without_first_order(checks, "chain", ode, *told, 3e-3)
    checks.settle()


@pytest.mark.parametrize("kind", ["isotropic", "covariance", "momentum"])
def test_first_steps_have_the_law_of_plain_sgd(kind, rng, checks, overlaps_only):
    parts = drawn(rng, kind, teachers=("erf", "tanh", "linear", "relu"))
    Omega, _ = begun(rng, parts, kind)
    problem = at(parts, FIRST_DIMENSION, kind)
    print(problem)
    weights, variances = vectors(rng, Omega, FIRST_DIMENSION)
    a = np.asarray(parts["network"]["second_layer_start"])
    theirs = plain_sgd(problem, weights, a, FIRST_STEPS, FIRST, rng, variances)
    start = Start(measured(weights, a, kind), jnp.asarray(weights), jnp.zeros(len(a)))
    for account in (df.experiments.VectorSGD(), df.experiments.OverlapChain()):
        told = program(account, problem, FIRST)
        ours = told(problem, start, int(rng.integers(2**31)), FIRST_STEPS * problem.time_step)
        for name, values in ours.items():
            checks.same_law(f"{account.name}, {name}", within_bounds(values), within_bounds(theirs[name]))
    checks.settle()


def within_bounds(values: np.ndarray) -> np.ndarray:
    """A function of values that has all moments: errors of the exponential loss carry a rare run away, in SGD itself."""
    return np.arctan(np.where(np.isfinite(values), values, np.inf))


@eqx.filter_jit
def told(m, state):
    """Terms, observables, and how far averages at fixed points may be off."""
    sampled = quadrature(m.task, m.width).rule.sobol
    error = OWN_ERRORS * estimated_error(m.task, state) if sampled else jnp.asarray(NESTED)
    seen = m.observables(jax.tree.map(lambda x: x[None, None], state))
    errors = {name: seen[name][0, 0] for name in ("risk", "test_error", "clean_error") if name in seen}
    return loss_terms(m.task, state), errors, error


def samples(problem, a, Omega, rng):
    """What one sample adds to the averages of equation (1.2) of docs/theory/losses.md."""
    p, root = len(a), np.linalg.cholesky(Omega + 1e-13 * np.diag(np.diag(Omega)))
    value, slope = ACTIVATIONS[problem.network.activation]
    error, clip, m = error_of(problem.training.loss), problem.training.clip, model(problem)
    a_star = np.asarray(problem.data.second_layer)
    for _ in range(SAMPLES // PORTION):
        u = rng.standard_normal((PORTION, len(Omega))) @ root.T
        f = value(u[:, :p]) @ a / p
        clean = ACTIVATIONS[problem.data.activation][0](u[:, p:]) @ a_star / len(a_star)
        y = labels_of(problem.data, clean, rng)
        e, S = error(f, y), a * slope(u[:, :p])
        if clip != "none" and clip.error is not None:
            e = np.clip(e, -clip.error, clip.error)
        if clip != "none" and clip.norm is not None:
            e = e * np.minimum(1, p * clip.norm / np.maximum(np.abs(e) * np.linalg.norm(S, axis=1), 1e-12))
        c = S * e[:, None]
        H = c[:, :, None] * u[:, None, :p]
        seen = {"PsiM": c[:, :, None] * u[:, None, p:], "PsiGF": H + np.swapaxes(H, 1, 2)}
        seen |= {"Var": c[:, :, None] * c[:, None, :], "Psia": value(u[:, :p]) * e[:, None]}
        if problem.data.signs:
            wrong = lambda sign, f=f: np.where(sign * f == 0, 0.5, sign * f < 0)  # noqa: E731
            seen |= {"test_error": wrong(y), "clean_error": wrong(np.sign(clean))}
        loss = 0.5 * (f - clean) ** 2 if m.excess else np.asarray(m.loss(jnp.asarray(f), jnp.asarray(y)))
        yield seen | {"risk": loss}


@pytest.mark.parametrize("number", range(3))
def test_averages_of_a_loss_are_means_of_samples(number, rng, checks):
    parts = drawn(rng, "isotropic", widths=(1, 2, 3, 4), teachers=("erf", "tanh", "linear", "relu"))
    k = int(rng.choice([1, 1, 2]))
    parts["data"] |= {"units": k, "second_layer": tuple((rng.normal(size=k) + 0.3).tolist())}
    problem = at(parts, 1000, "isotropic")
    print(problem)
    p, m = problem.network.width, model(problem)
    rows = np.concatenate([0.8 * rng.normal(size=(p, p + k)), np.eye(k, p + k)])
    if rng.random() < 0.2:  # a student that nearly knows the teacher
        rows[p - 1] = rows[p] + 0.03 * rng.normal(size=p + k)
    Omega, a = rows @ rows.T, np.asarray(parts["network"]["second_layer_start"])
    state = Overlaps(jnp.asarray(Omega[:p, :p]), jnp.asarray(Omega[:p, p:]), jnp.asarray(a))
    terms, errors, own = told(m, state)
    for name, (mean, error) in means(samples(problem, a, Omega, rng)).items():
        if name in errors:
            many = quadrature(m.task, p).fields > 2 and not m.excess
            checks.averaged(name, np.asarray(errors[name]), mean, error, LOOKS if many else NESTED)
        else:
            checks.averaged(name, np.asarray(getattr(terms, name)), mean, error, float(own))
    checks.settle()
