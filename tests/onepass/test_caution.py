"""What limits of one-pass SGD say of themselves: spreads of leading order, the edge of stability, digits that are lost."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.gaussian.increments import Rule, spreads
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.onepass.limits.band import band
from dimfree.onepass.limits.caution import overstatement
from dimfree.onepass.real.blocked import _heavy_tail
from dimfree.setting import why_not

HE3 = {"hermite": [0.0, 0.0, 0.0, 1.0]}
FREE = {"erf": 1.0, "relu": 0.5, "linear": 0.5, "square": 0.05}
# regression in 20 dimensions with 1.95 of the rate 2 at which the equations of infinite dimension lose their balance
EDGE = df.Problem(
    dimension=20,
    data=df.Teacher(units=1, activation="linear", noise=0.1),
    network=df.TwoLayer(width=1, activation="linear"),
    training=df.OnePass(learning_rate=1.95),
    start=df.OverlapStart(Q=((1.0,),), M=((0.0,),)),
    run=df.Run(until=40.0, points=20, replicas=64),
)


def alone(activation, dimension, rate, M, spherical=False):
    """One unit, one teacher, from the overlap M."""
    return df.Problem(
        dimension=dimension,
        data=df.Teacher(units=1, activation=activation),
        network=df.TwoLayer(width=1, activation=activation),
        training=df.OnePass(learning_rate=rate, spherical=spherical),
        start=df.OverlapStart(Q=((1.0,),), M=((M,),)),
        run=df.Run(until=0.05, points=2),
    )


def start_of(problem):
    return df.extend.draw_start(problem, jax.random.key(0), vectors=False)


def factor(problem):
    return overstatement(df.extend.model(problem), start_of(problem).overlaps)


def spread_of_M(one, problem, replicas, seed):
    """The standard deviation of M at the end, and its relative error."""
    run = eqx.filter_jit(lambda m, s, t: one.run(m, s, t, jax.random.key(seed), replicas))
    M = np.asarray(run(df.extend.model(problem), start_of(problem), jnp.asarray(problem.times[-1:]))["M"]).ravel()
    squares = (M - M.mean()) ** 2
    return M.std(), squares.std() / squares.mean() / (2 * replicas**0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "chain", "diffusion"),
    [(100, 0.167, 0.423), (1000, 0.093, 0.179), pytest.param(20_000, 0.0345, 0.0373, marks=pytest.mark.slow)],
)
def test_the_spread_of_he3_is_overstated_and_by_how_much_is_known(dimension, chain, diffusion):
    """A step along He3 is so long that the sphere shortens it, which the leading order does not know."""
    problem = alone(HE3, dimension, 0.01, 0.5, spherical=True)
    (real, error), (told, own) = (
        spread_of_M(one, problem, 400, seed)
        for seed, one in ((1, df.experiments.OverlapChain()), (2, df.theories.Diffusion()))
    )
    for found, expected, relative in ((real, chain, error), (told, diffusion, own)):
        assert abs(found - expected) < 5 * relative * expected + 0.03 * expected
    assert abs(np.log(factor(problem)) - np.log(told / real)) < np.log(1.5)
    # ten directions for each of width and teacher units did not see it
    assert dimension >= 10 * 2
    refusal = why_not(df.theories.Diffusion(), problem)
    if dimension > 1000:
        assert refusal is None
        said = df.theories.Diffusion().warns(problem, df.extend.model(problem), _seen(problem))
        assert "makes the spread of one step" in " ".join(said)
        assert (
            "makes the spread of one step at t = 0.05"
            in band(problem, start_of(problem), jnp.asarray([0.05])).warnings[0]
        )
    else:
        assert "makes the spread of one step at the start" in refusal
        with pytest.raises(df.RefusalError, match="there is no band: the leading order"):
            band(problem, start_of(problem), jnp.asarray([0.05]))


def _seen(problem):
    overlaps = start_of(problem).overlaps
    return {name: np.asarray(getattr(overlaps, name))[None, None].repeat(2, axis=0) for name in ("Q", "M", "a")}


@pytest.mark.parametrize("activation", FREE)
def test_the_spread_of_tame_links_is_told_right_in_forty_dimensions(activation):
    problem = alone(activation, 40, FREE[activation], 0.3)
    assert why_not(df.theories.Diffusion(), problem) is None
    assert abs(np.log(factor(problem))) < np.log(1.1)
    assert df.theories.Diffusion().warns(problem, df.extend.model(problem), _seen(problem)) == ()


@pytest.mark.parametrize(("spherical", "activation"), [(True, "square"), (True, "erf"), (False, "square")])
def test_the_spread_of_one_step_is_that_of_steps_taken_in_numpy(spherical, activation):
    d, rate, M, count = 30, 0.2, 0.3, 2_000_000
    problem = alone(activation, d, rate, M, spherical)
    m = df.extend.model(problem)
    found = spreads(m, jnp.ones(()), start_of(problem).overlaps, _fine_rule())
    rng = np.random.default_rng(0)
    teacher, other = rng.standard_normal((2, count))
    student = M * teacher + np.sqrt(1 - M**2) * other
    lengths = (teacher**2 + other**2 + rng.chisquare(d - 2, count)) / d
    link, slope = (np.square, lambda u: 2 * u) if activation == "square" else (_erf, _erf_slope)
    noise = np.sqrt(float(m.Delta)) * rng.standard_normal(count)
    c = slope(student) * (link(teacher) - link(student) + noise)
    dt = rate / d
    M_after, Q_after = M + dt * c * teacher, 1 + 2 * dt * c * student + dt**2 * d * c**2 * lengths
    steps = [M_after / np.sqrt(Q_after)] if spherical else [M_after, Q_after]
    for i, after in enumerate(steps):
        squares = ((after - after.mean()) / dt) ** 2
        error = squares.std() / count**0.5 + 2 / d * float(found.exact[i]) * (i == 1)  # the part that is left out
        assert abs(float(found.exact[i]) - squares.mean()) < 5 * error
    if spherical and activation == "square":
        assert abs(float(found.leading[0]) - squares.mean()) > 5 * squares.std() / count**0.5


def _fine_rule():
    x, w = gauss_hermite(60, 2)
    z, v = gauss_hermite(3, 1)
    points = np.concatenate([np.repeat(x, 3, axis=0), np.tile(z, (len(w), 1))], axis=1)
    return Rule(jnp.asarray(points), jnp.asarray(np.outer(w, v).ravel()), exact=True)


def _erf(u):
    return np.asarray(jax.scipy.special.erf(u / np.sqrt(2)))


def _erf_slope(u):
    return np.sqrt(2 / np.pi) * np.exp(-(u**2) / 2)


def exact_mean_risk(problem, steps):
    """E[Q - 2M + 1]/2 of linear regression: a step contracts it by 1 - 2 dt + dt gamma (d + 2)/d and adds noise."""
    rate, d, Delta = problem.training.learning_rate, problem.dimension, problem.data.noise
    dt, R = rate / d, 0.5 * (1.0 - 2 * 0.0 + 1.0)
    for _ in range(steps):
        R = R * (1 - 2 * dt + dt * rate * (d + 2) / d) + 0.5 * dt * rate * Delta
    return R


@pytest.mark.slow
def test_near_the_edge_the_ode_says_that_the_next_order_decides():
    """1.82 beside a mean risk of 528: nobody was told."""
    ode, exact = df.solve(EDGE), exact_mean_risk(EDGE, EDGE.steps(40.0))
    assert float(ode.risk[-1, 0]) == pytest.approx(1.82, abs=0.01)
    assert exact == pytest.approx(528, abs=1)
    said = ode.attrs["warnings"]
    assert "the mean risk is" in said
    told = float(said.split("the mean risk is ")[1].split(" times")[0])
    assert told == pytest.approx(exact / float(ode.risk[-1, 0]), rel=0.2)  # steps against continuous time
    assert df.solve(EDGE.replace(dimension=2000)).attrs["warnings"] == ""


@pytest.mark.slow
def test_ordinary_problems_are_told_without_a_word():
    short = df.Problem(run=df.Run(until=20.0, points=10, replicas=4))
    for by in ("ode", "chain"):
        assert df.solve(short, by).attrs["warnings"] == "", by


def test_fewer_dimensions_than_directions_are_told():
    problem = df.Problem(dimension=5, run=df.Run(until=2.0, points=5))
    assert "dimension 5 is below the 6 directions" in df.solve(problem, "gradient-flow").attrs["warnings"]
    assert "dimension 5 is below the 6 directions" in why_not(df.theories.Diffusion(), problem)


@pytest.mark.slow
def test_risks_that_cancellation_takes_are_told():
    """Gradient flow of regression: R = exp(-2t), so that at t = 7.8 it is 1.7e-7."""
    problem = EDGE.replace(**{"run.until": 7.8, "data.noise": 0.0, "training.learning_rate": 0.001})
    coarse, fine = (df.solve(problem, df.theories.GradientFlow(rtol=rtol, atol=rtol / 100)) for rtol in (1e-6, 1e-8))
    assert "lost to cancellation at rtol = 1e-06" in coarse.attrs["warnings"]
    assert fine.attrs["warnings"] == ""
    exact = np.exp(-2 * 7.8)
    assert float(fine.risk[-1, 0]) == pytest.approx(exact, rel=0.01)
    assert abs(float(coarse.risk[-1, 0]) / exact - 1) > 10 * abs(float(fine.risk[-1, 0]) / exact - 1)


@pytest.mark.slow
def test_a_mean_that_one_replica_carries_is_told():
    chain = df.simulate(EDGE, "chain", replicas=64)
    share = (chain.risk.max("replica") / chain.risk.sum("replica")).max()
    assert ("the tail is heavy" in chain.attrs["warnings"]) == bool(share > 0.5)
    even, heavy = np.full((2, 8), 1.0), np.full((2, 8), 1.0)
    heavy[1, 3] = 30.0
    assert list(_heavy_tail(even, np.array([0.0, 2.0]))) == []
    assert "one of 8 replicas has 81 % of the mean risk at t = 2" in next(_heavy_tail(heavy, np.array([0.0, 2.0])))
    assert list(_heavy_tail(heavy[:, 3:4], np.array([0.0, 2.0]))) == []
