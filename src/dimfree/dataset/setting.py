"""The setting of multi-pass SGD: a finite data set that is revisited."""

from dimfree.dataset.problem import DataSetProblem
from dimfree.setting import Setting, Variable

_ONE, _TWO = ("time", "replica"), ("time", "replica", "time_")

VARIABLES = {
    "risk": Variable(_ONE, "1", "mean error on fresh samples"),
    "train_loss": Variable(_ONE, "1", "mean loss over the data set, without weight decay"),
    "train_accuracy": Variable(_ONE, "1", "part of the data set that is classified correctly"),
    "m": Variable(_ONE, "1", "overlap w.v/d with the direction that matters"),
    "norm": Variable(_ONE, "1", "squared norm w.w/d of the weights, where C is not known"),
    "C": Variable(_TWO, "1", "overlap w(t).w(t')/d of the weights at two times"),
    "R": Variable(_TWO, "1", "response tr(dw(t)/dw(t' + step))/d of the weights"),
    "K": Variable(_TWO, "1", "response of the force on one sample to a shift of its preactivation"),
    "lambda_hat": Variable(_ONE, "1", "effective regularisation of the weights"),
    "M_R": Variable(_TWO, "1", "memory kernel of the continuous-time equations, t' < t"),
    "M_C": Variable(_TWO, "1", "correlation of the noise on the weights"),
}

SETTING = Setting(
    name="a data set",
    problem=DataSetProblem,
    model="dimfree.dataset.dataset_model:dataset_model",
    start="dimfree.dataset.dataset_model:no_start",
    figure="dimfree.dataset.figure:draw",
    template="dimfree.dataset:template.toml",
    variables=VARIABLES,
    simulation="multi-pass",
    theory="dmft",
    descriptions={
        "multi-pass": "dimfree.dataset.real.multi_pass:MultiPassSGD",
        "fitted": "dimfree.dataset.real.fitted:Fitted",
        "dmft": "dimfree.dataset.dmft.description:DMFT",
        "static": "dimfree.dataset.ends.static:Static",
        "max-margin": "dimfree.dataset.ends.yardsticks:MaxMargin",
        "bayes-optimal": "dimfree.dataset.ends.yardsticks:BayesOptimal",
    },
)
