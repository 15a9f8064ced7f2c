"""Random features that are signs: only averages of them are needed."""

import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.functions.features import Sign
from dimfree.gaussian.linear_part import linear_part


def test_the_linear_part_of_the_sign():
    """Against averages over half a million draws."""
    g = np.random.default_rng(0).standard_normal(500_000)
    part = linear_part(Sign())
    assert float(part.kappa0) == 0
    assert float(part.kappa1) == pytest.approx(np.abs(g).mean(), abs=5 * g.std() / np.sqrt(len(g)))
    left = np.sign(g) - np.abs(g).mean() * g
    assert float(part.kappastar) == pytest.approx(left.std(), abs=0.005)


@pytest.mark.slow
def test_fits_of_sign_features_lie_on_the_theory():
    problem = df.extend.DataSetProblem(
        dimension=180,
        data=df.RandomFeatures(samples=2.0, per_input=1.5, activation="sign", labels="linear", noise=0.1),
        training=df.MultiPass(loss="square", weight_decay=0.2),
        run=df.Run(until=1.0, replicas=12, points=2, seed=4),
    )
    theory, fits = df.solve(problem, "static"), df.simulate(problem, "fitted").isel(time=0)
    for name in ("risk", "train_loss", "m"):
        z = (fits[name].mean() - theory[name]) / (fits[name].std(ddof=1) / np.sqrt(12))
        assert abs(float(z)) < 4, name


def test_networks_have_no_sign_and_features_suggest_it():
    with pytest.raises(ProblemError, match="there is no activation 'sign'"):
        df.TwoLayer(activation="sign")
    with pytest.raises(ProblemError, match="did you mean 'sign'"):
        df.RandomFeatures(activation="signs")
