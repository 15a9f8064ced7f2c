"""The fitted bound holds on its data, touches them once, and grows with them."""

import numpy as np
import pytest
import xarray as xr

from dimfree.comparison.compare import compare
from dimfree.comparison.comparison import Comparison
from dimfree.errors import ProblemError, RefusalError
from dimfree.problem import Problem, Run
from dimfree.questions.bounds.fluctuations import bound, fluctuations

PROBLEM = Problem(dimension=100, run=Run(until=3.0, points=12, replicas=8))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(PROBLEM, only=["ode", "chain"])


def further(comparison: Comparison, factor: float) -> Comparison:
    """SGD `factor` times as far from the theory."""
    sgd, limit = comparison.tree["chain"].to_dataset(), comparison.tree["ode"].to_dataset()
    moved = {name: limit[name].isel(replica=0) + factor * (sgd[name] - limit[name].isel(replica=0)) for name in "QM"}
    moved = {name: values.transpose(*sgd[name].dims) for name, values in moved.items()}
    tree = xr.DataTree.from_dict({"chain": sgd.assign(moved), "ode": limit})
    return comparison._replace(tree=tree)


@pytest.mark.slow
def test_it_holds_and_is_tight_at_one_time(comparison):
    fitted = bound(comparison)
    excess = fitted.curve / fitted.deviation
    assert (excess >= 1 - 1e-12).all()
    assert np.isclose(excess, 1).sum() == 1
    assert len(fitted.times) == 11


def test_the_deviation_is_the_largest_entry_in_the_mean_over_replicas(comparison):
    sgd, limit = (comparison.tree[name].to_dataset() for name in ("chain", "ode"))
    by_hand = np.mean(
        [
            max(np.abs(sgd[n].values[-1, r] - limit[n].values[-1, 0]).max() for n in ("Q", "M"))
            for r in range(sgd.sizes["replica"])
        ]
    )
    fitted = bound(comparison)
    assert fitted.deviation[-1] == pytest.approx(by_hand)
    assert fitted.prefactor == pytest.approx(np.sqrt(1.0 / (4 * 100)))


def test_it_grows_with_the_data(comparison):
    constants = [bound(further(comparison, factor)).C for factor in (0.5, 1.0, 2.0, 10.0)]
    assert constants == sorted(constants)
    assert constants[-1] > constants[0] + 0.5


def test_a_run_that_never_leaves_the_theory_needs_no_constant(comparison):
    assert np.isneginf(bound(further(comparison, 0.0)).C)


def test_the_figure_says_that_it_is_fitted(comparison, tmp_path):
    fitted = bound(comparison)
    assert fitted.label == f"fitted C = {fitted.C:.3g}, an upper bound, not a prediction"
    fitted.plot(tmp_path / "bound.png")
    assert (tmp_path / "bound.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_missing_is_said(comparison):
    with pytest.raises(ProblemError, match="compares real SGD with 'gradient-flow', and this comparison holds only"):
        bound(comparison, "gradient-flow")
    only_theory = comparison._replace(tree=xr.DataTree.from_dict({"ode": comparison.tree["ode"].to_dataset()}))
    with pytest.raises(ProblemError, match="run both"):
        bound(only_theory)
    without = comparison.tree["ode"].to_dataset().drop_vars("Q")
    bare = xr.DataTree.from_dict({"ode": without, "chain": comparison.tree["chain"].to_dataset()})
    with pytest.raises(ProblemError, match="ode kept no overlaps Q"):
        bound(comparison._replace(tree=bare))


def test_the_question_runs_both_itself(comparison):
    asked, fitted = fluctuations(PROBLEM), bound(comparison)
    np.testing.assert_array_equal(asked.deviation, fitted.deviation)
    assert asked.C == fitted.C
    assert (asked.reference, asked.theory) == ("chain", "ode")
    assert fitted.label in asked.summary()


@pytest.mark.slow
def test_what_does_not_fit_or_hold_is_refused_with_the_reason():
    with pytest.raises(RefusalError, match=r"chain is left out: it needs .* raise the budget"):
        fluctuations(PROBLEM, budget=30.0, until=3e4)
    with pytest.raises(RefusalError, match="ode is left out: one step is as large as the network"):
        fluctuations(PROBLEM.replace(**{"training.learning_rate": 1000.0}), until=100.0)
