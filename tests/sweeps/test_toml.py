import pytest

import dimfree as df
from dimfree.sweeps.toml import read_sweep, shipped

GOOD = """
descriptions = ["chain", "ode"]
replicas = 2
steps = 100
[problem]
dimension = 40
[over]
"training.learning_rate" = { logspace = [0.1, 1.0, 2] }
[over.size]
zip = { dimension = [40, 50], "network.width" = [2, 3] }
[figure]
kind = "map"
[slurm]
interface = "ib0"
"""


def written(folder, text):
    (folder / "sweep.toml").write_text(text)
    return folder / "sweep.toml"


def test_a_file_says_what_is_computed_and_where(tmp_path):
    found = read_sweep(written(tmp_path, GOOD), {"data.units": 1})
    assert found.slurm == {"interface": "ib0"}
    assert found.sweep.shape == (2, 2)
    assert found.sweep.size == 8
    assert [one.name for one in found.sweep.descriptions] == ["chain", "ode"]
    assert found.sweep.problem.run.replicas == 2
    assert found.sweep.problem.data.units == 1
    assert found.sweep.clock.values[-1] == 100
    assert found.sweep.points[-1].problem.network.width == 3


def test_the_problem_may_be_a_file_beside_it(tmp_path):
    (tmp_path / "p.toml").write_text("dimension = 77\n")
    found = read_sweep(written(tmp_path, 'problem = "p.toml"\n[over]\n"network.width" = [2]\n'))
    assert found.sweep.problem.dimension == 77
    assert [one.name for one in found.sweep.descriptions] == ["ode"], "the theory of its setting"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("overr = 1", "a sweep has no key 'overr'; did you mean 'over'?"),
        ("over = 1", "over = 1 is not a table"),
        ("x = ", "is not valid TOML"),
        ("problem = 1", "neither a table nor the name of a problem file"),
        ("[over]\ndimension = [40]\n[figure]\nkind = 1", "[figure] got kind = 1; give a word in quotes"),
        ("descriptions = 2\n[over]\ndimension = [40]", "is not a list of names"),
        ('descriptions = "ode"\n[over]\ndimension = [40]', "is not a list of names"),
        ('[over]\ndimension = [40]\n[problem.network]\nactivation = "os:getcwd"', "names code"),
        ('steps = "many"\n[over]\ndimension = [40]', "steps = 'many' was given"),
    ],
)
def test_what_is_wrong_is_one_sentence(text, said, tmp_path):
    with pytest.raises(df.ProblemError, match=r"^[^\n]*$") as caught:
        read_sweep(written(tmp_path, text))
    assert said in str(caught.value)
    with pytest.raises(df.ProblemError, match="there is no sweep file"):
        read_sweep(tmp_path / "nowhere.toml")


def test_those_that_are_brought_along_make_sense():
    assert {*shipped()} == {
        "committee-phase-diagram",
        "exit-time-over-width",
        "error-over-width",
        "committee-frontier",
    }
    for name, title in shipped().items():
        assert title[0].isupper()
        assert all(hasattr(point, "problem") for point in read_sweep(name).sweep.points)
