"""The claims of spectral-vs-sgd hold, and fail when an ingredient is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery import shelf
from dimfree.gallery.spectral_vs_sgd import SIZES, SpectralVersusSGD

SAMPLES = np.array([0.3, 2.0, 4.0])


def failing(entry, data):
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


def made_up(slopes=(1.0, 2.0, 3.0), off=0.0, generative=(2, 1, 2), sgd=(20.0, 7e3, 9e6), stayed=0):
    """A tree as `measure` makes it, with overlaps `off` their theory."""
    tree, predicted = {}, np.array([0.0, 0.5, 0.9])
    measured = (predicted + np.array([0.02, off, 0.0]))[:, None] + 0.01 * np.array([[-1, 0, 1]])
    d = np.array([16.0, 100.0])
    for n, slope, exponent, samples, threshold in zip(
        (2, 3, 4), slopes, generative, sgd, (0.5, 0.8, 0.64485), strict=True
    ):
        one = xr.Dataset(
            {
                "predicted": ("samples", predicted),
                "measured": (("samples", "seed"), measured),
                "curve": ("finely", predicted),
                "threshold": threshold,
                "half": 1.9,
            },
            {"samples": SAMPLES, "finely": SAMPLES},
        )
        columns = dict.fromkeys(("mean", "error", "predicted", "learning_rate"), ("dimension", d**2))
        tree |= {
            f"case-{n}/exponents": xr.Dataset({"generative_exponent": exponent, "sgd_samples": samples}),
            f"case-{n}/spectral": one,
            f"case-{n}/linear-filter": one,
            f"case-{n}/sgd": xr.Dataset(
                columns | {"stayed": ("dimension", [stayed, stayed]), "sample_slope": slope}, {"dimension": d}
            ),
        }
    return xr.DataTree.from_dict(tree)


def test_every_claim_can_fail():
    entry = shelf.entry("spectral-vs-sgd")
    assert type(entry) is SpectralVersusSGD
    assert failing(entry, made_up()) == set()
    assert failing(entry, made_up(off=0.1)) == {0, 1, 2}
    assert failing(entry, made_up(generative=(1, 2, 4))) == {6, 7, 8}
    assert failing(entry, made_up(stayed=1)) == {9}
    assert failing(entry, made_up(slopes=(2.0, 1.0, 2.0))) == {10, 11, 12}
    assert failing(entry, made_up(sgd=(2.0, 2.0, 2.0))) == {13, 14, 15}
    figure = Figure()
    entry.draw(made_up(), figure)
    assert all(axes.get_ylabel() for axes in figure.axes)


@pytest.mark.slow
def test_a_link_of_another_exponent_is_noticed():
    """He_2 in the place of He_4: its threshold and the samples of SGD are others."""
    sizes = (SIZES[0]._replace(dimensions=(100, 400)), SIZES[1]._replace(dimensions=(50, 100)), SIZES[0])
    wrong = SpectralVersusSGD(links=("he2", "he3", "he2"), sizes=sizes, dimension=300, seeds=4)
    assert failing(wrong, wrong.measure(False, lambda text, done: None)) >= {4, 12, 15}
