"""The phase diagram and the learning curve of the page: their numbers are those of Python, their points the problem's."""

import numpy as np
import pytest
from in_node import answered

import dimfree as df
from dimfree.lab.phase import phase_of, sketch_of
from dimfree.questions.regimes.formulas import classify, edge, exponents

_PATHS = ("dimension", "network.width", "training.learning_rate", "training.batch")


def drawn(rng: np.random.Generator) -> tuple[int, int, float, int]:
    """A dimension, width, rate and batch, in all regimes."""
    d = int(10.0 ** rng.uniform(0.5, 6))
    return d, int(10.0 ** rng.uniform(0, 4)), float(10.0 ** rng.uniform(-4, 5)), int(rng.choice([1, 1, 8, 10**5]))


def inside(corners: list[list[float]], x: float, y: float) -> bool:
    """Whether a point lies in a convex polygon."""
    if len(corners) < 3:
        return False
    edges = zip(corners, [*corners[1:], corners[0]], strict=True)
    sides = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for (ax, ay), (bx, by) in edges]
    return all(side >= -1e-9 for side in sides) or all(side <= 1e-9 for side in sides)


def test_points_lie_in_the_regions_that_python_names():
    part, rng = phase_of(df.Problem()), np.random.default_rng(0)
    cases = [drawn(rng) for _ in range(300)]
    given = [part, [dict(zip(_PATHS, case, strict=True)) for case in cases]]
    seen = answered(
        "phase.js", "(script, [part, cases]) => cases.map((numbers) => script.phaseOf(part, numbers))", given
    )
    met = set()
    for (d, p, gamma, batch), found in zip(cases, seen, strict=True):
        regime, point = classify(d, p, gamma, batch=batch), found["point"]
        assert (point["x"], point["y"]) == pytest.approx(exponents(d, p, gamma, batch))
        assert point["s"] == pytest.approx(regime.s_eff, abs=1e-12)
        assert point["region"] == regime.label
        here = [one["name"] for one in found["regions"] if inside(one["corners"], point["x"], point["y"])]
        assert here == [regime.label]
        line = found["lines"][-1]
        assert line["dashed"]
        assert sum(line["from"]) == pytest.approx(edge(d, batch))
        met.add(regime.label)
    assert met == {"gradient_flow", "saad_solla", "noise_dominated", "no_ode"}


def test_a_dragged_point_is_the_problem_that_lies_there():
    part = phase_of(df.Problem(dimension=1000))
    asked = {"dimension": 1000, "x": 0.5, "y": -0.25}
    function = """(script, [part, {dimension, x, y}]) => {
      const to = script.moved(part, {dimension}, x, y);
      return [to, script.phaseOf(part, {dimension, ...to}).point];
    }"""
    to, point = answered("phase.js", function, [part, asked])
    assert to == {"network.width": 32, "training.learning_rate": pytest.approx(1000**0.25, rel=1e-3)}
    assert point["x"] == pytest.approx(0.5, abs=2e-3)
    assert point["y"] == pytest.approx(-0.25, abs=1e-3)


def test_problems_without_a_diagram_say_why_or_nothing():
    told = phase_of(df.Problem(training={"momentum": 0.5}))
    assert told == {
        "part": "phase",
        "sentence": "regimes are not derived for momentum; leave it out, or use dimfree compare.",
    }
    other = next(one for one in df.settings() if not isinstance(df.Problem(), one.problem))
    assert phase_of(other.problem()) is None


@pytest.mark.parametrize("kind", ["linear-teacher", pytest.param("sign-teacher", marks=pytest.mark.slow)])
def test_the_learning_curve_of_a_problem_goes_through_its_theories(kind):
    training = {"loss": "square" if kind == "linear-teacher" else "logistic", "weight_decay": 0.1}
    problem = df.Problem(data={"kind": kind, "noise": 0.2}, training=training)
    part = sketch_of(problem)
    assert part["path"] == "data.samples"
    samples = part["x"][::12]
    expected = df.curve(problem, samples=samples, seeds=0)
    assert part["lines"]["static"][::12] == pytest.approx(expected.theory["risk"], rel=1e-9)
    at = problem.replace(**{"data.samples": samples[2]})
    for name in ("static", "bayes-optimal"):
        assert part["lines"][name][24] == pytest.approx(float(df.solve(at, name).risk.values.ravel()[0]), rel=1e-6)


def test_problems_of_which_no_end_is_known_have_no_learning_curve():
    assert sketch_of(df.Problem()) is None
    assert sketch_of(df.Problem(data={"kind": "two-clusters"})) is None
    assert sketch_of(df.Problem(data={"kind": "given-points"})) is None
