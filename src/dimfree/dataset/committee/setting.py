"""The setting of two-layer networks on a data set that is revisited."""

from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.setting import Setting, Variable

_ONE, _UNIT = ("time", "replica"), ("time", "replica", "unit")
_TWO = ("time", "replica", "time_", "unit", "unit_")

VARIABLES = {
    "risk": Variable(
        _ONE, "1", "error on fresh samples: E[(f* - f)²]/2 without the noise floor; of other losses E l(f, y)"
    ),
    "test_error": Variable(_ONE, "1", "how often the sign of f is not that of a fresh label as drawn", share=True),
    "train_loss": Variable(_ONE, "1", "mean loss over the data set, label noise included, without weight decay"),
    "train_error": Variable(_ONE, "1", "part of the data set whose sign is wrong", share=True),
    "M": Variable((*_UNIT, "teacher"), "1", "overlaps between students and teachers, W W*ᵀ/d"),
    "Q": Variable((*_UNIT, "unit_"), "1", "overlaps between students, W Wᵀ/d"),
    "a": Variable(_UNIT, "1", "second layer in the canonical scaling"),
    "bias": Variable(_UNIT, "1", "offsets b of the neurons"),
    "C": Variable(_TWO, "1", "overlaps W(t) W(t')ᵀ/d of the weights at two times"),
    "R": Variable(_TWO, "1", "response of the weights at t to a kick at t', per dimension"),
    "K": Variable(_TWO, "1", "response of the forces on one sample to a shift of its fields"),
}

SETTING = Setting(
    name="a data set with a two-layer network",
    problem=NetworkProblem,
    model="dimfree.dataset.committee.problem_model:network_model",
    start="dimfree.dataset.committee.problem_model:network_start",
    figure="dimfree.dataset.committee.figure:draw",
    template="dimfree.dataset.committee:template.toml",
    variables=VARIABLES,
    simulation="multi-pass",
    theory="dmft",
    descriptions={
        "multi-pass": "dimfree.dataset.real.multi_pass:MultiPassSGD",
        "dmft": "dimfree.dataset.dmft.description:DMFT",
    },
)
