"""Observables as a page gets them: all entries of a few units, and less of very many."""

import numpy as np
import pytest

import dimfree as df
from dimfree.lab.parts import _sampled, points


def test_a_number_of_very_many_units_is_sent_as_quintiles_of_all_replicas():
    problem = df.Problem(data={"kind": "two-gaussians"}, run={"until": 1.0, "points": 3, "replicas": 2})
    rng = np.random.default_rng(0)
    seen = {"risk": rng.uniform(size=(3, 2)), "r1": rng.normal(size=(3, 2, 400)), "a": rng.normal(size=(3, 2, 5))}
    part = points(problem, df.experiments.VectorSGD(), 0, np.array([0.0, 0.5, 1.0]), seen, 10.0)
    many, few = part["observables"]["r1"], part["observables"]["a"]
    assert (many["dims"], many["shape"]) == (["quintile"], [4])
    for sent, drawn in zip(many["values"], seen["r1"], strict=True):
        below = [(drawn < limit).mean() for limit in sent]
        np.testing.assert_allclose(below, [0.2, 0.4, 0.6, 0.8], atol=2 / drawn.size)
    assert part["variables"]["r1"]["meaning"].endswith("quintiles over units")
    assert (few["dims"], few["shape"]) == (["unit"], [5])
    np.testing.assert_allclose(few["values"], seen["a"].mean(axis=1))


def test_an_experiment_says_what_is_run_and_only_sgd_counts_steps():
    data, points_ = {"kind": "given-points"}, {"until": 1.0, "points": 3, "replicas": 2}
    flows, seen = df.Problem(data=data, run=points_), {"risk": np.ones((3, 2))}
    part = points(flows, df.experiments.NetworkFlow(), 0, flows.times, seen, 10.0)
    assert (part["experiment"], part["steps"]) == ("gradient flow", None)
    steps = df.Problem(run=points_)
    part = points(steps, df.experiments.OverlapChain(), 0, steps.times, seen, 10.0)
    assert (part["experiment"], part["steps"]) == ("SGD", steps.steps(1.0))


def seen_of(width: int, teachers: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Observables of SGD with so many units: two replicas at three times."""
    W = rng.normal(size=(3, 2, width, 30))
    Q, M = np.einsum("tsid,tsjd->tsij", W, W), np.einsum("tsid,tskd->tsik", W, W[:, :, :teachers])
    return {"risk": rng.uniform(size=(3, 2)), "Q": Q, "M": M}


def test_of_products_of_very_many_units_their_norms_are_sent():
    problem, seen = (
        df.Problem(run={"until": 1.0, "points": 3, "replicas": 2}),
        seen_of(40, 2, np.random.default_rng(1)),
    )
    found = points(problem, df.experiments.VectorSGD(), 0, problem.times, seen, 10.0)["observables"]
    assert found.keys() == {"M", "Q_diagonal"}
    assert found["M"]["shape"] == [40, 2]
    norms = np.einsum("tsii->tsi", seen["Q"]).mean(axis=1)
    np.testing.assert_allclose(found["Q_diagonal"]["values"], norms)


def test_very_many_units_come_as_a_sample_of_the_same_units_everywhere():
    """All entries of 600 units would be too many; overlaps and norms of 128 of them belong together."""
    problem, seen = (
        df.Problem(run={"until": 1.0, "points": 3, "replicas": 2}),
        seen_of(600, 2, np.random.default_rng(2)),
    )
    part = points(problem, df.experiments.VectorSGD(), 0, problem.times, seen, 10.0)
    M, norms = part["observables"]["M"], part["observables"]["Q_diagonal"]
    assert M["shape"] == [128, 2]
    assert "128 of 600 units" in part["variables"]["M"]["meaning"]
    assert (norms["dims"], norms["shape"]) == (["quintile"], [4])
    overlaps = np.array(M["values"]).reshape(3, 128, 2)
    for time in range(3):
        for sent, norm in zip(overlaps[time], norms["sample"][time], strict=True):
            (unit,) = np.flatnonzero((np.abs(seen["M"][time, 0] - sent) < 1e-9).all(axis=1))
            assert norm == pytest.approx(seen["Q"][time, 0, unit, unit], rel=1e-3)


def test_samples_of_nothing_and_of_the_smallest_numbers_are_numbers():
    for size in (0.0, 5e-324, 1e-310):
        assert np.isfinite(_sampled(np.full((2, 1, 300), size))).all()
    assert _sampled(np.full((1, 1, 300), np.nan))[0][0] is None
