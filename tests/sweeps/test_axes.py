import numpy as np
import pytest
from accounts import BASE, RATES, Square

import dimfree as df
from dimfree.sweeps.axes import axes
from dimfree.sweeps.points import Missing
from dimfree.sweeps.run import define


def test_values_are_lists_or_spaced():
    given = {RATES: {"logspace": [0.1, 10.0, 3]}, "network.width": (2, 4), "dimension": np.array([50, 60])}
    rates, widths, dimensions = axes(BASE, given)
    assert rates.values == pytest.approx((0.1, 1.0, 10.0))
    assert widths.values == (2, 4)
    assert dimensions.changes(1) == {"dimension": 60}
    assert axes(BASE, {RATES: {"linspace": [1, 2, 3]}})[0].values == (1.0, 1.5, 2.0)
    assert axes(BASE, {RATES: {"linspace": [2**70, 1, 2]}})[0].values == (2.0**70, 1.0), "beyond 64 bits"


def test_spaced_whole_numbers_are_whole_and_each_once():
    (widths,) = axes(BASE, {"network.width": {"logspace": [1, 8, 8]}})
    assert widths.values == (1, 2, 3, 4, 6, 8)
    assert all(isinstance(value, int) for value in widths.values)


def test_keys_that_go_together_are_one_axis():
    together = {"zip": {"network.width": [2, 4], RATES: {"linspace": [0.5, 1.0, 2]}}, "values": [0.1, 0.2]}
    (axis,) = axes(BASE, {"size": together})
    assert axis.changes(1) == {"network.width": 4, RATES: 1.0}
    assert axis.coordinates == {
        "size": ("size", (0.1, 0.2)),
        "network.width": ("size", (2, 4)),
        RATES: ("size", (0.5, 1.0)),
    }


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"training.learning_rte": [1.0]}, "names no key of the problem; did you mean 'training.learning_rate'?"),
        ({"learning_rate": [1.0]}, "did you mean 'training.learning_rate'?"),
        ({}, "there is no axis"),
        ({RATES: []}, "has no values"),
        ({RATES: 1.0}, "got 1.0; give a list"),
        ({RATES: [1.0, 1.0]}, "has a value twice"),
        ({RATES: [1.0, float("inf")]}, "has a value that is not a finite number"),
        ({RATES: [1.0, float("nan")]}, "has a value that is not a finite number"),
        ({"network.width": [10**400]}, "has a value that is not a finite number"),
        ({RATES: {"logspace": [0, 1, 3]}}, "both ends must be positive"),
        ({RATES: {"linspace": [0, 1]}}, "give [first, last, count]"),
        ({"x": {"zip": {RATES: [1.0], "dimension": [50, 60]}}}, "training.learning_rate has 1, dimension has 2"),
        ({RATES: [1.0], "x": {"zip": {RATES: [2.0]}}}, "two axes vary 'training.learning_rate'"),
        ({"run.until": [1.0, 2.0]}, "results would not stack"),
    ],
)
def test_what_is_no_axis_is_said_in_one_sentence(over, said):
    with pytest.raises(df.ProblemError, match=r"^[^\n]*$") as caught:
        axes(BASE, over)
    assert said in str(caught.value)


def test_a_key_of_another_kind_is_known_by_that_kind():
    (axis,) = axes(BASE, {"start": {"zip": {"start.kind": ["sphere"], "start.radius": [1.0]}}})
    assert axis.changes(0) == {"start.kind": "sphere", "start.radius": 1.0}


@pytest.mark.parametrize(("largest", "times"), [(2.0, BASE.times), (50.0, None)])
def test_points_share_the_times_of_the_problem_or_of_the_coarsest(largest, times):
    plan = define(BASE, {RATES: [0.1, largest], "network.width": [1, 2]}, [Square()])
    if times is None:  # that of the problem has two times within one step
        times = BASE.replace(**{RATES: largest, "network.width": 1}).times
    assert plan.clock.values == tuple(times)
    for point in plan.points:
        assert tuple(point.problem.times) == plan.clock.values
        assert (np.diff([point.problem.steps(time) for time in point.problem.times]) > 0).all()


def test_points_may_share_the_number_of_steps_instead():
    plan = define(BASE, {RATES: [0.1, 20.0]}, [Square()], steps=300)
    assert plan.clock.dim == "step"
    assert plan.clock.values[-1] == 300
    assert [point.problem.steps(point.problem.run.until) for point in plan.points] == [300, 300]


def test_a_point_is_known_by_all_that_decides_of_its_numbers():
    def keys(*descriptions, **changes):
        plan = define(BASE.replace(**changes) if changes else BASE, {RATES: [1.0, 2.0]}, descriptions)
        return [point.key for point in plan.points]

    one = keys(Square())
    assert len({*one}) == 2
    assert keys(Square()) == one
    others = (
        keys(Square(once="x")),
        keys(Square(label="y")),
        keys(Square(), **{"run.seed": 1}),
        keys(Square(), dimension=51),
    )
    assert len({key for some in (one, *others) for key in some}) == 10


def test_where_there_is_no_problem_a_reason_stands():
    plan = define(BASE, {"data.units": [2, 60]}, [Square()])
    good, bad = plan.points
    assert good.problem.data.units == 2
    assert isinstance(bad, Missing)
    assert "do not fit into dimension 50" in bad.reason
    with pytest.raises(df.ProblemError, match="no point of the sweep is a problem"):
        _ = define(BASE, {"data.units": [60, 70]}, [Square()]).points


@pytest.mark.parametrize(
    "name", ["time", "step", "replica", "description", "failure", "risk", "Q", "unit", "point", "margin"]
)
def test_an_axis_is_not_called_as_results_are(name):
    with pytest.raises(df.ProblemError, match=rf"^an axis cannot be called '{name}', because .*'my_{name}'\.$"):
        define(BASE, {name: {"zip": {RATES: [1.0, 2.0]}}}, ["max-margin", Square()])


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"a/b": {"zip": {RATES: [1.0]}}}, "the axis 'a/b' has a slash in its name"),
        ({"": {"zip": {RATES: [1.0]}}}, "an axis is called ''; give it a name"),
        ({"a\nb": {"zip": {RATES: [1.0]}}}, "an axis is called 'a\\nb'; give it a name"),
        (
            {"dimension": {"zip": {RATES: [1.0]}}, "x": {"zip": {"dimension": [40]}}},
            "two axes are called 'dimension', or vary a key of that name",
        ),
    ],
)
def test_names_that_no_result_can_have_are_refused(over, said):
    with pytest.raises(df.ProblemError, match=r"^[^\n]*$") as caught:
        define(BASE, over, [Square()])
    assert said in str(caught.value)


def test_names_are_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(Square, "solve", lambda *_: pytest.fail("a point was computed"))
    for name in ("risk", "time", "a/b"):
        with pytest.raises(df.ProblemError):
            df.sweep(BASE, {name: {"zip": {RATES: [1.0]}}}, descriptions=[Square()], store=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_an_axis_is_not_called_as_an_index_of_results_is():
    structured = BASE.replace(**{"data.covariance": df.Covariance.power(1.0)})
    with pytest.raises(df.ProblemError, match="cannot be called 'eigenvalue'"):
        define(structured, {"eigenvalue": {"zip": {RATES: [1.0]}}}, [Square()])
    assert define(BASE, {"eigenvalue": {"zip": {RATES: [1.0]}}}, [Square()]).size == 1
