"""The problem of two Gaussians: TOML and back, its clock, and errors in one sentence."""

import pytest

from dimfree.errors import ProblemError
from dimfree.onepass.gaussians_problem import Neurons, NoisyOnePass, TwoGaussiansProblem
from dimfree.onepass.sections import TwoGaussians
from dimfree.problem import Problem, dumps, loads

WRITTEN = """
dimension = 320
[data]
kind = "two-gaussians"
contrast = 0.4
signal = 60
[network]
width = 800
activation = "relu"
trained = ["second-layer", "first-layer"]
bias_start = 1.0
[training]
learning_rate = 51.2
inverse_temperature = 100.0
schedule = {kind = "power", exponent = 0.25}
"""


def test_toml_round_trip():
    problem = loads(WRITTEN)
    assert isinstance(problem, TwoGaussiansProblem)
    assert problem.network.trained == ("first-layer", "second-layer")
    assert loads(dumps(problem)) == problem
    assert loads(dumps(TwoGaussiansProblem())).digest == TwoGaussiansProblem().digest != problem.digest


def test_clock_is_that_of_the_sheet():
    assert loads(WRITTEN).time_step == pytest.approx(2e-4)
    assert TwoGaussiansProblem().time_step == pytest.approx(2e-5)


def test_signal_is_everything_unless_said():
    assert loads(WRITTEN).signal == 60
    assert TwoGaussiansProblem(dimension=30).signal == 30


def test_data_of_this_kind_make_this_problem():
    other = Problem(dimension=70).replace(**{"data.kind": "two-gaussians", "data.contrast": 0.3})
    assert isinstance(other, TwoGaussiansProblem)
    assert (other.dimension, other.data.contrast) == (70, 0.3)
    assert isinstance(other.replace(**{"data.kind": "teacher"}), Problem)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: TwoGaussians(contrast=1.0), "contrast = 1.0: input should be less than 1"),
        (lambda: TwoGaussians(contrast=0.0), "contrast = 0.0: input should be greater than 0"),
        (
            lambda: TwoGaussiansProblem(data=TwoGaussians(signal=50)),
            "signal = 50 coordinates do not fit into dimension 40",
        ),
        (lambda: Neurons(trained=()), "at least 1 item"),
        (lambda: Neurons(trained=("weights",)), "'first-layer', 'bias' or 'second-layer'"),
        (lambda: Neurons(trained=("bias", "weights")), "'first-layer', 'bias' or 'second-layer'"),
        (lambda: NoisyOnePass(inverse_temperature=0.0), "inverse_temperature = 0.0: input should be greater than 0"),
        (lambda: loads('[data]\nkind = "two-gaussians"\ncontrst = 0.5'), "contrast"),
    ],
)
def test_errors_are_one_sentence(build, says):
    with pytest.raises(ProblemError) as failure:
        build()
    assert says in str(failure.value)
    assert "\n" not in str(failure.value)
