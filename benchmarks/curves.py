"""One point of a learning curve: state evolution beside the fits that it predicts."""

import numpy as np

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.dataset.dataset_model import descent_model
from dimfree.dataset.ends.solve import SETTLED, solved
from dimfree.dataset.real.fitted import fit_once

BARS = {"curve_point_over_fits": Bar(True, 1 / 20)}


def ratios(smoke: bool) -> dict[str, float]:
    """The logistic loss at two samples per dimension, solved to 1e-9, over ten fits in dimension 1000."""
    dimension, seeds = (50, 2) if smoke else (1000, 10)
    training = df.MultiPass(loss="logistic", weight_decay=0.01)
    model = descent_model(
        df.extend.DataSetProblem(dimension=dimension, data=df.SignTeacher(samples=2.0), training=training)
    )
    assert float(solved(model.task).left) < SETTLED

    def fits() -> list[float]:
        return [fit_once(model, np.random.default_rng(seed))["risk"] for seed in range(seeds)]

    rounds = 1 if smoke else 2
    return {
        "curve_point_over_fits": cpu_seconds(solved, model.task, least=0.2)
        / cpu_seconds(fits, least=0.01, rounds=rounds)
    }
