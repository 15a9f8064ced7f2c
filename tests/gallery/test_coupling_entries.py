"""The claims about coupled dynamics hold, and fail for a hasty SGD and for a cloud of another law."""

import equinox as eqx
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.dimension_free import DimensionFree
from dimfree.gallery.four_dynamics import FourDynamics
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import GaussianStart
from dimfree.questions.couplings.answer import DYNAMICS, QUANTITIES
from dimfree.questions.couplings.slopes import Sweep

RATES = {  # powers of width, step and dimension in the theorems
    "risk PDE-ND": (-0.5, 0.0, 0.0),
    "risk ND-PD": (-1.0, 0.0, 0.0),
    "risk PD-GD": (0.0, 1.0, 0.0),
    "risk GD-SGD": (0.0, 1.0, 1.0),
    "distance ND-PD": (-0.5, 0.0, 0.0),
    "distance PD-GD": (0.0, 1.0, 0.0),
    "distance GD-SGD": (0.0, 0.5, 0.5),
}


class Hasty(VectorSGD):
    """Wrong on purpose: steps are twice as long as said."""

    def twin(self, model):
        return self, model

    def through_block(self, model, network, block, key, active):
        return super().through_block(
            eqx.tree_at(lambda m: m.gamma, model, 2 * model.gamma), network, block, key, active
        )


def silent(text, fraction):
    """Nobody watches."""


def sweep(axis, values, rates):
    x = np.asarray(values, dtype=float)
    noise = np.exp(0.005 * np.random.default_rng(len(x)).normal(size=(len(QUANTITIES), len(x), 4)))
    powers = np.array([rates[name] for name in QUANTITIES])
    return Sweep(axis, x, x[None, :, None] ** powers[:, None, None] * noise).dataset()


def four(rates=RATES, fall=-1.0):
    risks = np.exp(fall * np.linspace(0, 1, 5)) * np.ones((5, 4, 1))
    coords = {"dynamics": list(DYNAMICS), "time": np.linspace(0, 4, 5)}
    curves = xr.Dataset({"risk": (("dynamics", "seed", "time"), risks)}, coords)
    axes = {"width": (25, 50, 100), "step": (0.005, 0.04), "dimension": (15, 30, 60)}
    sweeps = {
        axis: sweep(axis, values, {name: rate[n] for name, rate in rates.items()})
        for n, (axis, values) in enumerate(axes.items())
    }
    return xr.DataTree.from_dict({"curves": curves, **sweeps})


def free(power=0.0):
    rates = {name: rate[0] for name, rate in RATES.items()}
    return xr.DataTree.from_dict({str(d): sweep("width", (20, 80), rates) * d**power for d in (15, 60, 240)})


def failing(entry, data):
    return [claim.statement for claim in entry.claims(data) if not claim.holds]


def test_the_theorems_satisfy_the_claims():
    assert failing(FourDynamics(), four()) == []
    assert failing(DimensionFree(), free()) == []


@pytest.mark.parametrize("quantity", ["distance ND-PD", "distance PD-GD", "distance GD-SGD"])
def test_wrong_rates_are_seen(quantity):
    one, other, last = RATES[quantity]
    assert len(failing(FourDynamics(), four(RATES | {quantity: (one + 0.4, other - 0.4, last + 0.4)}))) >= 2


def test_a_risk_that_rises_and_errors_that_grow_with_the_dimension_are_seen():
    assert len(failing(FourDynamics(), four(fall=0.1))) == 1
    assert len(failing(DimensionFree(), free(0.5))) == 3


@pytest.mark.parametrize(("entry", "data"), [(FourDynamics(), four()), (DimensionFree(), free())])
def test_figures_are_drawn(entry, data):
    figure = Figure(layout="constrained")
    entry.draw(data, figure)
    assert all(axes.lines for axes in figure.axes)
    assert 0 < entry.seconds(False) < entry.seconds(True)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [FourDynamics(), DimensionFree()])
def test_claims_hold(entry):
    assert failing(entry, entry.measure(False, silent)) == []


SMALL = {"widths": (25, 50), "steps": (0.01, 0.04), "dimensions": (15, 30), "seeds": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (FourDynamics(sgd=Hasty(), **SMALL), "GD-SGD grows like step"),
        (FourDynamics(law=GaussianStart(scale=4.0), **SMALL), "ND-PD grows like width"),
    ],
    ids=["hasty", "other-law"],
)
def test_claims_fail_with_a_wrong_ingredient(wrong, words):
    assert any(words in statement for statement in failing(wrong, wrong.measure(False, silent)))


@pytest.mark.slow
def test_a_step_that_does_not_shrink_is_not_dimension_free():
    small = {"widths": (20, 40), "dimensions": (15, 60), "seeds": 4}
    wrong, right = DimensionFree(scaled=False, **small), DimensionFree(**small)
    grows = "distance GD-SGD grows like dimension^x, x"
    assert grows in failing(wrong, wrong.measure(False, silent))
    assert grows not in failing(right, right.measure(False, silent))
