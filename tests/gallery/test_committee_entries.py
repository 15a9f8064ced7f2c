"""The claims of the committee figures hold, and each fails when an ingredient of the figure is wrong."""

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import pytest
import xarray as xr

from dimfree.description import AnyDescription
from dimfree.gallery import mean_field_density
from dimfree.gallery.classical import Classical, ClassicalK2, ClassicalK5
from dimfree.gallery.entry import Entry
from dimfree.gallery.high_dimensional import HighDimensionalRegime
from dimfree.gallery.mean_field_density import MeanFieldDensity
from dimfree.gallery.regimes import Regimes
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.wide_networks import WideNetworks
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
from dimfree.onepass.limits.wide import Dimensionless, MeanField, density
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass
from dimfree.problem import Problem, Run

ENTRIES: dict[str, Callable[[], Entry]] = {
    "classical-k2": ClassicalK2,
    "classical-k5": ClassicalK5,
    "high-dimensional": HighDimensionalRegime,
    "regimes": Regimes,
    "wide-networks": WideNetworks,
    "mean-field-density": MeanFieldDensity,
}


class FrozenNorms(Dimensionless):
    """Wrong on purpose: the orthogonal norms do not move."""

    name: ClassVar[str] = "frozen-norms"

    def twin(self, model):
        return self, model

    def terms(self, model, state):
        right = super().terms(model, state)
        return right._replace(Psiq=jnp.zeros_like(right.Psiq))


class StandingStill(FrozenNorms):
    """Wrong on purpose: nothing moves."""

    name: ClassVar[str] = "standing-still"

    def twin(self, model):
        return self, model

    def terms(self, model, state):
        right = super().terms(model, state)
        return right._replace(PsiM=jnp.zeros_like(right.PsiM))


class TooFast(HighDimensional):
    """Wrong on purpose: time runs five per cent too fast."""

    name: ClassVar[str] = "too-fast"

    def twin(self, model):
        return self, model

    def velocity(self, model, t, state):
        return jax.tree.map(lambda rate: 1.05 * rate, super().velocity(model, t, state))


def silent(text: str, fraction: float) -> None:
    """Nobody watches."""


_measured: dict[str, xr.DataTree] = {}


def measured(name: str) -> xr.DataTree:
    """The default measurement, made once."""
    if name not in _measured:
        _measured[name] = ENTRIES[name]().measure(False, silent)
    return _measured[name]


def with_theories_of(wrong: Entry, data: xr.DataTree) -> xr.DataTree:
    """The same runs of SGD beside the theories of another entry."""
    tree = data.copy()
    for name, case in wrong.cases(False).items():
        theories = tuple(one for one in case.descriptions if not one.stochastic and one.title not in tree[name])
        if theories:
            tree[name] = xr.DataTree(
                children=dict(tree[name].children)
                | dict(run_cases({name: Case(case.problem, theories)}, silent)[name].children)
            )
    return tree


def failing(entry: Entry, data: xr.DataTree) -> set[int]:
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_claims_hold(name):
    entry = ENTRIES[name]()
    assert not [claim for claim in entry.claims(measured(name)) if not claim.holds]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("classical-k2", ClassicalK2(theory=MeanField()), {0, 1}),
        ("classical-k5", ClassicalK5(theory=MeanField()), {0, 1}),
        ("high-dimensional", HighDimensionalRegime(theory=GradientFlow()), {2, 4}),
        ("high-dimensional", HighDimensionalRegime(without=HighDimensional()), {3, 4}),
        ("high-dimensional", HighDimensionalRegime(theory=TooFast()), {0, 1}),
        ("regimes", Regimes(theory=GradientFlow()), {3}),
        (
            "wide-networks",
            WideNetworks(dimensionless=StandingStill(), mean_field=StandingStill(label="still")),
            {0, 1, 2},
        ),
        ("wide-networks", WideNetworks(mean_field=StandingStill()), {1, 3}),
        ("mean-field-density", MeanFieldDensity(theory=FrozenNorms(self_term=False)), {0, 1, 2, 4}),
        ("mean-field-density", MeanFieldDensity(theory=StandingStill(self_term=False)), {0, 1, 2, 3, 4, 5}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Entry) else None,
)
def test_a_wrong_theory_fails(name, wrong, expected):
    assert failing(wrong, with_theories_of(wrong, measured(name))) >= expected


@pytest.mark.slow
def test_without_a_second_teacher_unit_nothing_specialises():
    wrong: Classical = ClassicalK2(units=1)
    assert failing(wrong, wrong.measure(False, silent)) >= {2, 3, 4}


@pytest.mark.slow
def test_wrong_exponents_fail():
    """Every family at an exponent that is not its own, as small as its dimensions allow."""
    wrong = Regimes(exponents=(0.0, 0.5, 0.0, -0.25))
    assert failing(wrong, wrong.measure(False, silent)) >= {0, 2, 4, 5, 6, 7}


@pytest.mark.slow
def test_label_noise_that_was_not_doubled_is_noticed():
    data = measured("regimes").copy()
    data["noisy"] = data["perfect-256"].copy()
    assert failing(Regimes(), data) == {1}


@pytest.mark.slow
def test_a_density_that_loses_mass_is_noticed(monkeypatch):
    data = measured("mean-field-density")

    def leaking(M, q, bins=40):
        right = density(M, q, bins)
        return right._replace(mass=0.99 * right.mass)

    monkeypatch.setattr(mean_field_density, "density", leaking)
    assert failing(MeanFieldDensity(), data) == {6}


def test_a_case_that_fails_says_why():
    from dimfree.errors import DimfreeError

    blown_up = Problem(dimension=10, training=OnePass(learning_rate=100.0), run=Run(until=5.0))
    with pytest.raises(DimfreeError, match="ode"):
        run_cases({"one": Case(blown_up, (HighDimensional(), OverlapChain()))}, silent)


@pytest.mark.slow
def test_progress_ends_at_one_and_the_price_is_a_sum():
    problem = Problem(dimension=20, run=Run(until=0.5, points=3, replicas=2))
    described: tuple[AnyDescription, ...] = (GradientFlow(), OverlapChain())
    cases = {"one": Case(problem, described), "two": Case(problem.replace(**{"run.seed": 1}), described)}
    heard: list[tuple[str, float]] = []
    tree = run_cases(cases, lambda text, fraction: heard.append((text, fraction)))
    assert set(tree["two"].children) == {"gradient-flow", "chain"}
    fractions = [fraction for _, fraction in heard]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    assert {text for text, _ in heard} == {f"{c}: {d.name}" for c in cases for d in described}
    assert price(cases) == pytest.approx(2 * cases["one"].seconds)
