"""Claims of the escape figures: true on right data, false when one ingredient is wrong."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import dimfree as df
from dimfree.gallery.information_exponent import InformationExponent, Sizes, escape_dataset
from dimfree.gallery.noise_matters import NoiseMatters
from dimfree.gallery.width_matters import WidthMatters
from dimfree.questions.escape.scaling import Point, Scaling
from dimfree.questions.exit_times import formulas as exit_times


def silent(text, fraction):
    assert 0 <= fraction <= 1


def verdicts(entry, data):
    return [claim.holds for claim in entry.claims(data)]


def drawn(entry, data):
    figure = Figure(layout="constrained")
    entry.draw(data, figure)
    return figure


# information exponents: from made-up times, and measured


def made_up(powers, logarithm=True):
    """Times that grow like these powers of d, the second logarithmically."""
    laws = {n: (lambda d, x=x: 0.5 * d**x) for n, x in enumerate(powers, start=1)}
    if logarithm:
        laws[2] = lambda d: 0.16 * np.log(50 * d)
    tree = {}
    for n, law in laws.items():
        d = np.array([100.0, 1000.0, 10_000.0])
        predicted = 0.16 * np.log(50 * d) if n == 2 else law(d)
        plan = tuple(
            Point(int(x), x ** (-max(n - 2, 0) / 2), t, 1.0, 1.0) for x, t in zip(d, predicted.tolist(), strict=True)
        )
        tree[f"exponent-{n}"] = escape_dataset(
            Scaling(df.Problem(), n, plan, law(d)[:, None] * np.array([[0.9, 1.0, 1.1]]))
        )
    return xr.DataTree.from_dict(tree)


def test_exponents_of_the_table_and_others():
    entry = InformationExponent()
    right = made_up((0.0, 0.0, 0.5))
    assert all(verdicts(entry, right))
    assert verdicts(entry, made_up((0.2, 0.0, 0.2))) == [True, False, True, True, False, False]
    assert verdicts(entry, made_up((0.0, 0.5, 0.5), logarithm=False)) == [True, True, False, False, True, True]
    stuck = right.copy(deep=True)
    stuck["exponent-3"]["stayed"][0] = 1
    assert verdicts(entry, stuck) == [False, True, True, True, True, True]
    assert len(drawn(entry, right).axes) == 2


@pytest.mark.slow
def test_a_link_of_another_exponent_is_noticed():
    """He_2 in the place of He_3: its times do not grow like a square root."""
    small = (
        Sizes(0.5, (100, 1000), (), 32),
        Sizes(0.04, (100, 1000), (), 64),
        Sizes(0.0004, (100, 200, 400), (), 32, 3.0),
    )
    right = InformationExponent(sizes=small)
    assert all(verdicts(right, right.measure(False, silent)))
    wrong = InformationExponent(links=("he1", "he2", "he2"), sizes=(*small[:2], Sizes(0.04, (100, 1000), (), 32)))
    assert verdicts(wrong, wrong.measure(False, silent))[-2:] == [False, False]


# width


def by_formula(entry, measured):
    """A dataset as `measure` makes it, with exits of SGD given by a formula."""
    widths, rows = [1, 2, 4, 10], []
    for width in widths:
        rule = (0.1, 0.03, width, 0.01, 1000)
        rows.append((measured(*rule), 0.02, 0.0, exit_times.annealed(*rule), float(entry.quenched(*rule).value)))
    columns = zip(("measured", "error", "stayed", "annealed", "quenched"), np.array(rows).T, strict=True)
    attrs = {"dimension": 1000, "learning_rate": 0.03, "noise": 0.01, "threshold": 0.1}
    return xr.Dataset({name: ("width", x) for name, x in columns}, coords={"width": widths}, attrs=attrs)


def annealed(*rule):
    return exit_times.Estimate(exit_times.annealed(*rule), 0.0)


def test_the_quenched_formula_is_the_right_one():
    entry = WidthMatters()
    right = by_formula(entry, lambda *rule: 1.02 * exit_times.quenched(*rule, draws=500).value)
    assert all(verdicts(entry, right))
    assert len(drawn(entry, right).axes) == 2
    wrong = WidthMatters(quenched=annealed)
    held = verdicts(wrong, by_formula(wrong, lambda *rule: exit_times.quenched(*rule, draws=500).value))
    assert held[1] is False
    assert held[4] is False
    mistaken = verdicts(entry, by_formula(entry, exit_times.annealed))
    assert mistaken[2] is False
    assert verdicts(entry, right.assign(stayed=right["stayed"] + 1))[0] is False
    flat = verdicts(entry, right.assign(measured=right["measured"] * 0 + 0.8))
    assert flat[-1] is False


@pytest.mark.slow
def test_width_as_measured():
    entry = WidthMatters(sizes=((1, 400), (6, 60)), dimension=500)
    data = entry.measure(False, silent)
    assert all(verdicts(entry, data))
    assert (data["error"] > 0).all()


# noise


@pytest.mark.slow
def test_noise_as_measured_and_with_wrong_ingredients():
    """Gradient flow in the place of the diffusion, the rates exchanged, and the ODE in the place of SGD."""
    entry = NoiseMatters(dimension=1000, replicas=150)
    data = entry.measure(False, silent)
    assert all(verdicts(entry, data))
    assert len(drawn(entry, data).axes) == 2
    deterministic = replace(entry, theory=df.theories.GradientFlow())
    assert verdicts(deterministic, deterministic.measure(False, silent))[:3] == [False] * 3
    exchanged = xr.DataTree(children={"small": data["large"], "large": data["small"]})
    held = verdicts(entry, exchanged)
    assert [held[3], held[4], held[6]] == [False] * 3
    blind = data.copy(deep=True)
    for case in ("small", "large"):
        blind[f"{case}/chain"] = blind[f"{case}/ode"]
    assert verdicts(entry, blind)[3:6] == [False] * 3
