"""Scaling laws as a question: the frontier, what is said of it, and what it refuses or warns of."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.errors import ProblemError
from dimfree.onepass.projected import companion
from dimfree.onepass.projected.phases import phase
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.questions.scaling.figure import draw_plane, draw_risks
from dimfree.questions.scaling.theory import Curves, Law
from dimfree.questions.scaling.warnings import said_of
from dimfree.questions.scaling.what_if import best_of_schedule
from dimfree.readings.frontier import lowest
from stages import gating


@pytest.fixture(scope="module")
def answer():
    return df.scaling(compute=(1e4, 1e6))


def test_the_frontier_is_below_every_size_and_touches_it(answer):
    f, risks = answer.curves.frontier, answer.curves.risks
    assert (f.risk <= np.nanmin(risks, axis=0) * (1 + 1e-9)).all()
    assert (f.risk > 0.97 * np.nanmin(risks, axis=0)).all()
    assert answer.curves.sum_rule_error < 1e-6


def test_shares_of_the_risk_add_up_to_it(answer):
    shares = answer.values()["shares"]
    np.testing.assert_allclose(np.sum([shares[name] for name in shares], axis=0), 1, rtol=1e-12)


def test_what_is_said_has_both_exponents_and_every_change(answer):
    said = answer.summary().replace("\n", " ")
    assert "in phase III" in said
    assert "p = 0.5000, q = 0.6429" in " ".join(said.split())
    assert "embedding" in said
    for name in (
        "twice the size",
        "half the data",
        "twice the batch",
        "constant, best rate",
        "cosine",
        "wsd",
        "linear",
    ):
        assert name in said


def test_a_change_of_size_costs_what_the_sheet_measured(answer):
    """Twice or half the best size costs 19 to 28 % (docs/theory/scaling.md, section 4); at these small budgets up to 40."""
    risks = {one.name: one.risk for one in answer.changes}
    base = risks["as it is"]
    for name in ("twice the size, half the steps", "half the size, twice the steps"):
        assert 1.1 < risks[name] / base < 1.4


def test_a_schedule_of_constant_rate_is_the_best_constant_rate(answer):
    best = answer.best()
    rate, found = best_of_schedule(answer.law, best["size"], best["samples"], "constant")
    listed = next(one.risk for one in answer.changes if one.name == f"constant, best rate ({rate:.3g})")
    np.testing.assert_allclose(found, listed)


def test_the_best_schedule_of_all_is_below_every_other(answer):
    """Batches that double in quarters of the data end within a quarter of a falling rate."""
    risks = {one.name: one.risk for one in answer.changes}
    best = risks["best schedule of all"]
    assert all(best < risk for name, risk in risks.items() if name.endswith("base rate") or name == "as it is")
    grown = next(risk for name, risk in risks.items() if name.startswith("batch times"))
    assert 0.8 < grown / risks["cosine, best base rate"] < 1.25


def test_what_the_best_schedule_looks_like_is_said(answer):
    """In phase III it warms up for a quarter of the run and longer, and holds until the last fifth."""
    shape = answer.searched.shape
    assert 0.5 < shape.peak < 0.9
    assert 0.2 < shape.risen < 0.4
    assert 0.7 < shape.held < 0.95
    assert answer.searched.certified
    said = f"rises for {100 * shape.risen:.0f} % of the steps to {shape.peak:.2g} of the limit of stability"
    assert said in " ".join(answer.summary().split())
    assert answer.values()["best_schedule"]["risk"] == answer.searched.risk


def test_size_and_rate_are_best_together_below_either_alone(answer):
    risks = {one.name: one.risk for one in answer.changes}
    (both,) = (risk for name, risk in risks.items() if name.endswith("best together"))
    (rate,) = (risk for name, risk in risks.items() if name.startswith("constant, best rate"))
    assert both <= rate * (1 + 1e-12)
    assert both > 0.7 * rate


def test_local_exponents_have_errors_and_stand_above_those_of_the_phase(answer):
    f = answer.curves.frontier
    (p, _), (error, _) = f.local_exponents(), f.exponent_errors()
    lines = answer.summary().splitlines()
    row = next(line for line in lines if line.strip().startswith("1e+05")).split()
    assert row[5] == f"{p[4]:.3f}({round(1000 * error[4])})"
    assert next(line for line in lines if "C → ∞" in line).split()[-2:] == ["0.500", "0.643"]
    saved = answer.datasets()["frontier"]
    np.testing.assert_allclose(saved["p_error"], error)


def test_one_budget_is_one_line(answer):
    found = df.scaling(budget_flops=6e5)
    lines = found.summary().splitlines()
    assert lines[0].startswith("Compute 1e+05")
    middle = len(answer.curves.frontier.compute) // 2
    np.testing.assert_allclose(found.best()["risk"], answer.curves.frontier.risk[middle], rtol=0.02)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"compute": "1e4:2e4"}, "range of at least two decades"),
        ({"compute": "1e4"}, "is no range; give two numbers, as in 1e4:1e10"),
        ({"compute": (1e4, 1e6), "largest": 12.0}, "sizes from 8 to 12 are too few for a minimum"),
        ({"budget_flops": 10.0}, "budget_flops = 10 was given; give a number from 60000"),
        ({"alpha": 0.1, "beta": 0.3}, "the target's energy diverges"),
        ({"schedule": "cosin"}, "schedule = 'cosin' was given.*'cosine'"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(options, sentence):
    with pytest.raises(ProblemError, match=sentence):
        df.scaling(**options)


def test_an_unstable_rate_is_refused_with_the_limit():
    given = df.Problem(data={"kind": "power-law"}, training={"learning_rate": 0.6})
    with pytest.raises(ProblemError, match=r"above the limit of stability 0\.\d+ of size .*: choose below 0\.\d+"):
        df.scaling(given, compute=(1e4, 1e6))


@pytest.mark.parametrize("largest", gating([400, 30], [30]))
def test_a_best_size_at_the_end_of_the_list_is_no_number(largest, tmp_path):
    """In the figure, too: with 30 no budget has a best size."""
    found = df.scaling(compute=(1e4, 1e6), largest=largest)
    assert np.isnan(found.curves.frontier.size[-1])
    assert np.isfinite(found.curves.frontier.size).any() == (largest == 400)
    said = " ".join(found.summary().split())
    assert "the best size is the largest of the list 8 to" in said
    assert "no best size among those of the list" in said
    assert np.isnan([found.best()[name] for name in ("size", "samples", "risk", "learning_rate")]).all()
    found.plot(tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 10_000


def test_where_nothing_is_learnt_longer_lists_of_sizes_are_no_remedy():
    given = df.Problem(data={"kind": "power-law", "noise": 1e6}, training={"learning_rate": 0.1})
    said = " ".join(df.scaling(given, budget_flops=6e5, largest=1000).summary().split())
    assert (
        "the best size is the largest of the list 8 to 724, and so it is not given: nothing is learnt at this rate"
        in said
    )
    assert "lower training.learning_rate or raise batch" in said


def test_a_best_size_below_the_list_is_another_sentence():
    sizes, compute = np.array([8.0, 11.0, 16.0]), np.array([1e3, 2e3, 4e3])
    risks, data = np.array([[1.0, 1.0, 1.0], [1.1, 0.5, 0.9], [1.2, 0.7, 0.4]]), df.PowerLaw(inputs=400)
    law, found = Law(data, 0.5, 1), Curves(sizes, risks, lowest(sizes, risks, compute), 0.0)
    said = list(said_of(law, found, phase(0.7, 1.2), 1e3, 0.0))
    assert said[0].startswith("At compute 1e+03 the best size is the smallest of the list 8 to 16")
    assert "begin at larger compute" in said[0]
    assert said[1].startswith("At compute 4e+03 the best size is the largest of the list 8 to 16")


def test_exponents_that_are_not_yet_those_of_the_phase_are_warned_of():
    found = df.scaling(alpha=0.4, beta=0.8, budget_flops=6e6)
    said = " ".join(found.summary().split())
    assert found.phase.name == "IVa"
    assert "extrapolate with the curve, not with the exponent" in said
    p, _ = found.curves.frontier.local_exponents()
    assert abs(p[len(p) // 2] - 0.603) < 0.03


def test_few_inputs_and_label_noise_are_warned_of():
    given = df.Problem(data={"kind": "power-law", "noise": 0.1, "inputs": {"per_size": 2.0}})
    said = " ".join(df.scaling(given, budget_flops=6e5).summary().split())
    assert "Inputs are 2 times the size" in said
    assert "what no weights reach is 70 % below that of the power law" in said
    assert "Label noise 0.1 with a constant rate: the frontier ends near a risk of" in said


def test_one_projection_scatters_and_the_answer_says_by_how_much(answer):
    """docs/theory/scaling.md, section 2.1: sigma/sqrt(d) with sigma 1.7 to 2.3 in phase III, from 24 draws."""
    size = answer.best()["size"]
    assert 1.0 < answer.scatter * np.sqrt(size) < 3.5
    assert f"scatters by {100 * answer.scatter:.0f} % around this risk" in " ".join(answer.summary().split())


def test_the_band_of_the_figure_is_the_scatter_of_one_projection(answer):
    axes = Figure().subplots()
    draw_risks(axes, answer)
    (band,) = (one for one in axes.collections if one.get_label() == "one projection")
    corners = band.get_paths()[0].vertices
    middle = answer.curves.frontier.compute[len(answer.curves.frontier.compute) // 2]
    low, high = np.sort(np.unique(corners[np.isclose(corners[:, 0], middle), 1]))
    np.testing.assert_allclose(np.log(high / low) / 2, answer.scatter, rtol=0.01)


@pytest.mark.slow
def test_a_number_of_inputs_is_no_power_law_where_the_trace_grows_with_them():
    given = df.Problem(
        data={"kind": "power-law", "alpha": 0.4, "beta": 0.8, "inputs": 20_000}, training={"learning_rate": 0.002}
    )
    said = " ".join(df.scaling(given, budget_flops=6e5).summary().split())
    assert "2 alpha = 0.8: the trace grows with inputs" in said
    assert "give inputs = {per_size = 4}" in said


@pytest.mark.slow
def test_the_command_chooses_inputs_and_rate_for_small_exponents():
    """At the command line the problem is always there, and is the example's where it was not given."""
    done = CliRunner().invoke(app, ["scaling", "--alpha", "0.4", "--beta", "0.8", "--budget-flops", "6e5", "--json"])
    assert done.exit_code == 0, done.output
    same = df.scaling(alpha=0.4, beta=0.8, budget_flops=6e5)
    assert json.loads(done.stdout)["best"]["risk"] == pytest.approx(same.best()["risk"])
    assert same.law.data.inputs_of(100) == 400
    assert same.law.rate == pytest.approx(0.5)


@pytest.mark.slow
def test_real_sgd_is_at_the_exact_means_of_its_projections():
    given = df.Problem(data={"kind": "power-law", "inputs": {"per_size": 8.0}})
    found = df.scaling(given, compute=(1e3, 1e5), seeds=8)
    z = found.markers.z_scores()
    assert np.sqrt(np.mean(z**2)) < 2
    assert "Real SGD of 8 projections a size" in found.summary()
    spent = found.markers.sizes[:, None] * found.markers.steps
    assert spent.min() >= 0.99e3  # within the budgets that were asked for, where the figure shows them
    assert spent.max() <= 1.01e5
    assert found.datasets()["sgd"]["risk_exact"].dims == ("size", "seed", "look")


@pytest.mark.slow
def test_real_sgd_ends_schedules_at_the_exact_means():
    given = df.Problem(data={"kind": "power-law", "noise": 0.05}, training={"learning_rate": 0.1, "batch": 2})
    z = df.scaling(given, compute=(1e3, 1e5), schedule="linear", seeds=6).markers.z_scores()
    assert np.sqrt(np.mean(z**2)) < 2


@pytest.mark.slow
def test_the_command_writes_figure_json_and_results(tmp_path):
    done = CliRunner().invoke(app, ["scaling", "--compute", "1e3:1e5", "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["phase"]["name"] == "III"
    assert (tmp_path / "scaling.png").stat().st_size > 10_000
    assert (tmp_path / "scaling.nc").exists()


def test_phases_of_the_figure_are_those_of_the_sheet():
    assert [phase(a, b).name for a, b in [(1, 0.7), (0.7, 1.2), (0.2, 0.2)]] == ["II", "III", "none"]


def test_the_plane_of_phases_has_room_for_its_point():
    for point in ((0.7, 1.2), (1.6, 2.4), (1.5, -0.6), (0.03, 0.6), (0.7, 1000.0)):
        axes = Figure().subplots()
        draw_plane(axes, point)
        for (low, high), at in zip((axes.get_xlim(), axes.get_ylim()), point, strict=True):
            assert low < at < high


def test_a_largest_size_that_hides_nothing_is_refused():
    given = df.Problem(data={"kind": "power-law", "inputs": 512}, training={"learning_rate": 0.1})
    with pytest.raises(ProblemError, match="size 600 is not below inputs 512: nothing is hidden"):
        df.scaling(given, largest=600.0)


@pytest.mark.parametrize(
    ("training", "sentence"),
    [
        (
            {"schedule": {"kind": "cosine", "until": 5.0}},
            "budgets end at many; leave it out, and give the question a schedule",
        ),
        ({"weight_decay": 0.1}, "without decay and without noise on the weights"),
        ({"momentum": 0.9, "learning_rate": 0.15}, "above the limit of stability"),
    ],
)
def test_training_that_is_not_answered_is_refused(training, sentence):
    with pytest.raises(ProblemError, match=sentence):
        df.scaling(df.Problem(data={"kind": "power-law"}, training=training))


def test_real_sgd_with_momentum_along_a_schedule_is_refused():
    given = df.Problem(data={"kind": "power-law"}, training={"learning_rate": 0.01, "momentum": 0.8})
    with pytest.raises(ProblemError, match="real SGD with momentum along a schedule is not run; leave seeds"):
        df.scaling(given, schedule="linear", seeds=2)


@pytest.mark.slow
def test_momentum_is_another_rate():
    """docs/theory/scaling.md, section 4: plain SGD at rate/(1 - momentum), up to the order of that rate."""
    slow = {"momentum": 0.8, "learning_rate": 0.002}
    found = [
        df.scaling(df.Problem(data={"kind": "power-law"}, training=training), compute=(1e4, 1e6))
        for training in (slow, {"learning_rate": 0.01})
    ]
    np.testing.assert_allclose(*(one.curves.frontier.risk for one in found), rtol=0.03)
    assert "momentum 0.8" in found[0].summary()
    assert found[0].law.limit(100) == pytest.approx(
        companion.critical_rate(found[0].law.population(100), 100, 1, 0.8), rel=1e-12
    )


@pytest.mark.slow
def test_along_a_schedule_every_budget_is_a_run_of_its_own(answer):
    found = df.scaling(schedule="wsd", compute=(1e4, 1e6))
    law, f = found.law, found.curves.frontier
    steps = round(f.samples()[4])
    size = f.compute[4] / steps
    shape = law.gamma(size) * rates("wsd", steps)
    single = stepwise_risks(law.measures(size), shape, np.ones(steps), 0.0, np.array([steps]))[0]
    np.testing.assert_allclose(f.risk[4], single, rtol=2e-3)
    assert f.risk[-1] < 0.97 * answer.curves.frontier.risk[-1]  # of a constant rate; the shortest runs lose by it
    assert "these are worked out for a constant rate" in " ".join(found.summary().split())
    shares = found.values()["shares"]
    np.testing.assert_allclose(np.sum([shares[name] for name in shares], axis=0), 1, rtol=1e-12)
