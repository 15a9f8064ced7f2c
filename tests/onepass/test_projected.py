"""Linear regression seen through a random projection: exact means, the equivalent, and what both are checked by."""

import numpy as np
import pytest

from dimfree.errors import ProblemError, RefusalError
from dimfree.onepass.linear_mean import LinearRule, exact_risks, momentum_risks
from dimfree.onepass.projected import companion, exponents, measures
from dimfree.onepass.projected.embedding import parts
from dimfree.onepass.projected.gauss_rules import wheeler
from dimfree.onepass.projected.in_blocks import Rule, shares, walked
from dimfree.onepass.projected.mean_risk import chi, critical_rate, mean_risks, mean_shares, steps_to
from dimfree.onepass.projected.measures import drawn, equivalent, sum_rules
from dimfree.onepass.projected.phases import phase
from dimfree.onepass.projected.population import every_mode, levels, power_law
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.readings.frontier import lowest

STEPS = np.array([0, 1, 7, 50, 400])


def one_projection(alpha=0.7, beta=1.2, v=300, d=20, seed=3):
    j = np.arange(1.0, v + 1)
    return drawn(j ** (-2 * alpha), j**-beta, np.random.default_rng(seed).standard_normal((v, d)) / np.sqrt(d))


def draws(alpha, beta, v, d, count):
    return [one_projection(alpha, beta, v, d, seed) for seed in range(count)]


@pytest.mark.parametrize(
    ("alpha", "beta", "v", "d"),
    [
        (0.7, 1.2, 2000, 256),
        (1.0, 0.7, 1e6, 1e4),
        (0.4, 0.8, 4e5, 1e5),
        (2.0, 1.0, 1e5, 1000),
        (1.0, 0.7, 1e3, 3),
        (1.2, 2.0, 1e11, 1e8),
        (0.27, 0.8, 4 * 2.0**60, 2.0**60),
        (0.6, 0.3, 110, 100),
        (5.0, 1.0, 1e12, 1e9),
    ],
)
def test_sum_rules_hold_and_weights_are_positive(alpha, beta, v, d):
    population = power_law(alpha, beta, v)
    found = equivalent(population, d)
    errors = sum_rules(found, population, d)
    assert max(errors["energy"], errors["trace"], errors["square"]) < 1e-8
    assert errors["count"] < 1e-7
    assert min(found.f.min(), found.k.min(), found.x.min(), found.y.min()) > 0


def test_rules_that_miss_their_sums_are_refused(monkeypatch):
    rules = measures.gauss_rules

    def broken(*given):
        (x, f), (y, k) = rules(*given)
        return (x, f), (y, 1.001 * k)

    monkeypatch.setattr(measures, "gauss_rules", broken)
    with pytest.raises(RefusalError, match=r"size 20 misses its sum rules by 1.0e-03"):
        equivalent(power_law(0.7, 1.2, 300), 20)


def test_variances_that_fall_out_of_the_range_of_numbers_are_refused():
    with pytest.raises(RefusalError, match=r"size 1e\+16 misses its sum rules by .*; choose another size"):
        equivalent(power_law(5.0, 1.0, 1e19), 1e16)


@pytest.mark.parametrize(
    ("alpha", "beta", "shares"),
    [(1.0, 0.7, (0.55, 0.79, 0.92, 0.992, 0.999)), (0.7, 1.2, (0.30, 0.50, 0.66, 0.87, 0.95))],
)
def test_few_inputs_take_as_much_of_the_capacity_as_the_sheet_says(alpha, beta, shares):
    """docs/theory/scaling.md, section 7: what no weights reach at 2, 4, 10, 100, 1000 inputs for every feature."""
    whole = companion.capacity(power_law(alpha, beta, 1e12), 1e4)[1]
    found = [companion.capacity(power_law(alpha, beta, 1e4 * ratio), 1e4)[1] / whole for ratio in (2, 4, 10, 100, 1000)]
    np.testing.assert_allclose(found, shares, atol=0.007)


def test_nodes_of_a_power_law_stand_for_all_its_modes():
    steps = np.geomspace(1, 1e5, 12)
    found = [
        mean_risks(equivalent(population, 64), 0.2, 1, 0.1, steps)
        for population in (power_law(0.8, 0.6, 3000), every_mode(0.8, 0.6, 3000))
    ]
    np.testing.assert_allclose(*found, rtol=2e-9)


def test_kernel_is_that_of_one_large_contour():
    """F and K by the trapezoidal rule on one circle around the whole spectrum, with all modes."""
    population, d, gamma = every_mode(0.7, 1.2, 500), 40.0, 0.3
    angles = (np.arange(1500) + 0.5) * np.pi / 1500
    centre = 1.5
    z = centre + centre * np.exp(1j * angles)
    m = companion.anywhere(population, d, z)
    r = 9
    power = (1 - 2 * gamma * z + 2 * gamma**2 * z**2) ** r
    dz = 1j * (z - centre) * np.pi / 1500
    whole = -np.imag(np.sum(power * companion.noise(population, z, m) * dz)) / np.pi
    rule = equivalent(population, d)
    found = np.sum(rule.k * (1 - 2 * gamma * rule.y + 2 * gamma**2 * rule.y**2) ** r)
    np.testing.assert_allclose(found, whole, rtol=1e-5)


@pytest.mark.parametrize(("batch", "Delta"), [(1, 0.0), (3, 0.2)])
def test_three_ways_to_the_exact_mean_agree(batch, Delta):
    one, gamma = one_projection(), 0.15
    rule = LinearRule(20 * one.eigenvalues, np.ones(20), gamma, Delta + one.Delta_W, batch)
    by_eigenproblem = exact_risks(rule, one.theta**2 / 20, STEPS) + one.Delta_W / 2
    at_once = mean_risks(one.measures, gamma, batch, Delta, STEPS)
    by_steps = stepwise_risks(one.measures, np.full(400, gamma), np.full(400, batch), Delta, STEPS)
    np.testing.assert_allclose(at_once, by_eigenproblem, rtol=1e-11)
    np.testing.assert_allclose(by_steps, by_eigenproblem, rtol=1e-11)


def test_momentum_is_that_of_a_linear_network():
    one, gamma = one_projection(), 0.03
    rule = LinearRule(20 * one.eigenvalues, np.ones(20), gamma, 0.1 + one.Delta_W, 2)
    found = stepwise_risks(one.measures, np.full(400, gamma), np.full(400, 2), 0.1, STEPS, momentum=0.8)
    expected = momentum_risks(rule, 0.8, one.theta**2 / 20, STEPS) + one.Delta_W / 2
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_the_equivalent_moves_alike_at_once_and_step_by_step():
    found = equivalent(power_law(0.4, 0.8, 800), 100)
    at_once = mean_risks(found, 0.05, 2, 0.1, STEPS)
    np.testing.assert_allclose(
        at_once, stepwise_risks(found, np.full(400, 0.05), np.full(400, 2), 0.1, STEPS), rtol=1e-11
    )


def test_late_times_of_a_graded_spectrum_keep_their_digits():
    """Two modes thirty orders of magnitude apart: the slow one is left, and the noise that it drives in the fast one."""
    slow = 1e-30
    one = measures.Measures(
        np.array([slow, 1.0]), np.array([slow, 1.0]), np.array([slow, 1.0]), np.array([slow**2, 1.0]), 0.0
    )
    found = mean_risks(one, 0.1, 1, 0.0, np.array([1e29]))
    np.testing.assert_allclose(found, slow * np.exp(-2 * 0.1 * slow * 1e29) / 2 / (1 - 0.1 / 1.8), rtol=1e-9)


def test_parts_of_the_risk_add_up_and_end_where_they_must():
    found = equivalent(power_law(0.7, 1.2, 2000), 50)
    gamma, Delta = 0.15, 0.1
    parts = mean_shares(found, gamma, 1, Delta, np.array([1e9]))
    chi_ = chi(found, gamma, 1)
    np.testing.assert_allclose(parts.capacity, found.Delta_W)
    np.testing.assert_allclose(parts.unlearnt, 0, atol=1e-12)
    np.testing.assert_allclose(parts.step_noise, (Delta + found.Delta_W) * chi_ / (1 - chi_), rtol=1e-8)


@pytest.mark.parametrize("batch", [1, 8])
def test_the_risk_grows_above_the_critical_rate_and_not_below(batch):
    one = one_projection().measures
    limit = critical_rate(one, batch)
    late = np.array([2e3, 4e3])
    below, above = (np.diff(mean_risks(one, share * limit, batch, 0.0, late))[0] for share in (0.95, 1.05))
    assert below <= 1e-9
    assert above > 1e-3


def test_stability_of_the_equivalent_is_the_sum_over_its_nodes():
    population = power_law(0.7, 1.2, 2000)
    found = equivalent(population, 100)
    np.testing.assert_allclose(companion.stability(population, 100, 0.15, 1), chi(found, 0.15, 1), rtol=1e-7)
    assert companion.stability(population, 100, 1.001 * companion.critical_rate(population, 100, 4), 4) > 1
    assert companion.stability(population, 100, 10.0, 4) == np.inf


def test_the_equivalent_is_the_mean_over_projections_up_to_one_over_the_size():
    population, steps = power_law(0.4, 0.8, 200), np.array([10, 100])
    gamma = 0.5 / population.trace
    means = np.array([mean_risks(one.measures, gamma, 1, 0.0, steps) for one in draws(0.4, 0.8, 200, 24, 150)])
    found = mean_risks(equivalent(population, 24), gamma, 1, 0.0, steps)
    off, error = means.mean(0) / found - 1, means.std(0) / found / np.sqrt(150)
    assert np.all(np.abs(off) < 0.5 / 24 + 4 * error)
    assert np.all(error < 0.02)


def test_a_schedule_ends_where_its_name_says():
    steps = 10
    np.testing.assert_allclose(rates("wsd", steps), [1.0] * 9 + [0.5])
    np.testing.assert_allclose(rates("linear", steps), 1 - np.arange(10) / 10)
    with pytest.raises(ProblemError, match=r"'cosin'.*'cosine'"):
        rates("cosin", 10)


def test_wheeler_returns_a_rule_that_it_is_given():
    u, w = np.array([-0.7, 0.1, 0.6]), np.array([0.2, 1.0, 0.5])
    moments = np.cos(np.arange(10)[:, None] * np.arccos(u)) @ w
    nodes, weights = wheeler(moments)
    np.testing.assert_allclose(nodes, u, atol=1e-9)
    np.testing.assert_allclose(weights, w, atol=1e-9)


def test_steps_to_a_target_are_where_the_risk_is():
    found = equivalent(power_law(0.7, 1.2, 2000), 100)
    steps = steps_to(found, 0.15, 2, 0.0, 0.01)
    np.testing.assert_allclose(mean_risks(found, 0.15, 2, 0.0, np.array([steps])), 0.01, rtol=1e-9)
    assert steps_to(found, 0.15, 2, 0.0, 1e-9) == np.inf
    assert steps_to(found, 0.15, 2, 0.0, 1.0) == 0


def test_a_minimum_at_the_end_of_the_list_is_none():
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    risks = np.array([[1.0, 4.0], [0.5, 2.0], [0.7, 1.0], [1.0, 0.5]])
    found = lowest(sizes, risks, np.array([10.0, 20.0]))
    assert 1 < found.size[0] < 4
    assert found.risk[0] <= 0.5
    assert np.isnan([found.size[1], found.risk[1]]).all()


def test_exponents_of_a_power_law_are_its_own():
    j = np.arange(1.0, 20_001)
    found = exponents.exponents(j**-1.4, j**-3.0, 5, 60)
    assert abs(found.alpha - 0.7) < 1e-9
    assert abs(found.beta - 0.8) < 2e-3
    with pytest.raises(ProblemError, match=r"ranks 5 to 6 out of 20000.*at least 5.*wider window"):
        exponents.exponents(j**-1.4, j**-3.0, 5, 6)


def test_a_projection_that_hides_nothing_is_refused():
    with pytest.raises(ProblemError, match="size 512 is not below inputs 512: nothing is hidden"):
        equivalent(power_law(0.7, 1.2, 512), 512)


def test_levels_put_equal_values_together():
    found = levels(np.array([1.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3]), np.array([2.0, 1.0, 1.0]))
    np.testing.assert_allclose(found.h, [2, 1])
    np.testing.assert_allclose(found.counts, [1, 3])
    np.testing.assert_allclose(found.e, [0.2, 0.5])


def test_phases_meet_at_their_borders():
    """Exponents are continuous from II to III, from Ia to II and from IVa to III."""
    for one, other in [((1, 0.999999), (1, 1.000001)), ((1, 0.499999), (1, 0.500001)), ((0.499999, 1), (0.500001, 1))]:
        np.testing.assert_allclose(phase(*one)[2:], phase(*other)[2:], atol=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.7), (1.2, 2.0)])
def test_embedding_is_nothing_at_the_start_and_falls_as_the_sheet_says(alpha, beta):
    """F_ac ~ t^(-1 + 1/(2 alpha)) of (3.1), and what is not yet learnt ~ t^(-(2 alpha + 2 beta - 1)/(2 alpha))."""
    population, d = power_law(alpha, beta, 1e11), 1e8
    found = parts(
        equivalent(population, d), population, d, Rule(0.5 / population.trace, 1), 0.0, np.array([0, 1e6, 1e7])
    )
    assert abs(found.embedding[0]) < 1e-6 * population.energy
    slopes = {name: np.log10(getattr(found, name)[2] / getattr(found, name)[1]) for name in ("embedding", "unlearnt")}
    np.testing.assert_allclose(slopes["embedding"], -1 + 1 / (2 * alpha), atol=0.01)
    np.testing.assert_allclose(slopes["unlearnt"], -(2 * alpha + 2 * beta - 1) / (2 * alpha), atol=0.01)


def test_parts_add_up_to_the_risk():
    population = power_law(0.7, 1.2, 1000)
    measures, steps = equivalent(population, 50), np.array([1, 30, 1000])
    found = parts(measures, population, 50, Rule(0.1, 2), 0.05, steps)
    np.testing.assert_allclose(sum(found) / 2, mean_risks(measures, 0.1, 2, 0.05, steps), rtol=1e-12)


def test_errors_of_exponents_cover_the_spacing_of_sizes():
    """A risk whose minimum is known: a d^-1 + d^0.5/C has its best size at C^(2/3), which three sizes miss by a little."""
    sizes, compute = 2.0 ** np.arange(2, 14, 0.5), np.geomspace(1e3, 1e5, 9)
    risks = np.array([1 / d + 2 * d**0.5 / compute for d in sizes])
    found = lowest(sizes, risks, compute)
    p, _ = found.local_exponents()
    error, _ = found.exponent_errors()
    assert np.abs(p - 2 / 3).max() < 3 * error.max()
    assert error.max() < 0.02


@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("shape", ["constant", "cosine", "linear", "wsd"])
def test_blocks_of_steps_end_where_single_steps_do(shape, momentum):
    population, steps = power_law(0.7, 1.2, 2000), 3000
    found, gamma = equivalent(population, 50), (1 - momentum) * 0.5 / population.trace
    ends = shares(found, Rule(gamma, 2, momentum, shape), 0.05, np.array([20, steps])).risk
    for n, end in zip((20, steps), ends, strict=True):
        one_by_one = stepwise_risks(found, gamma * rates(shape, n), np.full(n, 2), 0.05, np.array([n]), momentum)
        np.testing.assert_allclose(end, one_by_one, rtol=1e-12 if n == 20 else 5e-4)


def test_blocks_of_steps_reach_times_without_end():
    """Against the formula for all times: blocks at a constant rate, between whole steps and after a billion of them."""
    population, steps = power_law(1.0, 0.7, 1e5), np.array([2.5, 40.5, 1e4, 1e9])
    found, rule = equivalent(population, 100), Rule(0.5 / population.trace, 1)
    walk = walked(found, rule, 0.0, steps)
    risks = (found.Delta_W + walk.signal.sum(axis=1) + walk.noise @ found.k) / 2
    np.testing.assert_allclose(risks[2:], mean_risks(found, rule.gamma, 1, 0.0, steps[2:]), rtol=1e-5)
    np.testing.assert_allclose(risks[:2], mean_risks(found, rule.gamma, 1, 0.0, steps[:2]), rtol=2e-2)


@pytest.mark.parametrize(("batch", "momentum"), [(1, 0.5), (4, 0.9), (1000, 0.9)])
def test_the_limit_of_stability_with_momentum_is_that_of_all_second_moments(batch, momentum):
    """The largest eigenvalue of the map of (D, S, T) of all modes, with the noise that couples them, passes 1 there."""
    one = one_projection(d=12).measures
    limit = critical_rate(one, batch, momentum)

    def growth(gamma):
        n, pull = len(one.y), gamma * one.y
        D, S, T = np.eye(3 * n).reshape(3, n, 3 * n)
        drive = gamma**2 / batch * np.outer(one.y, one.y @ D)
        T = momentum**2 * T + ((2 * momentum * pull) * S.T + ((1 + 1 / batch) * pull**2) * D.T).T + drive
        S = momentum * S + (pull * D.T).T
        D = D - 2 * S + T
        return np.abs(np.linalg.eigvals(np.concatenate([D, S - T, T]))).max()

    assert growth(0.998 * limit) < 1 < growth(1.002 * limit)


def test_momentum_moves_the_limit_of_the_equivalent_like_that_of_its_nodes():
    population = power_law(0.7, 1.2, 2000)
    found = equivalent(population, 100)
    limits = [companion.critical_rate(population, 100, 2, beta) for beta in (0.0, 0.6)]
    np.testing.assert_allclose(limits, [critical_rate(found, 2, beta) for beta in (0.0, 0.6)], rtol=1e-6)
    np.testing.assert_allclose(companion.stability(population, 100, limits[1], 2, 0.6), 1, rtol=1e-9)
