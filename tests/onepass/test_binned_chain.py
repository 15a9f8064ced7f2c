"""The chain for very many eigenvalues: which bins there are, whose law it has, and that it says by how much they are off."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

import dimfree as df
from dimfree.description import Ask
from dimfree.onepass.binned_chain import _binning_error
from dimfree.onepass.model import model
from dimfree.onepass.real.bins import bin_sizes, binned
from dimfree.onepass.start import draw_start
from dimfree.setting import why_not

BINNED = df.experiments.BinnedChain()


def power(dimension, exponent=1.0, **changes):
    data = {"kind": "teacher", "noise": 0.01, "covariance": {"kind": "power", "exponent": exponent}}
    base = df.Problem(dimension=dimension, data=data, network={"width": 2})
    return base.replace(**{"training.learning_rate": 0.5, **changes})


def test_bins_are_those_of_the_sheet():
    """Section 2: 10 to 14, 20 to 26, 35 to 45 and 68 to 93 blocks at dimension 1000 and 10000."""
    for (kept, ratio), counts in {
        (0, 2): (10, 14),
        (8, 1.5): (20, 26),
        (16, 1.25): (35, 45),
        (32, 1.1): (68, 93),
    }.items():
        for d, count in zip((1000, 10_000), counts, strict=True):
            sizes = bin_sizes(d, kept, ratio)
            assert abs(len(sizes) - count) <= 2
            assert sizes.sum() == d
            assert (sizes[:kept] == 1).all()
            assert (np.diff(sizes[kept:-1]) >= 0).all()


def test_bins_keep_the_trace_and_all_overlaps():
    """Also of levels that do not fall."""
    values = np.random.default_rng(0).uniform(0.1, 2.0, size=60)
    levels = {"kind": "levels", "values": values.tolist(), "multiplicities": [2] * 60, "normalise": False}
    problem = df.Problem(dimension=120, data={"kind": "teacher", "covariance": levels}, network={"width": 2})
    m, start = model(problem), draw_start(problem, jax.random.key(1), vectors=True)
    bins, begun = binned(m, start, 4, 1.5)
    assert float(bins.s @ bins.rho) == pytest.approx(float(m.s @ m.rho), rel=1e-12)
    assert (np.diff(np.asarray(bins.s)) <= 0).all()
    found = begun.blocks
    np.testing.assert_allclose(np.einsum("b,bij->ij", bins.s, found.Omega[:, 2:, 2:]), bins.target.P, rtol=1e-12)
    assert np.abs(np.asarray(bins.target.P) - np.eye(2)).max() > 1e-5
    np.testing.assert_allclose(found.plain(2).Q, start.blocks.plain(2).Q, rtol=1e-12)
    top = int(np.argmax(values))  # two coordinates, which are the two first bins
    np.testing.assert_allclose(found.Omega[:2].sum(axis=0), start.blocks.Omega[top], rtol=1e-12)


@pytest.mark.slow
def test_the_error_is_of_the_order_that_the_sheet_measured():
    """k^-1 at dimension 1000 until s_max t = 668: 0.7 % with 20 bins, 0.09 % with 67, up to the draw of the start."""
    problem = power(1000)
    m, start = model(problem), draw_start(problem, jax.random.key(2), vectors=True)
    times = np.linspace(0.0, 5.0, 6)
    for kept, ratio, measured in ((8, 1.5, 7e-3), (32, 1.1, 9e-4)):
        error = _binning_error((m, start), binned(m, start, kept, ratio), times).max()
        assert measured / 5 < error < measured * 5, (kept, ratio, error)


@pytest.mark.slow
def test_the_law_is_that_of_sgd_with_the_binned_spectrum():
    """Large steps, so that a few dozen of them spread the replicas."""
    problem, replicas = power(100, **{"training.learning_rate": 2.0, "data.units": 1}), 1000
    one = df.experiments.BinnedChain(4, 1.6)
    m, start = model(problem), draw_start(problem, jax.random.key(3), vectors=True)
    bins, _ = binned(m, start, one.kept, one.ratio)
    times = np.array([0.0, 40 * problem.time_step])
    pieces = [*one.account(m, start, Ask(times, replicas, jax.random.key(4)))]
    chain = {name: np.concatenate([piece.observables[name] for piece in pieces]) for name in ("risk", "Q", "M")}
    sizes = np.asarray(bins.multiplicities).astype(int)
    values = np.asarray(bins.s).tolist()
    levels = {"kind": "levels", "values": values, "multiplicities": sizes.tolist(), "normalise": False}
    same = problem.replace(data={"kind": "teacher", "units": 1, "noise": 0.01, "covariance": levels})
    alike = eqx.tree_at(lambda x: x.target.P, model(same), bins.target.P)  # of which risks are told
    vectors = jax.jit(lambda s, t: df.experiments.VectorSGD().run(alike, s, t, jax.random.key(5), replicas))
    seen = vectors(start, jnp.asarray(times))
    for name, values in chain.items():
        first, second = (np.asarray(x)[1].reshape(replicas, -1) for x in (values, seen[name]))
        for column in range(first.shape[1]):
            assert ks_2samp(first[:, column], second[:, column]).pvalue > 1e-5, (name, column)


@pytest.mark.slow
def test_what_it_says():
    problem = power(400, **{"run.until": 0.02, "run.points": 3, "run.replicas": 2})
    data = df.simulate(problem, "binned-chain")
    assert 0 < float(data["binning_error"].max()) < 0.02
    assert "its law is exact for 57 bins of the 400 eigenvalues, which change the risk of the ode by up to" in str(
        data.attrs["warnings"]
    )


def test_refusals_say_what_to_use():
    assert "400 distinct eigenvalues in 400 dimensions: the chain is SGD itself; use sgd, or binned-chain" in str(
        why_not(df.experiments.OverlapChain(), power(400))
    )
    assert why_not(BINNED, power(400)) is None
    assert "dimensions are SGD itself for 2 units; use sgd" in str(why_not(BINNED, power(61)))
    few = {"kind": "levels", "values": [2.0, 0.5], "shares": [0.25, 0.75]}
    assert "2 eigenvalues need no bins; use chain" in str(
        why_not(BINNED, power(400, data={"kind": "teacher", "covariance": few}))
    )
    assert "set training.momentum = 0" in str(why_not(BINNED, power(400, **{"training.momentum": 0.5})))
    with pytest.raises(df.ProblemError, match="ratio = 1 must be above 1"):
        df.experiments.BinnedChain(ratio=1.0)
