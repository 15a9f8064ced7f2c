"""Bad input gets one sentence: what was given, what was expected, what to change."""

import pytest

from dimfree.errors import DimfreeError, ProblemError
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem, load, loads
from dimfree.problem.toml import parse_override

PAIR = '[network]\nwidth = 2\n[data]\nunits = 1\n[start]\nkind = "overlaps"\n'
SINGLE = '[network]\nwidth = 1\n[data]\nunits = 1\n[start]\nkind = "overlaps"\n'
LINK = '[data]\nkind = "multi-index"\n'
STEPS = '[training.schedule]\nkind = "steps"\n'

SENTENCES = {
    # unknown keys
    "dimensoin = 3": "the problem has no key 'dimensoin'; did you mean 'dimension'?",
    "[network]\nwidht = 3": "[network] has no key 'widht'; did you mean 'width'?",
    "[trainin]\nbatch = 3": "the problem has no key 'trainin'; did you mean 'training'?",
    "[run]\nxyz = 3": "[run] has no key 'xyz'; choose from: until, replicas, seed, points, spacing, times, starts.",
    '[start]\nfile = "w.npz"': "[start] has no key 'file'; choose from: kind, scale.",
    # wrong types, signs, numbers that are none
    '[network]\nwidth = "wide"': "[network]: width = 'wide' is not a number; write it without quotes",
    "[network]\nwidth = 2.5": "[network] got width = 2.5: input should be a valid integer",
    "network = 'x'": "the problem got network = 'x': input should be a valid dictionary",
    "[network]\nwidth = -1": "[network] got width = -1: input should be greater than 0.",
    f'[data]\nkind = "drawn-points"\nsamples = {"9" * 400}': f"[data]: samples = {'9' * 80}... is too large; use an integer up",
    "dimension = 0": "the problem got dimension = 0: input should be greater than 0.",
    "[training]\nbatch = 9223372036854775807": "[training] got batch = 9223372036854775807: input should be less than or equal",
    "[training]\nbatch = 0": "[training] got batch = 0: input should be greater than 0.",
    "[training]\nlearning_rate = nan": "[training] got learning_rate = nan: input should be a finite number.",
    "[training]\nlearning_rate = inf": "[training] got learning_rate = inf: input should be a finite number.",
    "[training]\nlearning_rate = 0.0": "[training] got learning_rate = 0.0: input should be greater than 0.",
    "[training]\nweight_decay = -1.0": "[training] got weight_decay = -1.0: input should be greater than or equal to 0.",
    "[data]\nnoise = nan": "[data] got noise = nan: input should be a finite number.",
    "[data]\nnoise = -1.0": "[data] got noise = -1.0: input should be greater than or equal to 0.",
    "[start]\nscale = 0.0": "[start] got scale = 0.0: input should be greater than 0.",
    "[run]\nuntil = 0.0": "[run] got until = 0.0: input should be greater than 0.",
    "[run]\npoints = 1": "[run] got points = 1: input should be greater than or equal to 2.",
    "[run]\nseed = -1": "[run] got seed = -1: input should be greater than or equal to 0.",
    '[network]\nscaling = "avg"': "[network] got scaling = 'avg'; choose from: mean, sqrt, sum.",
    "[training]\nlearning_rate = -1.0\nbatch = 0": "input should be greater than 0. (1 more after this one.)",
    # kinds
    '[data]\nkind = "techer"': "[data] got kind = 'techer'; did you mean 'teacher'?",
    '[data]\nkind = "zzz"': "kind = 'zzz'; choose from: teacher, multi-index, two-gaussians, hypercube, hidden-manifold, ",
    '[start]\nkind = "gausian"': "[start] got kind = 'gausian'; did you mean 'gaussian'?",
    '[training]\nkind = "multi"': "[training] got kind = 'multi'; did you mean 'multi-pass'?",
    '[training.schedule]\nkind = "step"': "schedule] got kind = 'step'; did you mean 'steps'?",
    '[start]\nkind = "weights"': "[start] needs a value for 'file'.",
    # activations
    '[data]\nactivation = "tahn"': "[data]: there is no activation 'tahn'; did you mean 'tanh'? Any jax.numpy function",
    '[network]\nactivation = "zzz"': "[network]: there is no activation 'zzz'; choose from: erf, relu, linear, square,",
    '[network]\nactivation = "he20"': "[network]: there is no activation 'he20'",
    "[network.activation]\nfoo = [1.0]": "an activation given as a table needs the key 'hermite', 'polynomial' or 'knots'.",
    "[network.activation]\nhermite = []": "a Hermite activation got hermite = []: tuple should have at least 1 item",
    "[network.activation]\npolynomial = [nan]": "a polynomial activation got polynomial.0 = nan: input should be a finite",
    "[network.activation]\nknots = [1.0, 0.0]\nvalues = [0.0, 1.0]": "knots [1.0, 0.0] must increase strictly.",
    "[network.activation]\nknots = [1.0, 1.0]\nvalues = [0.0, 1.0]": "knots [1.0, 1.0] must increase strictly.",
    "[network.activation]\nknots = [0.0, 1.0]\nvalues = [0.0]": "2 knots and 1 values were given; give one value per knot.",
    # what learns
    '[network]\nsecond_layer = "traned"': "[network]: second_layer is 'traned'; choose 'fixed' or 'trained'.",
    '[network]\ntrained = ["first_layer"]': "[network] got trained.0 = 'first_layer'; did you mean 'first-layer'?",
    "[network]\ntrained = []": "[network] got trained = []: tuple should have at least 1 item",
    '[network]\ntrained = "first-layer"': "[network] got trained = 'first-layer': input should be a valid tuple.",
    '[network]\ntrained = "first-layer"\nsecond_layer = "trained"': "[network] got trained = 'first-layer': input should be",
    '[network]\ntrained = ["bias"]\n[training]\nspherical = true': "training.spherical = true keeps the norms of a first "
    "layer that does not learn; put 'first-layer' into network.trained, or set training.spherical = false.",
    "[network]\nbias_start = nan": "[network] got bias_start = nan: input should be a finite number.",
    "[training]\ninverse_temperature = 0.0": "[training] got inverse_temperature = 0.0: input should be greater than 0.",
    '[training]\nscheduled = "all"': "[training] got scheduled = 'all'; choose from: gradient, everything.",
    '[training]\nsecond_layer_decay = "sam"': "[training] got second_layer_decay = 'sam'",
    # second layers
    "[network]\nsecond_layer_start = [1.0, 2.0]": "second_layer_start has 2 entries for width 4; give one per unit.",
    "[data]\nsecond_layer = [1.0]": "[data]: second_layer has 1 entries for 2 units; give one per unit.",
    # teachers
    "[data]\noverlap = [[1.0, 2.0], [2.0, 1.0]]": "[data]: overlap is not positive semi-definite: its smallest eigenvalue is -1;",
    "[data]\noverlap = [[1.0, 0.5], [0.0, 1.0]]": "[data]: overlap is not symmetric; largest difference 0.5.",
    "[data]\noverlap = [[1.0]]": "[data]: overlap has shape (1, 1); it must be 2 x 2.",
    "[data]\noverlap = [[1.0, 0.0], [0.0]]": "[data]: overlap has shape (2,); it must be 2 x 2.",
    "dimension = 3\n[data]\nunits = 4": "4 independent teacher directions do not fit into dimension 3; lower data.units",
    "dimension = 2\n" + LINK + 'link = "staircase-3"': "3 independent teacher directions do not fit into dimension 2;",
    # links
    LINK
    + 'link = "terms"': "[data]: terms is empty; give at least one Hermite multi-index such as terms = [[1, 0], [1, 1]].",
    LINK
    + "terms = [[0, 0]]": "[data]: the link is constant: no term has a positive degree, so there is nothing to learn.",
    LINK + "terms = []": "[data]: terms is empty; give at least one Hermite multi-index",
    LINK + "terms = [[]]": "[data]: the link is constant",
    LINK + "terms = [[1, 0], [1]]": "[data]: all terms need the same length, one degree per direction.",
    LINK + "terms = [[1, 0]]\ncoefficients = [1.0, 2.0]": "[data]: 2 coefficients for 1 terms; give one per term.",
    LINK + 'link = "parity-2"\nterms = [[1, 1]]': "link = 'parity-2' already names the terms; leave out terms",
    LINK + 'link = "parity-9"': "[data] got link = 'parity-9'; did you mean 'parity-3'?",
    LINK + "terms = [[-1, 2]]": "[data] got terms.0.0 = -1: input should be greater than or equal to 0.",
    # starts
    SINGLE: "[start] needs a value for 'Q'. (1 more after this one.)",
    PAIR
    + "Q = [[1.0, 0.0], [0.0, 1.0]]\nM = [[1.0]]": "start.M has shape (1, 1); it must be 2 x 1 (network.width x data.units).",
    PAIR + "Q = [[1.0, 0.0]]\nM = [[0.0], [0.0]]": "start.Q has shape (1, 2); it must be 2 x 2.",
    PAIR + "Q = [[1.0, 0.1], [0.2, 1.0]]\nM = [[0.0], [0.0]]": "start.Q is not symmetric; largest difference 0.1.",
    SINGLE + "Q = [[-1.0]]\nM = [[0.0]]": "start.Q is not positive semi-definite: its smallest eigenvalue is -1;",
    SINGLE + "Q = [[1.0]]\nM = [[2.0]]": "the joint overlap matrix of start.Q, start.M and the teacher is not positive",
    SINGLE + "Q = [[nan]]\nM = [[0.0]]": "[start] got Q.0.0 = nan: input should be a finite number.",
    "dimension = 1\n"
    + SINGLE
    + "Q = [[1.0]]\nM = [[0.0]]": "start.Q and start.M need more than dimension = 1 directions;",
    # schedules
    STEPS + "times = [2.0, 1.0]\nfactors = [1.0, 2.0]": "[training.schedule]: times [2.0, 1.0] must increase strictly.",
    STEPS + "times = [2.0]\nfactors = [1.0, 2.0]": "1 times and 2 factors were given; give one factor per time.",
    # not TOML
    "a = = 3": "the TOML text is not valid TOML: Invalid value (at line 1, column 5).",
}


def sentence(call, *arguments) -> str:
    with pytest.raises(ProblemError) as caught:
        call(*arguments)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    assert text.endswith((".", "?", ".)"))
    assert caught.value.__cause__ is None
    return text


@pytest.mark.parametrize(("toml", "expected"), SENTENCES.items())
def test_bad_problem_is_explained_in_one_sentence(toml, expected):
    assert expected in sentence(loads, toml)


@pytest.mark.parametrize("value", ["a\nb", "\n"])
def test_a_line_break_in_the_input_does_not_break_the_sentence(value):
    assert repr(value) in sentence(lambda: TwoLayer(activation=value))
    assert repr(value) in sentence(lambda: Problem(**{value: 1}))


@pytest.mark.parametrize(
    ("toml", "expected"),
    {
        '[data]\noverlap = "orth"': "[data] got overlap = 'orth'",
        '[data]\nsecond_layer = "x"': "[data]: second_layer = 'x' is not a number",
        '[network]\nsecond_layer_start = "sign"': "[network] got second_layer_start = 'sign'",
        "[network]\nactivation = 3": "[network] got activation = 3",
    }.items(),
)
def test_a_key_with_alternatives_is_named_as_the_user_wrote_it(toml, expected):
    assert expected in sentence(loads, toml)


def test_an_unknown_kind_of_schedule_names_the_table_as_written():
    assert sentence(loads, '[training.schedule]\nkind = "step"').startswith("[training.schedule] got kind")


def test_missing_file():
    text = sentence(load, "no/such.toml")
    assert text == "there is no problem file 'no/such.toml'; `dimfree new no/such.toml` writes one to start from."


def test_unreadable_files(tmp_path):
    assert f"the problem file {str(tmp_path)!r} cannot be read: " in sentence(load, tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe")
    assert "cannot be read: 'utf-8' codec can't decode" in sentence(load, tmp_path / "latin.toml")


def test_bad_toml_file_is_named(tmp_path):
    (tmp_path / "bad.toml").write_text("[network\n")
    assert sentence(load, tmp_path / "bad.toml").startswith(f"{tmp_path / 'bad.toml'} is not valid TOML: ")


@pytest.mark.parametrize("text", ["width", "=3", ""])
def test_bad_override(text):
    expected = f"a change of the problem reads {text!r}; write it as key=value, for example training.learning_rate=0.5."
    assert sentence(parse_override, text) == expected


def test_errors_of_problems_are_usage_errors():
    assert ProblemError.exit_code == 2
    assert issubclass(ProblemError, DimfreeError)
