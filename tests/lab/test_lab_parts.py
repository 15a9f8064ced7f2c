import numpy as np

import dimfree as df
from dimfree.lab.parts import points


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
