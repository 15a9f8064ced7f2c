"""Adapters of scaling laws at parameters drawn anew: exact means, equivalents, limits of stability, beside plain NumPy."""

from typing import Any

import numpy as np
import plain_projection as plain
import pytest
from chance import Checks

from dimfree.onepass.projected.phases import phase
from dimfree.reference.check import ADAPTERS

pytestmark = pytest.mark.slow
_LAST = 1500  # step of the Volterra equation


def exponents(rng: np.random.Generator) -> dict[str, float]:
    return {"alpha": float(rng.uniform(0.3, 1.2)), "beta": float(rng.uniform(0.3, 1.5))}


def law(rng: np.random.Generator) -> dict[str, Any]:
    """A power law of which all modes can be summed, and a size that hides some of them."""
    v = int(rng.integers(60, 400))
    return {**exponents(rng), "v": v, "d": int(rng.integers(2, 0.9 * v))}


def drawn(rng: np.random.Generator) -> tuple[dict[str, Any], plain.Projected]:
    """One projection to a few features, in both ways."""
    inputs = law(rng) | {"d": int(rng.integers(3, 13)), "seed": int(rng.integers(2**31))}
    h, b = plain.modes(inputs["alpha"], inputs["beta"], inputs["v"])
    return inputs, plain.Projected(h, b, plain.projection(inputs["v"], inputs["d"], inputs["seed"]))


def rule(rng: np.random.Generator, limit: float) -> dict[str, Any]:
    """A stable rate, at which nothing on the curve of the contour grows."""
    return {"gamma": float(rng.uniform(0.1, 0.5)) * limit, "Delta": float(rng.choice([0.0, 0.1]))}


def check(checks: Checks, kind: str, inputs: dict[str, Any], expected: dict[str, Any], rtol: float) -> None:
    """What the adapter of a kind finds for these inputs."""
    found = ADAPTERS[f"scaling_{kind}"](inputs)
    for name, values in expected.items():
        wanted = np.asarray(values, float)
        words = f"{kind} {name} at { {key: value for key, value in inputs.items() if np.ndim(value) == 0} }"
        checks.bounded(words, found[name], wanted, rtol * np.abs(wanted) + 1e-13)


def test_one_projection_along_any_rates_and_batches(rng, cases, checks):
    for _ in range(3 * cases):
        inputs, one = drawn(rng)
        steps = int(rng.integers(30, 300))
        r = np.arange(steps)
        shape, decay, power = str(rng.choice(["cosine", "linear", "wsd", "power", "constant"])), 0.3, 0.7
        factors = {
            "cosine": (1 + np.cos(np.pi * r / steps)) / 2,
            "linear": 1 - r / steps,
            "wsd": np.minimum(1, (1 - r / steps) / decay),
            "power": (1.0 + r) ** -power,
            "constant": np.ones(steps),
        }[shape]
        inputs |= rule(rng, 1 / np.linalg.eigvalsh(one.K)[-1] / 2)
        batches = rng.integers(1, 9, steps)
        risks = one.risks(inputs["gamma"] * factors, batches, inputs["Delta"])
        inputs |= {"schedule": shape, "decay": decay, "power": power, "steps": steps, "batch": batches.tolist()}
        inputs["record"] = [0, 1, steps // 2, steps]
        check(checks, "drawn_schedule", inputs, {"risk": risks[inputs["record"]]}, 1e-9)
    checks.settle()


def test_one_projection_at_a_constant_rate_and_with_momentum(rng, cases, checks):
    for _ in range(3 * cases):
        inputs, one = drawn(rng)
        steps, m, momentum = [0, 1, 17, 400], int(rng.integers(1, 9)), float(rng.uniform(0.2, 0.95))
        inputs |= rule(rng, 1 / np.linalg.eigvalsh(one.K)[-1] / 2) | {"batch": m}
        plainly = [one.risks(np.full(400, inputs["gamma"]), np.full(400, m), inputs["Delta"], s) for s in (0, momentum)]
        check(checks, "drawn_risk", inputs | {"steps": steps}, {"risk": plainly[0][steps]}, 1e-8)
        moving = inputs | {"record": steps, "momentum": momentum}
        check(checks, "drawn_momentum", moving, {"risk": plainly[1][steps]}, 1e-8)
        values = np.linalg.eigvalsh(one.K)[::-1]
        expected = {
            "floor_risk": one.unreached / 2,
            "smallest": values[-1],
            "theta_norm2": one.best @ one.best,
            "explained": one.best @ one.K @ one.best,
        }
        check(checks, "drawn_model", inputs, expected | ({"eigenvalues": values[:5]} if len(values) > 4 else {}), 1e-8)
    checks.settle()


def test_stability_is_where_second_moments_begin_to_grow(rng, cases):
    for _ in range(cases):
        inputs, one = drawn(rng)
        batches = [1, int(rng.integers(2, 20)), 1000]
        limits = ADAPTERS["scaling_stability"](inputs | {"batch": batches, "gamma": 0.1})["drawn"]
        for limit, m in zip(limits, batches, strict=True):
            below, above = (one.growth(share * limit, m) for share in (0.999, 1.001))
            assert below < 1 < above, (inputs, m, limit)


def test_the_equivalent_is_what_contours_and_the_volterra_equation_say(rng, cases, checks):
    for _ in range(cases):
        inputs = law(rng)
        one = plain.power_law(*(inputs[name] for name in ("alpha", "beta", "v", "d")))
        low, high = one.edges()
        inputs |= rule(rng, 1 / high / 2) | {"batch": int(rng.integers(1, 9))}
        gamma, m, steps = inputs["gamma"], inputs["batch"], [0, 1, 10, 100, _LAST]
        z = np.exp(rng.uniform(np.log(low), np.log(high), 4)) * np.exp(1j * rng.uniform(0.2, 3.0, 4))
        s = one.transform(z)
        signal = -((1 / (1 + s[:, None] * one.h)) @ one.e) / z
        points = {"z_real": z.real.tolist(), "z_imag": z.imag.tolist()}
        expected = {"real": s.real, "imag": s.imag, "signal_real": signal.real, "signal_imag": signal.imag}
        check(checks, "companion", inputs | points, expected, 1e-9)
        floor = {"kappa": one.kappa, "floor_risk": one.unreached / 2, "lower_edge": low, "upper_edge": high}
        check(checks, "floor", inputs | {"d": [inputs["d"]]}, {name: [value] for name, value in floor.items()}, 1e-7)
        F, K = one.terms(gamma, m, np.array(steps))
        check(checks, "forcing_kernel", inputs | {"steps": steps}, {"F": F, "K": K}, 1e-6)
        risks = one.risks(gamma, m, inputs["Delta"], _LAST)
        check(checks, "risk_equivalent", inputs | {"steps": steps}, {"risk": risks[steps]}, 1e-6)
        if gamma * (1 + 1 / m) * high < 1.2:  # the pole is beyond the curve
            check(checks, "risk_equivalent", inputs | {"steps": [1]}, {"chi": one.chi(gamma, m)}, 1e-7)
        target = float(risks[0] ** 0.6 * risks[-1] ** 0.4) if risks[-1] < risks[0] else np.inf
        asked = {"batch": [m], "gamma": [gamma], "target": target}
        if np.isfinite(target) and not inputs["Delta"]:
            (found,) = ADAPTERS["scaling_batches"](inputs | asked)["steps"]
            passed = int(np.flatnonzero(risks <= target)[0])
            checks.bounded(f"steps to {target:.3g}, {inputs}", found, passed - 0.5, 0.5 + 1e-6)
    checks.settle()


def test_a_spectrum_of_levels_is_what_contours_say(rng, cases, checks):
    for _ in range(2 * cases):
        count = int(rng.integers(1, 6))
        h = np.sort(np.exp(rng.uniform(-4, 0.5, count)))[::-1]
        counts, e = rng.integers(1, 60, count), rng.uniform(0, 1, count)
        d = int(rng.integers(1, max(counts.sum() - 1, 2)))
        if d >= counts.sum():
            continue
        one = plain.Limit(h, counts.astype(float), counts * e, d)
        inputs = rule(rng, 1 / one.edges()[1] / 2) | {"batch": int(rng.integers(1, 5)), "steps": [1, 10, 300]}
        risks = one.risks(inputs["gamma"], inputs["batch"], inputs["Delta"], 300)[inputs["steps"]]
        inputs |= {"eigenvalues": h.tolist(), "energies": e.tolist(), "multiplicities": counts.tolist(), "d": d}
        check(checks, "levels", inputs, {"floor_risk": one.unreached / 2, "risk": risks}, 1e-6)
    checks.settle()


def test_phases_are_balances_of_the_four_terms(rng, cases, checks):
    for _ in range(30 * cases):
        point = float(rng.uniform(0.05, 1.5)), float(rng.uniform(-0.2, 2))
        if sum(point) > 0.55:  # beside the border p is not sharp
            found = phase(*point)
            checks.bounded(f"exponents of phase {found.name} at {point}", found[2:], plain.balance(*point), 3e-5)
    checks.settle()


def test_a_small_frontier_is_that_of_parabolas_through_volterra_risks(rng, checks):
    a, b = exponents(rng).values()
    sizes, C, share = [4.0, 6.0, 8.0, 11.0, 16.0, 23.0, 32.0, 45.0], [3e3, 1e4], 0.4
    risks = np.full((len(sizes), 2), np.nan)
    for row, d in enumerate(sizes):
        one = plain.power_law(a, b, int(4 * d), d)
        every = one.risks(share / one.h.sum(), 1, 0.0, int(C[-1] / d) + 2)
        steps = np.array(C) / d
        at = np.arange(len(every))
        risks[row] = [np.exp(np.interp(n, at, np.log(every))) for n in steps]
    lowest, size = [], []
    for column in risks.T:
        best = int(column.argmin())
        if not 0 < best < len(sizes) - 1:
            lowest.append(np.nan)
            size.append(np.nan)
            continue
        x, y = np.log(sizes[best - 1 : best + 2]), np.log(column[best - 1 : best + 2])
        c = np.polyfit(x, y, 2)
        place = -c[1] / (2 * c[0])
        lowest.append(np.exp(np.polyval(c, place)))
        size.append(np.exp(place))
    inputs = {"alpha": a, "beta": b, "v_per_d": 4, "rate_times_trace": share, "batch": 1, "sizes": sizes, "C": C}
    found = ADAPTERS["scaling_frontier"](inputs)
    np.testing.assert_allclose(found["risk"], lowest, rtol=1e-4)
    np.testing.assert_allclose(found["size"], size, rtol=0.01)


def test_exponents_of_a_table_are_weighted_straight_lines(rng, cases, checks):
    for _ in range(5 * cases):
        n = int(rng.integers(40, 400))
        h = np.sort(np.arange(1.0, n + 1) ** -rng.uniform(0.6, 2.4) * np.exp(0.1 * rng.standard_normal(n)))[::-1]
        e = np.arange(1.0, n + 1) ** -rng.uniform(1.2, 4) * np.exp(0.5 * rng.standard_normal(n))
        first = int(rng.integers(1, 10))
        last = int(rng.integers(first + 5, n))
        j = np.arange(first, last + 1)
        tails = np.array([e[k - 1 :].sum() for k in j])
        expected = {}
        lines = []
        for name, x, y in (("spectrum", np.log(j), np.log(h[j - 1])), ("tail", np.log(j - 0.5), np.log(tails))):
            c = np.polyfit(x, y, 1, w=j**-0.5)
            expected[f"residual_{name}"] = np.sqrt(np.average((y - np.polyval(c, x)) ** 2, weights=1 / j))
            lines.append(c[0])
        expected |= {"alpha": -lines[0] / 2, "beta": (1 - lines[1]) / 2 + lines[0] / 2}
        inputs = {"eigenvalues": h.tolist(), "energies": e.tolist(), "first": first, "last": last}
        check(checks, "estimate", inputs, expected, 1e-9)
    checks.settle()
