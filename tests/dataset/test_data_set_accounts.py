"""The accounts of a data set beside each other: what each one tells, piece by piece, and in whose words it refuses."""

import jax
import numpy as np
import pytest

import dimfree as df
from dimfree.dataset.setting import SETTING
from dimfree.results.record import record
from dimfree.setting import model_of, why_not

SHORT = df.Run(until=2.0, replicas=3, points=5, spacing="linear")
# where training ends, from the code that drew it as a dashed line into the figures of version 0.1
LOGISTIC = {
    "risk": 0.11660220522288006,
    "train_loss": 0.175196390984813,
    "m": 1.6668855950214878,
    "norm": 3.910060240323876,
}
SQUARE = {
    "risk": 0.15629169945008808,
    "train_loss": 0.08672931165586834,
    "m": 0.6300868211227548,
    "norm": 0.7786570056963977,
}


def problem(run=SHORT, **training):
    return df.extend.DataSetProblem(dimension=60, training=df.MultiPass(**({"weight_decay": 0.1} | training)), run=run)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "rate", "end"), [("logistic", 0.5, LOGISTIC), ("square", 0.3, SQUARE)])
def test_beside_dmft_the_end_of_training_is_a_constant_line(loss, rate, end):
    comparison = df.compare(problem(loss=loss, learning_rate=rate), only=["dmft", "static"], budget=float("inf"))
    line, theory = (comparison.tree[name].to_dataset() for name in ("static", "dmft"))
    assert set(line.data_vars) == set(end)
    np.testing.assert_array_equal(line["time"], theory["time"])
    for name, value in end.items():
        assert line[name].dims == ("time", "replica")
        assert line.sizes["replica"] == 1
        np.testing.assert_allclose(line[name], value, rtol=1e-12)
    assert line.attrs["real"] == line.attrs["scatters"] == 0


def test_alone_the_end_of_training_has_no_time():
    alone = df.solve(problem(learning_rate=0.5), "static")
    assert not alone.sizes
    assert {name: pytest.approx(float(values), rel=1e-12) for name, values in alone.items()} == LOGISTIC


def test_full_batch_training_goes_to_the_end_that_static_names():
    """A claim that can fail: after ten relaxation times dmft lies on the line, at the start it does not."""
    descent = problem(loss="square", learning_rate=0.3, run=SHORT.model_copy(update={"until": 60.0}))
    comparison = df.compare(descent, only=["dmft", "static"], budget=float("inf"))
    line, theory = (comparison.tree[name].to_dataset() for name in ("static", "dmft"))
    for name in ("risk", "m", "train_loss"):
        np.testing.assert_allclose(theory[name][-1], line[name][-1], rtol=1e-6)
        assert np.abs(theory[name][0] / line[name][0] - 1).max() > 0.05
    np.testing.assert_allclose(theory["C"].values[-1, 0, -1], line["norm"].values[-1, 0], rtol=1e-6)


@pytest.mark.slow
def test_the_norm_of_every_account_is_in_the_figure(tmp_path):
    comparison = df.compare(problem(learning_rate=0.5), budget=float("inf"))
    assert set(comparison.names) == {"multi-pass", "dmft", "static"}
    comparison.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("training", "reason"),
    [
        ({"batch_fraction": 0.5}, "with the full batch and without noise only; set training.batch_fraction = 1 and"),
        ({"temperature": 0.1}, "without noise only; set training.batch_fraction = 1 and training.temperature = 0"),
        ({"spherical": True}, "without the sphere; use two-clusters, training.spherical = false"),
        ({"weight_decay": 0.0}, "did not settle at training.weight_decay = 0; raise training.weight_decay"),
    ],
    ids=["mini-batches", "temperature", "sphere", "separable"],
)
def test_static_refuses_where_training_does_not_end_at_a_known_minimum(training, reason):
    refused = problem(**training)
    assert reason in str(why_not(df.theories.Static(), refused))
    with pytest.raises(df.RefusalError, match="static refuses: "):
        df.solve(refused, "static")


@pytest.mark.parametrize(
    ("one", "pieces"), [(df.experiments.MultiPassSGD(), 3), (df.theories.DMFT(paths=300, ensembles=4), 4)]
)
def test_progress_is_told_once_per_replica(one, pieces):
    told = []
    data = record(problem(), one, None, jax.random.key(1), told.append)
    assert data.sizes["replica"] == pieces
    assert told == pytest.approx([(number + 1) / pieces for number in range(pieces)])


def test_the_exact_solution_is_one_piece():
    told = []
    data = record(problem(loss="square"), df.theories.DMFT(ensembles=4), None, jax.random.key(1), told.append)
    assert data.sizes["replica"] == 1
    assert told == [1.0]


def test_replicas_are_addressed_by_their_number():
    """More of them do not change the first ones, and they differ from each other."""
    few, more = (
        record(
            problem(run=SHORT.model_copy(update={"replicas": count})),
            df.experiments.MultiPassSGD(),
            None,
            jax.random.key(1),
        )
        for count in (2, 3)
    )
    np.testing.assert_array_equal(few["risk"], more["risk"][:, :2])
    assert len(np.unique(more["risk"][-1])) == 3


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"data": {"kind": "linear-teacher"}, "training": {"loss": "logistic"}},
            "for which the logistic loss has no meaning; set training.loss = 'square', 'huber' or 'absolute'.",
        ),
        (
            {"training": {"kind": "multi-pass", "batch_fraction": 0.1, "persistence": 1 / 0.6}},
            "with training.batch_fraction = 0.1 and training.learning_rate = 0.2 a persistence time training.persistence of "
            "1.66667 needs probabilities above one; choose training.persistence >= 1.8, or none for vanilla SGD.",
        ),
    ],
    ids=["loss", "persistence"],
)
def test_a_problem_file_is_told_its_own_keys(values, sentence):
    with pytest.raises(df.ProblemError) as failure:
        model_of(df.Problem(**values))
    assert str(failure.value).endswith(sentence)


@pytest.mark.slow
def test_divergence_is_told_in_the_keys_of_the_problem():
    wild = problem(loss="square", learning_rate=2.0)
    assert str(why_not(df.theories.DMFT(), wild)).endswith(
        "training.learning_rate = 2 is not below the largest stable value 0.5195; lower training.learning_rate."
    )
    long = SHORT.model_copy(update={"until": 1e5})
    with pytest.raises(
        df.DivergenceError, match=r"with training.learning_rate = 2; lower training.learning_rate \(try"
    ):
        df.simulate(problem(loss="square", learning_rate=2.0, run=long))


def test_a_linear_teacher_has_the_square_loss_unless_told_otherwise():
    problem = df.Problem(data=df.LinearTeacher(), training=df.MultiPass(batch_fraction=0.5))
    assert (problem.training.loss, problem.training.batch_fraction) == ("square", 0.5)
    assert model_of(problem).limit.task == "linear-teacher"
    assert problem.replace(**{"data.kind": "two-clusters"}).training.loss == "logistic"
    assert df.loads(df.dumps(problem)) == problem


def test_the_template_spells_out_the_defaults():
    text = SETTING.commented_problem()
    assert df.loads(text) == df.extend.DataSetProblem()
    keys = [line for line in text.splitlines() if " = " in line]
    assert all("#" in line for line in keys), "every key has a comment"
    named = {line.lstrip("# ").partition(" = ")[0] for line in keys}
    fields = (df.TwoClusters, df.MultiPass, df.AlignedStart, df.Run)
    one_start = {"starts"}  # every replica has its own
    assert named == {"dimension"} | {name for section in fields for name in section.model_fields} - one_start
