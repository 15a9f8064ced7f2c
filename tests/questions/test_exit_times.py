"""Exit times side by side: real SGD, ODE on the same starts, formulas; figures, files, and one sentence per refusal."""

import json

import numpy as np
import pytest

import dimfree as df
from dimfree.questions.exit_times import answer, formulas
from dimfree.questions.exit_times.answer import exit_times
from dimfree.questions.exit_times.first_passage import crossing
from dimfree.results.store import load
from dimfree.setting import why_not


def phase_retrieval(rate: float = 0.08, dimension: int = 1000, noise: float = 0.01, **changes) -> df.Problem:
    problem = df.Problem(
        dimension=dimension,
        data=df.Teacher(units=1, activation="square", noise=noise),
        network=df.TwoLayer(width=1, activation="square"),
        training=df.OnePass(learning_rate=rate, spherical=True),
        start=df.SphereStart(),
    )
    return problem.replace(**changes) if changes else problem


@pytest.fixture(autouse=True, scope="module")
def _without_diffusion():
    """Its own tests cover it; here it would only compile for long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            answer,
            "why_not",
            lambda one, of: "no time." if isinstance(one, df.theories.Diffusion) else why_not(one, of),
        )
        yield


@pytest.fixture(scope="module")
def watched():
    """What the watcher was told."""
    return []


@pytest.fixture(scope="module")
def found(watched):
    return exit_times(
        phase_retrieval(0.04, 200), threshold=0.1, replicas=150, watch=lambda name, done: watched.append((name, done))
    )


@pytest.mark.slow
def test_every_account_has_a_mean_an_error_and_a_count(found):
    assert found.names == ("chain", "ode", "annealed", "quenched")
    chain, ode = found.account("chain"), found.account("ode")
    assert chain.stayed == ode.stayed == 0
    assert chain.standard_error == pytest.approx(np.std(chain.times, ddof=1) / np.sqrt(150))
    late, error = found.excess("ode")
    assert abs(late) < 4.5 * error
    assert found.account("annealed").mean == formulas.annealed(0.1, 0.04, 1, 0.01, 200)
    assert found.account("annealed").mean < found.account("quenched").mean
    late, error = found.excess("annealed")
    assert late < -3 * error


@pytest.mark.slow
def test_the_ode_leaves_from_the_same_starts(found):
    """Its times are those of the logistic formula at the overlaps of the chain's starts: sorted by them, both fall."""
    chain, ode = found.account("chain").times, found.account("ode").times
    assert np.corrcoef(chain, ode)[0, 1] > 0.3


@pytest.mark.slow
def test_summary_data_and_figure(found, tmp_path):
    text = found.summary()
    assert all(name in text for name in found.names)
    assert "left out: diffusion: no time." in text
    data = json.loads(json.dumps(found.to_dict()))
    assert data["accounts"]["chain"]["starts"] == 150
    assert data["accounts"]["quenched"]["mean"] == found.account("quenched").mean
    figure, file = tmp_path / "exits.png", found.save(tmp_path / "exits.nc")
    found.plot(figure)
    assert figure.read_bytes().startswith(b"\x89PNG")
    tree = load(file)
    np.testing.assert_array_equal(tree["chain"]["exit_time"], found.account("chain").times)


@pytest.mark.slow
def test_progress_is_a_share_that_grows_to_one(found, watched):
    names, shares = zip(*watched, strict=True)
    assert set(names) == {"chain"}
    assert 0 < shares[0] < 1
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1.0


def test_the_first_crossing_is_interpolated():
    grid, risks = np.array([0.0, 1.0, 2.0, 3.0]), np.array([[4.0, 4, 4], [3, 5, 4], [1, 1, 4], [2, 0, 3.5]])
    np.testing.assert_allclose(crossing(grid, risks, np.array([2.0, 3.0, 1.0])), [1.5, 1.5, np.inf])


@pytest.mark.parametrize("threshold", [0.0, 1.0, 1.5])
def test_thresholds_outside(threshold):
    with pytest.raises(df.ProblemError, match=r"must lie between 0 and 1\."):
        exit_times(phase_retrieval(), threshold=threshold)


def test_a_rate_that_never_escapes_says_c_and_the_largest_rate():
    with pytest.raises(df.ProblemError, match=r"the rate c = -0.201 must be positive; stay below 0.1665 at width 1"):
        exit_times(phase_retrieval(0.2))


def test_links_without_a_direction():
    constant = {"data.activation": {"hermite": [1.0]}}
    with pytest.raises(df.ProblemError, match="is constant, so there is nothing to learn"):
        exit_times(phase_retrieval(**constant))
    with pytest.raises(df.ProblemError, match="the link and the activation share no Hermite component"):
        exit_times(phase_retrieval(**{"data.activation": "he3", "network.activation": "he2"}))


def test_one_replica_and_small_budgets():
    with pytest.raises(df.ProblemError, match="replicas = 1 was given; an error bar needs at least 2"):
        exit_times(phase_retrieval(), replicas=1)
    with pytest.raises(df.RefusalError, match=r"150 replicas need .* steps each, about .*; lower the replicas"):
        exit_times(phase_retrieval(0.04, 200), replicas=150, budget=1e-3)


@pytest.mark.slow
def test_a_start_at_zero_leaves_by_noise_only():
    """The ODE says that it never leaves; the chain shows when it does, and the formulas do not apply."""
    start = {"start.kind": "overlaps", "start.Q": [[1.0]], "start.M": [[0.0]], "run.until": 3.0}
    found = exit_times(phase_retrieval(0.04, 200, **start), replicas=150)
    reasons = {left.name: left.reason for left in found.left_out}
    assert reasons["ode"].startswith("a start exactly at M = 0 never escapes by the ODE")
    assert "unit sphere" in reasons["quenched"]
    assert found.names == ("chain",)
    assert found.account("chain").stayed < 75


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "chain", "chain_error", "ode"), [(0.02, 0.832, 0.012, 0.855), (0.08, 1.285, 0.022, 1.448)]
)
def test_noise_shortens_the_exit_only_near_the_stability_limit(rate, chain, chain_error, ode):
    """The numbers of docs/theory/committee.md, section 6: 600 random starts, d = 1000."""
    found = exit_times(phase_retrieval(rate), threshold=0.1, replicas=600)
    mine, theory = found.account("chain"), found.account("ode")
    assert abs(mine.mean - chain) < 4 * np.hypot(mine.standard_error, chain_error)
    assert abs(theory.mean - ode) < 4 * theory.standard_error
    assert mine.standard_error == pytest.approx(chain_error, rel=0.25)
    late, error = found.excess("ode")
    assert (late > 3.5 * error) == (rate == 0.08)
