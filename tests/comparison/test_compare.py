import json
from html import escape

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.comparison import budget
from dimfree.machine import duration
from dimfree.registry import candidates

SMALL = df.Problem(dimension=100, network=df.TwoLayer(width=2), data=df.Teacher(units=1, noise=0.1))


@pytest.fixture(scope="module")
def comparison():
    return df.compare(SMALL, until=3.0, replicas=8)


def test_every_description_runs_on_one_shared_start(comparison):
    assert set(comparison.names) == {one.name for one in candidates(SMALL)}
    starts = [comparison.tree[name]["M"].values[0, 0] for name in comparison.names if name != "pde"]
    for other in starts[1:]:  # pde begins with the law of the start, not with the network
        np.testing.assert_allclose(other, starts[0], atol=1e-6)


def test_the_variance_term_is_what_the_verdict_sees():
    """A claim that can fail: with it the ODE holds, without it (gradient flow) it does not."""
    noisy = SMALL.replace(**{"data.noise": 1.0, "training.learning_rate": 2.0, "dimension": 400})
    comparison = df.compare(noisy, until=30.0, replicas=32, only=["chain", "ode", "gradient-flow"])
    verdicts = comparison.verdicts()
    assert verdicts["ode"] == "holds"
    assert verdicts["gradient-flow"].startswith("does not hold: from t = ")
    assert comparison.verdict().endswith("Closest to chain: ode.")


def test_same_seed_same_numbers_other_seed_others(comparison):
    again, other = (df.compare(SMALL, until=3.0, replicas=8, seed=seed, only=["chain"]) for seed in (0, 1))
    np.testing.assert_array_equal(again.tree["chain"]["risk"], comparison.tree["chain"]["risk"])
    assert not np.allclose(other.tree["chain"]["risk"], comparison.tree["chain"]["risk"])


def test_summary_and_verdict_name_every_description(comparison):
    text = comparison.summary()
    assert all(name in text for name in comparison.names)
    assert "the reference" in text


def test_what_does_not_fit_is_left_out_and_says_how_many_steps():
    ours = candidates(SMALL)
    plan = budget.plan(SMALL.replace(dimension=10**9, **{"run.until": 500.0}), ours, 120.0)
    assert [one.name for one in ours if one.real and one in plan.chosen] == []
    assert "ode" in {one.name for one in plan.chosen}
    reasons = {left.name: left.reason for left in plan.left_out}
    assert reasons["sgd"].startswith("it needs 1e+12 steps, about")
    assert reasons["chain"].startswith("it needs 1e+12 steps, about")


def test_too_much_memory_is_left_out(monkeypatch):
    monkeypatch.setattr("dimfree.results.record.machine_memory", lambda: 1e5)
    plan = budget.plan(SMALL, [df.experiments.VectorSGD()], 1e9)
    assert "of memory where the machine has 0.0001; lower the dimension or run.replicas." in plan.left_out[0].reason


@pytest.mark.slow
def test_divergence_is_reported_not_drawn():
    wild = df.Problem(
        dimension=50,
        network=df.TwoLayer(width=1, activation="he3"),
        data=df.Teacher(units=1, activation="he3"),
        training=df.OnePass(learning_rate=5.0),
    )
    with pytest.raises(
        df.DivergenceError, match=r"sgd: sgd diverges before t = .* lower training.learning_rate"
    ) as failure:
        df.compare(wild, until=20.0, replicas=2, only=["sgd", "ode"])
    assert "ode diverges at t = " in str(failure.value)


def test_unknown_descriptions_get_a_suggestion():
    with pytest.raises(df.ProblemError, match=r"there is no description 'odee'; did you mean 'ode'\?"):
        df.compare(SMALL, only=["odee"])


@pytest.mark.slow
def test_a_plain_lambda_runs_through_sgd_chain_and_ode():
    problem = df.Problem(
        dimension=300,
        network=df.TwoLayer(width=2, activation=lambda x: x / jnp.sqrt(1 + x**2)),
        data=df.Teacher(units=1, activation=lambda x: jnp.sin(1.5 * x), noise=0.01),
        run=df.Run(until=2.0, replicas=24, points=10),
    )
    comparison = df.compare(problem, only=["sgd", "chain", "ode"])
    judged = comparison.judgements()
    assert abs(judged["ode"].worst_percent) < 5
    assert abs(judged["chain"].worst_percent) < 5


def test_replicas_over_starts():
    """Every account has the starts of all others, and the first of them is the one that there was alone."""
    several = SMALL.replace(**{"run.starts": 3, "run.replicas": 24})  # eight from each, as in `comparison`
    comparison = df.compare(several, until=0.5, only=["chain", "ode"])
    chain, ode = comparison.accounts["chain"], comparison.accounts["ode"]
    assert chain["start"].values.tolist() == [0] * 8 + [1] * 8 + [2] * 8
    assert ode["start"].values.tolist() == [0, 1, 2]
    begins = ode["M"].values[0]
    np.testing.assert_array_equal(chain["M"].values[0], np.repeat(begins, 8, axis=0))
    assert len(np.unique(begins[:, 0, 0])) == 3
    alone = df.compare(SMALL, until=0.5, only=["ode"]).accounts["ode"]
    np.testing.assert_array_equal(alone["risk"].values[:, 0], ode["risk"].values[:, 0])
    assert "error bars: over 3 starts, which all accounts share." in comparison.summary()
    assert "error bars: over replicas of one start" in df.compare(SMALL, until=0.5, only=["chain"]).summary()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"run.starts": 5}, "replicas = 8 cannot be shared out evenly to starts = 5; set replicas to 10"),
        ({"run.starts": 2, "start": {"kind": "overlaps", "Q": [[1, 0], [0, 1]], "M": [[0], [0]]}}, "is one start"),
    ],
)
def test_starts_that_cannot_be(changes, told):
    with pytest.raises(df.ProblemError, match=told):
        SMALL.replace(**changes)
    with pytest.raises(df.ProblemError, match="every replica on a data set has a start and data of its own"):
        df.Problem(data=df.TwoClusters(), run=df.Run(starts=2))


@pytest.mark.slow
def test_nothing_but_plain_json(tmp_path):
    """Two risks of exactly zero once gave NaN."""
    still = df.Problem(
        dimension=40,
        network=df.TwoLayer(width=1),
        data=df.Teacher(units=1, noise=0.0),
        start=df.OverlapStart(Q=[[1.0]], M=[[1.0]]),
        run=df.Run(until=1.0, points=5, replicas=2),
    )
    told = df.compare(still, only=["chain", "ode"]).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["descriptions"]["ode"]["grade"] == "holds"
    assert told["descriptions"]["ode"]["final_percent"] == 0.0


@pytest.mark.slow
def test_single_descriptions_have_their_own_replicas():
    comparison = df.compare(SMALL, until=0.5, only=["sgd", "chain", "ode"], replicas={"chain": 50, "sgd": 2})
    assert [comparison.tree[name].sizes["replica"] for name in comparison.names] == [2, 50, 1]


@pytest.mark.slow
def test_two_of_one_theory_stand_side_by_side_by_their_labels():
    both = [df.theories.HighDimensional(rtol=1e-4), df.theories.HighDimensional(label="exact")]
    comparison = df.compare(SMALL, until=0.5, only=both)
    assert comparison.names == ("ode", "exact")
    assert not np.array_equal(comparison.tree["ode"]["risk"], comparison.tree["exact"]["risk"])
    with pytest.raises(df.ProblemError, match=r"two descriptions are called 'ode'; give one of them a label"):
        df.compare(SMALL, until=0.5, only=[df.theories.HighDimensional(rtol=1e-4), df.theories.HighDimensional()])


def test_solve_and_simulate_are_the_accounts_of_a_comparison(comparison):
    problem = SMALL.replace(**{"run.until": 3.0, "run.replicas": 8})
    np.testing.assert_array_equal(df.solve(problem)["risk"], comparison.tree["ode"]["risk"])
    np.testing.assert_array_equal(df.simulate(problem)["risk"], comparison.tree["sgd"]["risk"])
    np.testing.assert_array_equal(df.simulate(problem, "chain")["risk"], comparison.tree["chain"]["risk"])
    with pytest.raises(df.RefusalError, match="dmft refuses: it describes training on a data set"):
        df.solve(problem, "dmft")


def test_a_start_as_vectors_is_drawn_for_whoever_needs_it(monkeypatch):
    """However large: what decides is the need of the description, not the size of the problem."""
    from dimfree.onepass import start

    monkeypatch.setattr(start, "_AS_VECTORS", 0)
    assert np.isfinite(df.simulate(SMALL, "sgd", until=0.1, replicas=1)["risk"]).all()
    assert start.shared_start(SMALL, jax.random.key(0), frozenset({"pairs"})).weights is None


def test_figure_is_written(comparison, tmp_path):
    path = tmp_path / "figure.png"
    figure = comparison.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000
    assert figure._repr_png_().startswith(b"\x89PNG"), "what a notebook shows"


def test_an_observable_into_axes_of_ones_own(comparison):
    from matplotlib.figure import Figure

    figure = Figure()
    assert comparison.plot(axes=figure.subplots(), observable="M") is figure
    assert figure.axes[0].get_xscale() == "log"  # as the saved times are spaced
    assert max(map(len, figure.axes[0].get_ylabel().splitlines())) <= 44  # longer lines leave the figure
    assert len(figure.axes[0].lines) > 4
    comparison.plot(axes=figure.axes[0])
    assert figure.axes[0].get_ylabel().startswith("population risk")


def test_short_text_and_html(comparison):
    assert repr(comparison).startswith("<Comparison of sgd, chain, ode")
    assert len(repr(comparison)) < 200
    page = comparison._repr_html_()
    assert all(f">{name}<" in page for name in comparison.names)
    assert "data:image/png;base64," in page
    assert escape(comparison.verdict()) in page


def test_a_tidy_table(comparison):
    table = comparison.to_dataframe()
    assert [*table.columns] == ["description", "time", "replica", "observable", "entry", "value"]
    chosen = table.query("description == 'chain' and observable == 'M' and entry == '1,0' and replica == 2")
    np.testing.assert_array_equal(chosen["value"], comparison.accounts["chain"]["M"].values[:, 2, 1, 0])
    risks = comparison.to_dataframe(["risk"])
    assert {*risks["observable"]} == {"risk"}
    with pytest.raises(df.ProblemError, match=r"no account has an observable 'risc'; did you mean 'risk'\?"):
        comparison.to_dataframe(["risc"])


@pytest.mark.slow
def test_common_times_over_rates_and_widths():
    """Runs with other steps have the same saved times, and SGD is looked at after the nearest step."""
    times = (0.1, 0.25, 0.7)
    runs = [
        df.solve(SMALL.replace(run=df.Run(times=times), **{"training.learning_rate": rate, "network.width": 2}), "ode")
        for rate in (0.3, 0.7)
    ]
    stacked = xr.concat(runs, "rate")
    assert stacked["time"].values.tolist() == [0.0, *times]
    run = df.Run(times=[1, 2])
    assert (run.until, run.times) == (2.0, (1.0, 2.0))
    for wrong in ({"times": []}, {"times": [2.0, 1.0]}, {"times": [1.0], "until": 3.0}, {"times": [-1.0]}):
        with pytest.raises(df.ProblemError):
            df.Run(**wrong)


def test_progress_can_be_asked_for(capsys):
    df.solve(SMALL, "ode", until=0.5, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""


def test_weights_file_start(tmp_path):
    rng = np.random.default_rng(0)
    W, Wstar = rng.normal(size=(2, 100)), rng.normal(size=(1, 100))
    np.savez(tmp_path / "start.npz", W=W, Wstar=Wstar * 10 / np.linalg.norm(Wstar))
    problem = SMALL.replace(**{"start.kind": "weights", "start.file": str(tmp_path / "start.npz")})
    start = df.extend.draw_start(problem, jax.random.key(0), vectors=True)
    np.testing.assert_allclose(start.overlaps.Q, W @ W.T / 100)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.123, "0.12 seconds"),
        (9.4, "9.4 seconds"),
        (101.0, "101 seconds"),
        (130.0, "2.17 minutes"),
        (9000.0, "2.5 hours"),
    ],
)
def test_durations_are_readable(seconds, words):
    assert duration(seconds) == words
