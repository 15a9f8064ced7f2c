"""The problem of two Gaussians: files of former versions mean what they meant, its clock, and errors in one sentence."""

import pytest

from dimfree.dataset.problem import DataSetProblem, ThreeClusters
from dimfree.errors import DimfreeDeprecation, LeftBehindWarning, ProblemError
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, OnePass, TwoLayer
from dimfree.problem import PiecewiseLinear, PowerDecay, Problem, Run, dumps, loads

RAMP = PiecewiseLinear(knots=(0.5, 1.5), values=(-2.5, 7.5))
BARE = '[data]\nkind = "two-gaussians"\n'
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
# The former classes of two Gaussians had these defaults (but for 2 replicas, of which no verdict can be made), and rates of all
# parts, decays and noise moved together.
SECTIONS = {
    "dimension": 40,
    "data": TwoGaussians(contrast=0.8, signal=None),
    "network": TwoLayer(
        width=400, activation=RAMP, trained=("first-layer",), second_layer_start=1.0, bias_start=0.0, scaling="mean"
    ),
    "training": OnePass(
        learning_rate=0.32,
        schedule=None,
        scheduled="everything",
        batch=1,
        second_layer_rate=1.0,
        weight_decay=0.0,
        second_layer_decay="same",
        spherical=False,
        inverse_temperature=None,
    ),
    "start": GaussianStart(scale=0.8),
    "run": Run(until=10.0, replicas=4, seed=0, points=21, spacing="linear"),
}


def changed(section, **values):
    return type(section)(**(section.model_dump() | values))


FORMER = {
    BARE: {},
    WRITTEN: {
        "dimension": 320,
        "data": TwoGaussians(contrast=0.4, signal=60),
        "network": changed(
            SECTIONS["network"], width=800, activation="relu", trained=("first-layer", "second-layer"), bias_start=1.0
        ),
        "training": changed(
            SECTIONS["training"],
            learning_rate=51.2,
            inverse_temperature=100.0,
            schedule=PowerDecay(scale=1.0, exponent=0.25),
        ),
    },
    BARE + "[network]\nwidth = 20": {"network": changed(SECTIONS["network"], width=20)},
    BARE + '[network]\nactivation = {hermite = [0, 1]}\ntrained = ["bias"]': {
        "network": changed(SECTIONS["network"], activation={"hermite": (0.0, 1.0)}, trained=("bias",))
    },
    BARE + '[training]\nkind = "one-pass"\nbatch = 7\nweight_decay = 0.5': {
        "training": changed(SECTIONS["training"], batch=7, weight_decay=0.5)
    },
    # a start or a run that was written was complete, with the defaults of all problems
    BARE + "[start]\nscale = 0.3": {"start": GaussianStart(scale=0.3)},
    BARE + '[start]\nkind = "gaussian"': {"start": GaussianStart(scale=1.0)},
    BARE + "[run]\nuntil = 5.0": {"run": Run(until=5.0, replicas=8, points=80, spacing="log")},
    "dimension = 12\n" + BARE: {"dimension": 12},
}


@pytest.mark.parametrize("text", FORMER)
def test_a_file_of_a_former_version_means_the_same_problem(text):
    problem = loads(text)
    assert isinstance(problem, OnePassProblem)
    for name, expected in {**SECTIONS, **FORMER[text]}.items():
        assert getattr(problem, name) == expected, name
    assert loads(dumps(problem)) == problem
    assert loads(dumps(problem)).digest == problem.digest


@pytest.mark.parametrize(
    ("text", "trained"),
    [
        ('[network]\nsecond_layer = "trained"', ("first-layer", "second-layer")),
        ('[network]\nsecond_layer = "fixed"', ("first-layer",)),
        ('[network]\nsecond_layer = "trained"\ntrained = ["bias"]', ("bias", "second-layer")),
        ('[network]\nsecond_layer = "fixed"\ntrained = ["bias", "second-layer"]', ("bias",)),
        ("", ("first-layer",)),
    ],
)
def test_a_second_layer_may_be_said_to_learn_in_the_short_way(text, trained):
    problem = loads('[data]\nkind = "teacher"\n' + text)
    assert problem == Problem(network=TwoLayer(trained=trained))
    assert problem.network.second_layer == ("trained" if "second-layer" in trained else "fixed")
    assert "trained = [" in dumps(problem)
    assert loads(dumps(problem)) == problem


def test_former_teacher_files_fill_in_nothing_new():
    problem = loads('[network]\nsecond_layer = "trained"\n[training]\nweight_decay = 0.1')
    assert problem.training == OnePass(
        weight_decay=0.1, second_layer_decay=0.0, scheduled="gradient", inverse_temperature=None
    )
    assert problem.network.bias_start == 0.0
    assert not problem.network.has_offsets
    assert problem.data == Teacher()


def test_former_names_of_data_sets_are_read_with_a_warning():
    text = '[data]\nkind = "three-clusters"\n{} = 0.4\n{} = 0.3\n[training]\nkind = "multi-pass"'
    with pytest.warns(
        DimfreeDeprecation, match=r"^data\.(door is now data\.threshold|middle is now data\.middle_fraction);"
    ):
        former = loads(text.format("door", "middle"))
    now = loads(text.format("threshold", "middle_fraction"))
    assert isinstance(former, DataSetProblem)
    assert former.data == ThreeClusters(threshold=0.4, middle_fraction=0.3)
    assert former == now
    assert former.digest == now.digest
    with pytest.warns(DimfreeDeprecation, match=r"^data\.door is now data\.threshold;"):
        replaced = former.replace(**{"data.door": 0.9})
    assert replaced.data == ThreeClusters(threshold=0.9, middle_fraction=0.3)
    assert former.run == Run(until=16.0, spacing="linear")


def test_clock_is_that_of_the_sheet():
    assert loads(WRITTEN).time_step == pytest.approx(2e-4)
    assert loads(BARE).time_step == pytest.approx(2e-5)


def test_signal_is_everything_unless_said():
    assert loads(WRITTEN).data.telling(1000) == 60
    assert TwoGaussians().telling(30) == 30


def test_data_of_this_kind_fill_in_their_own_values_and_take_them_back():
    other = Problem(dimension=70).replace(**{"data.kind": "two-gaussians", "data.contrast": 0.3})
    assert isinstance(other, OnePassProblem)
    assert (other.dimension, other.data.contrast, other.network.width) == (70, 0.3, 400)
    assert other.replace(**{"data.kind": "teacher"}) == Problem(dimension=70)
    short = Problem().replace(**{"network.second_layer": "trained"}).replace(**{"data.kind": "two-gaussians"})
    assert (short.network.width, short.network.trained) == (400, ("first-layer", "second-layer"))


def test_what_is_not_named_is_not_changed():
    changed_run = loads(BARE).replace(**{"run.until": 3.0}).run
    assert changed_run == Run(until=3.0, replicas=4, points=21, spacing="linear")
    assert DataSetProblem().replace(**{"run.until": 3.0}).run == Run(until=3.0, spacing="linear")
    other_data = DataSetProblem().replace(**{"data.kind": "three-clusters", "run.until": 3.0})
    assert other_data.run == Run(until=3.0, spacing="linear")


def test_a_section_of_another_setting_takes_the_dimension_and_the_run_along():
    problem = Problem(dimension=70, network=TwoLayer(width=3), run=Run(until=2.0))
    with pytest.warns(LeftBehindWarning, match="left behind: network.width"):
        other = problem.replace(data=ThreeClusters())
    assert other == DataSetProblem(dimension=70, data=ThreeClusters(), run=Run(until=2.0))


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: TwoGaussians(contrast=1.0), "contrast = 1.0: input should be less than 1"),
        (lambda: TwoGaussians(contrast=0.0), "contrast = 0.0: input should be greater than 0"),
        (
            lambda: Problem(data=TwoGaussians(signal=50)),
            "signal = 50 coordinates do not fit into dimension 40",
        ),
        (
            lambda: loads(BARE + 'signal = 3\n[network]\nwidth = 1\n[start]\nkind = "overlaps"\nQ = [[1.0]]\nM = [[]]'),
            "start.kind = 'overlaps' does not say where the 3 coordinates of data.signal are; choose 'gaussian',",
        ),
        (lambda: TwoLayer(trained=()), "at least 1 item"),
        (lambda: TwoLayer(trained=("weights",)), "choose from: first-layer, bias, second-layer"),
        (lambda: TwoLayer(trained=("bias", "weights")), "choose from: first-layer, bias, second-layer"),
        (lambda: OnePass(inverse_temperature=0.0), "inverse_temperature = 0.0: input should be greater than 0"),
        (lambda: loads('[data]\nkind = "two-gaussians"\ncontrst = 0.5'), "contrast"),
        (lambda: Problem(data=TwoGaussians(), training={"kind": "multi-pass"}), "does not go with [data] kind"),
    ],
)
def test_errors_are_one_sentence(build, says):
    with pytest.raises(ProblemError) as failure:
        build()
    assert says in str(failure.value)
    assert "\n" not in str(failure.value)
