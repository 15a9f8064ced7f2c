"""The best schedule at the command line, and what it says to wishes that cannot be met."""

import json

import pytest
from schedule_problems import A, best_of, linear, phase_retrieval
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app


@pytest.mark.slow
def test_the_command_prints_one_object_and_writes_its_files(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(df.dumps(linear(0.1, 20.0)))
    wanted = "--knots 25 --against greedy --replicas 32 --export optax --json"
    result = CliRunner().invoke(app, ["optimise", str(file), *wanted.split(), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found["schedules"]) == ["constant", "greedy", "optimal"]
    for one in found["schedules"].values():
        assert {"risk", "gain", "rates", "cpu_seconds"} <= one.keys()
    assert found["schedules"]["optimal"]["risk"] == pytest.approx(0.00347514679, rel=1e-5)
    assert found["certificate"]["pontryagin_error"] < 0.01
    assert found["confirmed"]["optimal"]["gain"]["value"] > 1.2
    assert {"mean", "median", "worst", "error"} <= found["confirmed"]["optimal"].keys()
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["best.csv", "best.nc", "best.png", "best.toml", "best_optax.py"]
    assert set(found["files"]) == {"problem", "rates", "results", "figure", "script"}
    problem = df.load(found["files"]["problem"])
    assert problem.training.schedule.kind == "linear"
    assert problem.replace(**{"training.schedule": None}) == linear(0.1, 20.0)
    lines = (tmp_path / "out" / "best.csv").read_text().splitlines()
    assert f"# Digest of the problem: {problem.digest}." in lines
    rows = [line for line in lines if not line.startswith("#")]
    assert rows[:2] == ["step,rate", f"0,{problem.training.schedule.factors[0]!r}"]


WRONG = {
    "the second layer's rate enters linearly, so its best value is a bound; give its bounds, as in second_layer_rate=0:10.": {
        "knobs": "learning-rate,second-layer-rate"
    },
    "weight decay enters linearly, so its best value is a bound; give its bounds, as in weight_decay=0:1.": {
        "knobs": ["learning_rate", "weight_decay"]
    },
    "there is no knob 'width'": {"knobs": "width"},
    "bounds of weight_decay were given, which is not among the knobs": {"bounds": {"weight_decay": (0.0, 1.0)}},
    "second_layer_rate is a knob of a second layer that learns": {
        "knobs": "second-layer-rate",
        "bounds": "second_layer_rate=0:10",
    },
    "the bounds 3:1 of learning_rate are not a range of positive numbers": {"bounds": "3:1"},
    "bounds '3' are not two numbers; write them as 0.01:3.": {"bounds": "3"},
    "there is no family of schedules 'cosinus'; did you mean 'cosine'?": {"against": "cosinus"},
    "there is no objective 'median'": {"objective": "median"},
    "nothing is confirmed by 'adam'": {"confirm": "adam"},
    "there is no export to 'keras'": {"export": "keras"},
    "a schedule cannot be sought with 3 knots; give between 4 and 1000.": {"knots": 3},
}


@pytest.mark.parametrize("told", WRONG)
def test_wrong_wishes_are_one_sentence(told):
    with pytest.raises(df.ProblemError) as failure:
        df.optimise(linear(0.1, 20.0), **WRONG[told])
    assert told in str(failure.value)


@pytest.mark.slow
def test_refusals():
    with pytest.raises(df.RefusalError, match=r"would take about .* more than the budget .* raise the budget"):
        best_of(linear(0.1, 20.0), budget=1e-3)
    with pytest.raises(
        df.RefusalError, match="optimised through ode, which refuses: it is derived for neurons without"
    ):
        best_of(linear(0.1, 20.0).replace(**{"network.bias_start": 0.5}))


@pytest.mark.slow
def test_a_rate_that_makes_the_equations_stiff_is_refused():
    fast = A.replace(**{"network.second_layer": "trained", "training.second_layer_rate": 1e5})
    with pytest.raises(df.RefusalError, match=r"makes the equations stiff, .* lower training.second_layer_rate"):
        best_of(fast)


@pytest.mark.slow
def test_a_bound_that_holds_the_optimum_is_told():
    best = best_of(linear(0.1, 20.0), bounds=(0.01, 0.5))
    share = best.certificate.active_bounds["learning_rate upper"]
    assert 0.1 < share < 0.5
    assert best.rates().max() == pytest.approx(0.5)
    (told,) = (one for one in best.warnings if "on the bound" in one)
    assert told == (
        f"the optimum lies on the bound 0.5 for {100 * share:.2g} % of the run; widen its bounds, or read this as "
        "'as large as allowed'."
    )


@pytest.mark.slow
def test_a_schedule_that_is_set_is_the_first_guess():
    given = linear(0.1, 20.0).replace(**{"training.schedule": df.ExponentialDecay(scale=7.0)})
    best = best_of(given)
    assert best.warnings == ("training.schedule is already set; it is used as the first guess.",)
    assert best.schedules["optimal"].risk == pytest.approx(0.00347514679, rel=1e-5)
    assert best.certificate.starts_spread < 1e-4


@pytest.mark.slow
def test_a_plateau_that_nothing_leaves_is_told():
    """One direction of phase retrieval at an overlap so small that it does not grow in time."""
    with pytest.raises(df.ProblemError) as failure:
        best_of(phase_retrieval(0.1, 3.0, M=1e-3))
    assert str(failure.value) == (
        "every schedule ends on the plateau (risk 2 at the end of every start); raise run.until (try 12), or start less "
        "symmetric."
    )


@pytest.mark.slow
def test_a_risk_that_is_not_resolved_is_told():
    best = best_of(linear(0.0, 20.0))
    (told,) = (one for one in best.warnings if "resolves" in one)
    assert told == "the risk (2e-09) is below what rtol = 1e-08 resolves; shorten run.until or lower rtol."
