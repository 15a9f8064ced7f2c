"""The learning curve as data: what a page draws beside a problem, whose own number of samples is a point of it."""

import numpy as np

from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.source import Pool
from dimfree.dataset.ends.yardsticks import why_not_best
from dimfree.problem import Problem
from dimfree.questions.curves.lines import FINE, best_risks, learned
from dimfree.questions.curves.question import QUESTION
from dimfree.setting import model_of

_FEWEST, _MOST = 0.25, 16.0  # samples per dimension, and at least a factor of 2 around those of the problem


def sketch(problem: Problem) -> dict[str, object] | None:
    """The risk where training ends, and of the best possible learner, over samples per dimension; None where neither is known."""
    model = model_of(QUESTION.settled(problem))
    if not isinstance(model, EndModel) or model.task is None:
        return None
    task, alpha = model.task, float(model.task.alpha)
    rows = len(model.source.y) / model.dimension if isinstance(model.source, Pool) else np.inf
    samples = np.geomspace(min(_FEWEST, alpha / 2), min(max(_MOST, 2 * alpha), rows), FINE)
    risks = {"static": learned(task, samples)["risk"]}
    if not isinstance(model.source, Pool) and why_not_best(task) is None:
        risks["bayes-optimal"] = best_risks(task, samples)
    known = {name: risk for name, risk in risks.items() if np.isfinite(risk).any()}
    return (
        {
            "title": "learning curve",
            "meaning": "risk where training ends, against samples per dimension",
            "label": "samples per dimension",
            "path": "data.samples",
            "x": samples,
            "lines": known,
        }
        if known
        else None
    )
