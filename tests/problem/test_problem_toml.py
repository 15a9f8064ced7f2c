"""Problems as TOML: what is written is read again; single keys can be changed."""

from pathlib import Path

import jax.numpy as jnp
import pytest
from hypothesis import given
from problem_strategies import problem_tables

from dimfree.errors import ProblemError
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.hypercube.section import Hypercube
from dimfree.onepass.kinds.manifold.section import HiddenManifold
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.sections import GaussianStart, OnePass, OverlapStart, SphereStart, TwoLayer, WeightsStart
from dimfree.problem import ExponentialDecay, Hermite, PowerDecay, Problem, dumps, load, loads
from dimfree.problem.toml import parse_override, read
from dimfree.registry import setting_of


@given(problem_tables())
def test_what_is_written_is_read_again(tables):
    problem = Problem(**tables)
    again = read(dumps(problem), "what was written")
    assert again == problem
    assert again.digest == problem.digest
    assert hash(again) == hash(problem)


@given(problem_tables())
def test_a_copy_without_changes_is_the_same_problem(tables):
    problem = Problem(**tables)
    assert problem.replace() == problem


def test_an_empty_file_is_the_embedded_problem(tmp_path):
    (tmp_path / "empty.toml").write_text("")
    assert load(tmp_path / "empty.toml") == Problem()


def test_a_section_without_kind_is_of_the_default_kind():
    problem = loads("[data]\nunits = 3\n[start]\nscale = 2.0\n[network]\nwidth = 5\nactivation = 'he3'")
    assert problem.data == Teacher(units=3)
    assert problem.start.kind == "gaussian"
    assert problem.start.scale == 2.0
    assert problem.network == TwoLayer(width=5, activation="he3")


UNSAID = (
    "schedule",
    "inverse_temperature",
    "covariance",
    "directions",
    "momentum",
    "nesterov",
    *("labels", "flip", "slope", "noise_law", "bias", "constant", "loss", "clip", "outputs"),
)  # where nothing of the kind is meant


def test_every_key_is_spelled_out():
    text = dumps(Problem())
    for section in (type(Problem()), Teacher, TwoLayer, OnePass):
        for key in section.model_fields:
            assert key in text or key in UNSAID


DATA = (Teacher, MultiIndex, TwoGaussians, Hypercube, HiddenManifold)
SECTIONS = (*DATA, TwoLayer, OnePass, GaussianStart, OverlapStart, WeightsStart)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_the_page_about_problems_names_every_key(section):
    page = (Path(__file__).parents[2] / "docs" / "problem.md").read_text(encoding="utf-8")
    rows = {key for row in page.splitlines() if row.startswith("|") for key in row.split("|")[1].strip().split(", ")}
    for key in section.model_fields:
        name = f"{section.title.strip('[]')}.{key}"
        assert name in rows or name == "training.kind", name


@pytest.mark.parametrize("section", [Teacher, TwoLayer, OnePass, GaussianStart], ids=lambda section: section.__name__)
def test_the_template_names_every_key(section):
    template = setting_of(Problem()).commented_problem()
    assert loads(template) == Problem()
    written = {line.removeprefix("# ").partition(" = ")[0] for line in template.splitlines()}
    assert {*section.model_fields} <= written


def test_activation_as_table():
    assert loads("[network.activation]\nhermite = [0, 0, 1]").network.activation == Hermite(hermite=(0.0, 0.0, 1.0))


def test_importable_function_is_written_as_its_path():
    written = dumps(Problem(network=TwoLayer(activation=jnp.tanh)))
    assert loads(written, allow_code=True).network.activation is jnp.tanh
    assert 'activation = "jax.numpy:tanh"' in written


def test_a_problem_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Problem().dimension = 3


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("dimension", 7, lambda p: p.dimension),
        ("training.learning_rate", 0.5, lambda p: p.training.learning_rate),
        ("data.noise", 0.25, lambda p: p.data.noise),
        ("network.activation", "relu", lambda p: p.network.activation),
        ("run.spacing", "linear", lambda p: p.run.spacing),
    ],
)
def test_one_dotted_key_changes_one_value(key, value, read):
    before, after = Problem(), Problem().replace(**{key: value})
    assert read(before) != value
    assert read(after) == value
    assert after.replace(**{key: read(before)}) == before


def test_setting_another_kind_drops_the_keys_of_the_old_one():
    problem = Problem().replace(**{"data.kind": "multi-index", "data.link": "parity-2"})
    assert problem.data == MultiIndex(link="parity-2")
    assert problem.replace(**{"start.kind": "sphere", "start.scale": 2.0}).start == SphereStart(scale=2.0)


@pytest.mark.parametrize("turned", [False, True])
def test_keys_of_another_kind_are_set_before_or_after_it(turned):
    changes = [
        ("start.kind", "overlaps"),
        ("start.Q", [[1.0]]),
        ("start.M", [[0.5]]),
        ("network.width", 1),
        ("data.units", 1),
    ]
    made = Problem().replace(**dict(changes[::-1] if turned else changes))
    assert made.start == OverlapStart(Q=[[1.0]], M=[[0.5]])
    wrong = [("training.kind", "multi-pass"), ("training.clip", 1.0)]
    with pytest.raises(ProblemError, match="no key 'clip'"):
        Problem().replace(**dict(wrong[::-1] if turned else wrong))


def test_setting_the_same_kind_keeps_the_keys():
    problem = Problem(data=Teacher(units=3)).replace(**{"data.kind": "teacher"})
    assert problem.data == Teacher(units=3)


def test_a_schedule_can_be_set_where_there_was_none():
    problem = Problem().replace(**{"training.schedule.kind": "exponential", "training.schedule.scale": 3.0})
    assert problem.training.schedule == ExponentialDecay(scale=3.0)
    assert problem.replace(**{"training.schedule.kind": "power"}).training.schedule == PowerDecay()
    assert problem.replace(**{"training.schedule": None}) == Problem()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.learning_rate=0.5", ("training.learning_rate", 0.5)),
        ("network.width = 3", ("network.width", 3)),
        ("network.activation=relu", ("network.activation", "relu")),
        ('network.activation="relu"', ("network.activation", "relu")),
        ("data.second_layer=[1, 2.5]", ("data.second_layer", [1, 2.5])),
        ("training.spherical=true", ("training.spherical", True)),
        ("start.file=a=b.npz", ("start.file", "a=b.npz")),
    ],
)
def test_overrides_are_toml_values_or_bare_words(text, expected):
    assert parse_override(text) == expected


@pytest.mark.parametrize(
    ("link", "terms"),
    [
        ("staircase-3", ((1, 0, 0), (1, 1, 0), (1, 1, 1))),
        ("parity-2", ((1, 1),)),
        ("parity-3", ((1, 1, 1),)),
    ],
)
def test_named_links_spell_out_their_terms(link, terms):
    data = MultiIndex(link=link)
    assert MultiIndex(terms=terms, coefficients=(1.0,) * len(terms)).expansion == data.expansion
    assert data.expansion == (terms, (1.0,) * len(terms))
    assert data.units == len(terms[0])


def test_a_link_that_is_not_said_is_the_shortest_staircase():
    assert loads('[data]\nkind = "multi-index"').data == MultiIndex(link="staircase-2")
