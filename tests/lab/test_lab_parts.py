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
