"""Teachers whose units have offsets and functions of their own: sections, and theory against SGD."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

import dimfree as df
from dimfree.onepass.model import teacher_model
from dimfree.questions.escape.link import link_of
from dimfree.theories import HighDimensional

DATA = {
    "kind": "teacher",
    "units": 3,
    "activation": ["linear", "erf", "erf"],
    "second_layer": [0.6, 1.0, -0.8],
    "overlap": [[0.5, 0.1, 0.0], [0.1, 1.5, 0.2], [0.0, 0.2, 1.0]],
    "bias": [0.3, 0.7, -1.0],
    "constant": 0.2,
    "noise": 0.05,
    "scaling": "sum",
}
LEVELS = {"kind": "levels", "values": [1.6, 0.4], "shares": [0.5, 0.5]}


def problem(**changes):
    return df.Problem(
        dimension=200,
        data=DATA | changes,
        network=df.TwoLayer(width=3, scaling="sum"),
        training=df.OnePass(learning_rate=0.3),
        start={"kind": "gaussian", "scale": 0.5},
        run=df.Run(until=3.0, points=5, replicas=24, seed=2),
    )


def test_numbers_stay_numbers_in_the_text_of_a_problem():
    text = df.dumps(problem())
    flat = re.sub(r"\s+", " ", text)
    assert "bias = [ 0.3, 0.7, -1.0, ]" in flat
    assert 'activation = [ "linear", "erf", "erf", ]' in flat
    assert df.loads(text) == problem()
    alike = df.dumps(df.Problem()).split("[network]")[0]
    assert "bias" not in alike
    assert "constant" not in alike


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bias": [0.1]}, "bias has 1 entries for 3 units; give one per unit"),
        ({"activation": ["erf", "erf"]}, "activation has 2 entries for 3 units; give one per unit"),
        ({"activation": []}, "activation is an empty list; give one per unit, or one for all"),
        ({"activation": ["erf", "erf", "erg"]}, "there is no activation 'erg'"),
        ({"labels": "argmax", "noise": 0}, "labels = 'argmax' compare outputs of units that are alike"),
    ],
)
def test_lists_of_another_length_are_refused(changes, said):
    with pytest.raises(df.ProblemError, match=re.escape(said)):
        problem(**changes)


def test_limits_refuse_units_that_bend_and_questions_about_one_link_refuse_offsets():
    bent = problem(activation=["relu", "erf", "erf"])
    why = HighDimensional().refuses(bent, teacher_model(bent))
    assert why == "it is derived for teachers with offsets whose units do not bend; use sgd or chain."
    single = df.Problem(data={"kind": "teacher", "units": 1, "bias": [0.5]}, network=df.TwoLayer(width=1))
    with pytest.raises(df.ProblemError, match="the teacher's units have offsets or functions of their own"):
        link_of(single)


def test_the_offset_of_a_linear_unit_is_a_constant():
    one, other = (teacher_model(given).target for given in (problem(), problem(bias=[0, 0.7, -1], constant=0.38)))
    fields = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(one(jnp.asarray(fields)), other(jnp.asarray(fields)), rtol=1e-12)
    np.testing.assert_allclose(one(jnp.zeros(3)), 0.2 + 0.6 * 0.3 + erf(0.7 / 2**0.5) - 0.8 * erf(-1 / 2**0.5))


@pytest.mark.slow
@pytest.mark.parametrize("covariance", [{}, {"covariance": LEVELS}], ids=["isotropic", "levels"])
@pytest.mark.parametrize("by", ["sgd", "chain"])
def test_theory_is_what_sgd_does(covariance, by):
    asked = problem(**covariance)
    seen, solved = df.simulate(asked, by=by)["risk"].values, df.solve(asked, by="ode")["risk"].values[:, 0]
    error = seen.std(axis=1, ddof=1) / np.sqrt(seen.shape[1])  # beside which theory leaves out terms of order 1/d
    z = (seen.mean(axis=1) - solved)[1:] / np.hypot(error[1:], 2e-3 * solved[1:])
    assert np.max(np.abs(z)) < 4.5, z
    assert solved[-1] < 0.9 * solved[0]
    np.testing.assert_allclose(seen[0], solved[0], rtol=1e-6)
