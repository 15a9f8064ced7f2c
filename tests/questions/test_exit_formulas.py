"""Exit times of phase retrieval: formulas against the ODE, averages against vectors, limits, and one sentence per refusal."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.questions.exit_times import formulas

RULE = {"learning_rate": 0.05, "width": 2, "noise": 0.3}


def phase_retrieval(learning_rate: float, width: int, noise: float, dimension: int = 1000) -> df.Problem:
    return df.Problem(
        dimension=dimension,
        data=df.Teacher(units=1, activation="square", noise=noise),
        network=df.TwoLayer(width=width, activation="square"),
        training=df.OnePass(learning_rate=learning_rate, spherical=True),
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_escape_rate_is_the_growth_rate_of_the_ode(width):
    model = df.extend.model(phase_retrieval(0.1, width, 0.3))
    m = 1e-6
    velocity = df.theories.HighDimensional().velocity(
        model, jnp.zeros(()), df.extend.Overlaps(jnp.eye(width), jnp.full((width, 1), m), jnp.ones(width))
    )
    np.testing.assert_allclose(velocity.M / m, 4 * formulas.escape_rate(0.1, width, 0.3), rtol=1e-9)


@pytest.mark.slow
def test_logistic_time_is_where_the_ode_exits():
    start, threshold = 0.003, 0.4
    t = formulas.logistic(start, threshold, learning_rate=0.05, noise=0.3)
    initial = df.extend.Start(
        df.extend.Overlaps(jnp.eye(1), jnp.full((1, 1), np.sqrt(start)), jnp.ones(1)), None, jnp.zeros(1)
    )
    run = eqx.filter_jit(lambda *arguments: df.theories.HighDimensional().run(*arguments, jax.random.key(0), 1))
    risk = run(df.extend.model(phase_retrieval(0.05, 1, 0.3)), initial, jnp.asarray([0.0, t]))["risk"][:, 0]
    assert risk[1] / risk[0] == pytest.approx(1 - threshold, rel=1e-6)


def test_saturation_and_noise_delay_the_exit():
    case = {"threshold": 0.4, "learning_rate": 0.05, "noise": 0.3}
    linear = formulas.given(3.0, 0.0, width=1, dimension=1000, **case)
    assert formulas.logistic(0.003, **case) > linear
    small = case | {"threshold": 1e-3}
    assert formulas.logistic(1e-6, **small) == pytest.approx(
        formulas.given(1.0, 0.0, width=1, dimension=10**6, **small), rel=1e-3
    )
    assert formulas.logistic(0.003, threshold=0.99, learning_rate=0.15, noise=0.1) == np.inf


@pytest.mark.parametrize("width", [1, 7])
def test_annealed_is_the_time_of_the_average_start(width):
    case = {"threshold": 0.2, "learning_rate": 0.1, "width": width, "noise": 0.1, "dimension": 300}
    assert formulas.annealed(**case) == pytest.approx(formulas.given(width, width * (width - 1), **case), rel=1e-13)


def test_quenched_minus_annealed_at_width_one_and_large_dimension():
    case = {"threshold": 0.1, "learning_rate": 0.1, "width": 1, "noise": 0.01, "dimension": 10**10}
    gap = formulas.quenched(**case).value - formulas.annealed(**case)
    assert gap == pytest.approx((np.euler_gamma + np.log(2)) / (8 * formulas.escape_rate(0.1, 1, 0.01)), abs=1e-8)


@pytest.mark.parametrize(("width", "dimension"), [(1, 2), (1, 30), (2, 30), (5, 30), (8, 6)])
def test_quenched_is_the_average_over_uniform_vectors(width, dimension):
    case = {"threshold": 0.9, "learning_rate": 0.05, "width": width, "noise": 0.3, "dimension": dimension}
    found = formulas.quenched(**case, draws=20_000)
    vectors = np.random.default_rng(1).normal(size=(4000, width + 1, dimension))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    overlaps = vectors @ np.swapaxes(vectors, 1, 2)
    mu_0 = dimension * np.sum(overlaps[:, 0, 1:] ** 2, axis=1)
    tau_0 = dimension * (np.sum(overlaps[:, 1:, 1:] ** 2, axis=(1, 2)) - width)
    times = [formulas.given(mu, max(tau, 0.0), **case) for mu, tau in zip(mu_0.tolist(), tau_0.tolist(), strict=True)]
    error = np.std(times) / np.sqrt(len(times))
    assert abs(np.mean(times) - found.value) < 4.5 * np.hypot(error, found.standard_error)
    assert found.standard_error < error


def test_the_error_bar_of_the_average_is_honest():
    case = {"threshold": 0.5, "dimension": 200, **RULE}
    found = [formulas.quenched(**case, draws=300, seed=seed) for seed in range(200)]
    values, errors = np.array(found).T
    assert values.std() / errors.mean() == pytest.approx(1.0, abs=4.5 / np.sqrt(400))
    assert formulas.quenched(**case, seed=3) == formulas.quenched(**case, seed=3)


def test_many_units_at_any_dimension_without_vectors():
    case = {"threshold": 0.1, "learning_rate": 0.5, "width": 60, "noise": 0.0, "dimension": 10**9}
    gap = formulas.quenched(**case, draws=400).value - formulas.annealed(**case)
    assert 0 < gap < 2 / 60 / 8  # by Jensen, and of the order of the variance of log mu_0


@pytest.mark.slow
def test_second_moment_against_the_chain():
    """Equation (6.7); its own corrections are about 9/d, below the error bar, and the noise makes a ninth of the value."""
    problem, time = phase_retrieval(0.15, 3, 0.5), 0.1
    start = df.extend.Start(
        df.extend.Overlaps(jnp.eye(3), jnp.full((3, 1), 1000**-0.5), jnp.ones(3)), None, jnp.zeros(3)
    )
    run = eqx.filter_jit(lambda *arguments: df.experiments.OverlapChain().run(*arguments, jax.random.key(1), 3000))
    m = np.asarray(run(df.extend.model(problem), start, jnp.asarray([time]))["M"])[0, :, :, 0]
    mu = problem.dimension * np.sum(m**2, axis=1)
    error = mu.std() / np.sqrt(len(mu))
    expected = formulas.second_moment(3.0, time, 0.15, 3, 0.5)
    assert abs(mu.mean() - expected) < 4.5 * error
    assert expected - 3 * np.exp(8 * formulas.escape_rate(0.15, 3, 0.5) * time) > 5 * error


def test_second_moment_at_its_limits():
    assert formulas.second_moment(2.0, 0.0, **RULE) == 2.0
    critical = 2 / (1 + 1 / 2 + 4 / 4 + 0.3 / 2)
    around = [formulas.second_moment(2.0, 0.3, rate, 2, 0.3) for rate in (critical, critical * (1 + 1e-9))]
    assert around[0] == pytest.approx(around[1], rel=1e-7)


def sentence(call) -> str:
    with pytest.raises(ProblemError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -2.0, float("nan")])
def test_thresholds_outside(threshold):
    for call in (
        lambda: formulas.annealed(threshold, dimension=100, **RULE),
        lambda: formulas.quenched(threshold, dimension=100, **RULE),
        lambda: formulas.given(1.0, 1.0, threshold, dimension=100, **RULE),
        lambda: formulas.logistic(0.1, threshold, 0.05, 0.3),
    ):
        assert sentence(call).startswith(f"threshold = {threshold:g} was given;")


def test_learning_rates_beyond_escape():
    told = sentence(lambda: formulas.annealed(0.1, learning_rate=0.2, width=1, noise=0.0, dimension=100))
    assert "the rate c = -0.2 must be positive; stay below 0.1667 at width 1 and noise 0." in told
    assert "too large to escape" in sentence(lambda: formulas.logistic(0.1, 0.1, learning_rate=0.2, noise=0.0))
    assert formulas.escape_rate(1 / 6, 1, 0.0) == pytest.approx(0.0, abs=1e-15)


def test_starts_that_never_escape():
    told = sentence(lambda: formulas.given(0.0, 1.0, 0.1, dimension=100, **RULE))
    assert told.startswith("a start exactly at m = 0 never escapes")
    assert sentence(lambda: formulas.logistic(0.0, 0.1, 0.05, 0.3)) == told


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: formulas.given(-1.0, 1.0, 0.1, dimension=100, **RULE), "cannot be negative"),
        (lambda: formulas.given(1.0, 1e4, 0.1, dimension=100, **RULE), "threshold * dimension = 10 is too small"),
        (lambda: formulas.logistic(1.5, 0.1, 0.05, 0.3), "m² = 1.5"),
        (lambda: formulas.annealed(0.1, dimension=1, **RULE), "below dimension 2"),
        (lambda: formulas.quenched(0.1, dimension=100, draws=1, **RULE), "draws = 1"),
        (lambda: formulas.escape_rate(0.1, 0, 0.1), "at least 1"),
    ],
)
def test_other_nonsense(call, part):
    assert part in sentence(call)
