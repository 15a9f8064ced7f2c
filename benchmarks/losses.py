"""Any loss, label law and clipping: what real SGD costs over the square loss of values."""

from typing import Any

import dimfree as df
from clock import Bar
from overlaps import REPLICAS, per_step, problem

BARS = {
    "chain_any_loss": Bar(True, 1.15),  # the slowest of CASES over the square loss, per step
    "sgd_any_loss": Bar(True, 1.1),
}
CASES = {
    "logistic": {"data.labels": "sign", "data.flip": 0.1, "training.loss": "logistic"},
    "hinge": {"data.labels": "logistic", "training.loss": "hinge"},
    "Huber, Student": {"data.noise_law": {"student": 3.0}, "training.loss": "huber"},
    "clipped errors": {"training.clip": {"error": 1.0}},
}


def slowest(one: Any, steps: int, replicas: int, least: float) -> float:
    """The largest ratio of a case to the square loss, which is measured before and after all of them."""
    before = per_step(one, problem(), steps, replicas, least)
    found = [per_step(one, problem().replace(**changes), steps, replicas, least) for changes in CASES.values()]
    return max(found) / min(before, per_step(one, problem(), steps, replicas, least))


def ratios(smoke: bool) -> dict[str, float]:
    """The table of this subject."""
    least, steps = (0.01, 160) if smoke else (2.0, 3200)
    return {
        "chain_any_loss": slowest(df.OverlapChain(), steps, 256, least),
        "sgd_any_loss": slowest(df.VectorSGD(), steps, REPLICAS, least),
    }
