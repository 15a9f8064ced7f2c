"""The law of labels that a problem asks for."""

import jax

from dimfree.functions.label_law import (
    Argmax,
    GaussianValues,
    LabelLaw,
    LogisticClasses,
    Signs,
    SoftmaxClasses,
    StudentValues,
)
from dimfree.onepass.labelled import Labelled
from dimfree.problem.noise_law import Student


def of_rows() -> LabelLaw:
    """The law for classes that rows bring along: no label is drawn."""
    return Signs(jax.device_put(0.0), blurred=False)


def label_law(data: Labelled) -> LabelLaw:
    """Values with noise, or classes (docs/theory/losses.md, section 0)."""
    match data.labels:
        case "sign":
            return Signs(jax.device_put(data.flip), blurred=data.noise > 0)
        case "logistic":
            return LogisticClasses(jax.device_put(data.slope))
        case "argmax":
            return Argmax(jax.device_put(data.flip))
        case "softmax":
            return SoftmaxClasses(jax.device_put(data.slope))
        case _ if isinstance(data.noise_law, Student):
            return StudentValues(jax.device_put(data.noise_law.student))
        case _:
            return GaussianValues()
