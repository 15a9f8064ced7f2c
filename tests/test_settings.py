"""One word for every problem: kinds decide of the setting, in Python, in files and with --set, and what was given is kept."""

import warnings

import pytest

import dimfree as df


def test_problem_is_one_word_for_every_setting():
    assert type(df.Problem()) is df.extend.OnePassProblem
    assert type(df.Problem(data=df.TwoClusters(samples=3.0))) is df.extend.DataSetProblem
    assert type(df.Problem(data={"kind": "two-gaussians"})) is df.extend.OnePassProblem
    assert type(df.Problem(training=df.MultiPass())) is df.extend.DataSetProblem
    assert isinstance(df.extend.DataSetProblem(), df.Problem)
    assert df.Problem(data=df.LinearTeacher()) == df.loads("[data]\nkind = 'linear-teacher'")


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("[data]\nkind = 'two-cluster'", r"\[data\] got kind = 'two-cluster'; did you mean 'two-clusters'\?"),
        ("[training]\nkind = 'multipass'", r"\[training\] got kind = 'multipass'; did you mean 'multi-pass'\?"),
        (
            "[data]\nkind = 'two-gaussians'\n[training]\nkind = 'multi-pass'",
            r"\[training\] got kind = 'multi-pass', which does not go with \[data\] kind = 'two-gaussians'; "
            r"set training.kind = 'one-pass', or data.kind to one of: two-clusters, three-clusters",
        ),
        (
            "[data]\nkind = 'two-clusters'\n[training]\nloss = 'squar'",
            r"\[training\] got loss = 'squar'; did you mean 'square'\?",
        ),
        (
            "[data]\nkind = 'nonsense'",
            r"choose from: teacher, multi-index, two-gaussians, hypercube, hidden-manifold, ",
        ),
    ],
)
def test_wrong_kinds_are_answered_from_all_settings(toml, sentence):
    with pytest.raises(df.ProblemError, match=sentence):
        df.loads(toml)


FILE = "dimension = 77\n[run]\nseed = 5\nuntil = 3.0\nreplicas = 9"


@pytest.mark.filterwarnings("ignore::dimfree.errors.LeftBehindWarning")
@pytest.mark.parametrize("change", [{"data.kind": "two-clusters"}, {"training.kind": "multi-pass"}])
def test_another_setting_keeps_what_the_file_says_of_dimension_and_run(change):
    problem, others = (
        df.loads(FILE).replace(**change),
        df.extend.DataSetProblem if "data.kind" in change else df.extend.NetworkProblem,
    )
    assert type(problem) is others
    assert problem.dimension == 77
    assert problem.run == others().run.model_copy(update={"seed": 5, "until": 3.0, "replicas": 9}), (
        "the rest was not given"
    )
    assert df.Problem().replace(**change) == others(), "nothing was given, so all is that of the setting"


TWO_LAYER = FILE + "\n[network]\nwidth = 3\n[data]\nunits = 1\nnoise = 0.1\n[training]\nbatch = 5"
LEFT_BEHIND = {
    "training alone": (
        TWO_LAYER,
        {"training.kind": "multi-pass"},
        "training.kind = 'multi-pass' makes this a problem of another setting; left behind: training.batch.",
    ),
    "training of other data": (
        "[data]\nkind = 'two-gaussians'\ncontrast = 0.5\n[network]\nwidth = 8",
        {"training.kind": "multi-pass"},
        "training.kind = 'multi-pass' makes this a problem of another setting, with data.kind = 'two-clusters' instead of "
        "'two-gaussians', without [network]; left behind: data.contrast, network.width; set data.kind, too, if other data are "
        "meant.",
    ),
    "data": (
        TWO_LAYER,
        {"data.kind": "sign-teacher", "data.noise": 0.5},
        "data.kind = 'sign-teacher' makes this a problem of another setting, with data.kind = 'sign-teacher' instead of "
        "'teacher', without [network]; left behind: data.units, network.width, training.batch.",
    ),
    "a section": (
        TWO_LAYER,
        {"data": df.TwoClusters(variance=0.1)},
        "without [network]; left behind: data.noise, data.units, network.width, training.batch.",
    ),
    "the way back": (
        "[data]\nkind = 'two-clusters'\nsamples = 3.0",
        {"data.kind": "teacher"},
        "with data.kind = 'teacher' instead of 'two-clusters'; left behind: data.samples.",
    ),
}


@pytest.mark.parametrize("case", LEFT_BEHIND)
def test_what_another_setting_has_no_place_for_is_said(case):
    text, change, sentence = LEFT_BEHIND[case]
    with pytest.warns(df.LeftBehindWarning) as said:
        df.loads(text).replace(**change)
    (one,) = said
    assert sentence in str(one.message)


def test_nothing_is_left_behind_of_a_problem_of_which_nothing_was_given():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert df.loads(FILE).replace(**{"data.kind": "two-clusters"}).dimension == 77


def test_another_kind_of_data_fills_in_anew_what_was_not_given():
    problem = df.loads("[network]\nwidth = 30").replace(**{"data.kind": "two-gaussians"})
    assert problem.network.width == 30
    assert problem.network.activation == df.Problem(data=df.TwoGaussians()).network.activation
    assert problem.dimension == 40
    back = problem.replace(**{"data.kind": "teacher"})
    assert back == df.Problem(network=df.TwoLayer(width=30))


def test_objects_and_tables_mean_the_same():
    objects = df.Problem(data=df.TwoGaussians(contrast=0.5), network=df.TwoLayer(width=8))
    tables = df.Problem(data={"kind": "two-gaussians", "contrast": 0.5}, network={"width": 8})
    assert objects == tables
    assert objects.digest == tables.digest
    assert df.loads(df.dumps(objects)) == objects


@pytest.mark.parametrize("setting", df.settings(), ids=lambda one: one.name)
def test_the_template_of_a_setting_spells_out_its_embedded_problem(setting):
    assert df.loads(setting.commented_problem()) == setting.problem()


def test_every_description_has_its_place():
    """Experiments in one module, theories in the other, and nothing else in either."""
    known = {type(one) for one in df.descriptions().values()}
    for module, real in ((df.experiments, True), (df.theories, False)):
        assert {getattr(module, name) for name in module.__all__} == {one for one in known if one.real is real}
