"""Two-layer networks on a data set as problems: files, refusals, and dmft beside multi-pass."""

import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

import dimfree as df
from dimfree.dataset.committee.figure import draw
from dimfree.dataset.committee.linear import solve_linear
from dimfree.dataset.committee.problem_model import network_model, network_start
from dimfree.dataset.committee.theory import SeveralUnits
from dimfree.setting import model_of

FRESH = """
dimension = 100
[data]
kind = "teacher"
units = 2
noise = 0.02
[network]
width = 2
second_layer = "trained"
[training]
kind = "one-pass"
learning_rate = 1.5
[start]
kind = "overlaps"
Q = [[1.0, 0.1], [0.1, 0.8]]
M = [[0.4, 0.1], [0.1, 0.3]]
"""
RUN = {"run.until": 6.0, "run.points": 5, "run.replicas": 3}


def test_another_kind_of_training_turns_fresh_samples_into_a_data_set():
    fresh, revisited = df.loads(FRESH), df.loads(FRESH.replace("one-pass", "multi-pass"))
    assert isinstance(revisited, df.extend.NetworkProblem)
    assert (fresh.network, fresh.start) == (revisited.network, revisited.start)
    assert revisited.data.units == fresh.data.units
    assert revisited.data.noise == fresh.data.noise
    assert df.loads(df.dumps(revisited)) == revisited
    assert isinstance(df.Problem(data=df.Teacher(units=3), training=df.MultiPass()), df.extend.NetworkProblem)


def test_the_switch_keeps_data_network_and_start_and_says_what_it_loses():
    fresh = df.loads(FRESH)
    with pytest.warns(df.LeftBehindWarning, match=r"another setting; left behind: training.learning_rate\."):
        changed = fresh.replace(**{"training.kind": "multi-pass"})
    assert changed == df.loads(FRESH.replace("one-pass", "multi-pass").replace("learning_rate = 1.5", ""))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert changed.replace(**{"training.kind": "one-pass"}).data == fresh.data


def test_keys_of_the_problem_stay_when_its_data_change():
    problem = df.Problem(data=df.DataSetTeacher(samples=3.0), training=df.NetworkMultiPass(momentum=0.5))
    assert problem.replace(**{"data.samples": 4.0}).training.momentum == 0.5
    assert problem.replace(**{"data.kind": "teacher"}) == problem


def network(**changes):
    return df.loads(FRESH.replace("one-pass", "multi-pass")).replace(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start.M": [[1.4, 0.1], [0.1, 0.3]]}, "the start is impossible: .* lower start.M or raise start.Q"),
        ({"start.M": [[0.4], [0.1]]}, "start.M has shape .*; it must be 2 x 2"),
        ({"training.batch_fraction": 0.3, "training.batches": "cyclic"}, "batch_fraction is 0.3, .* such as 1/3"),
        ({"training.batch_fraction": 0.5, "training.persistence": 0.1}, "set training.persistence to at least 1.5"),
        ({"training.batch_fraction": 0.5, "training.batches": "one-pass"}, "last for 2 steps, and run.until asks for"),
        ({"training.batches": "twice", "training.persistence": 2.0}, "persistence is for random batches"),
        ({"training.momentum": 1.0}, "momentum"),
        ({"network.second_layer_start": [1.0, 1.0, 1.0]}, "second_layer_start has 3 entries for width 2; give one per"),
        ({"training.loss": "hinge"}, "loss 'hinge' needs labels of ±1"),
        ({"network.outputs": 3}, "networks on a data set have one output, and network.outputs is 3"),
        ({"run.starts": 2}, "run.starts = 2, but all data sets begin at one start"),
        ({"dimension": 3}, "2 units and 2 teachers do not fit into dimension 3"),
        ({"data.overlap": [[1.0, 1.0], [1.0, 1.0]]}, "overlap is singular"),
        ({"data.flip": 0.1}, 'flip is for labels = "sign", and labels are .value.; leave it out'),
        ({"data.labels": "sign", "data.flip": 0.6}, "flip must be at least 0 and below 0.5; got 0.6"),
        ({"data.labels": "logistic", "data.noise": 0.1}, "which are random by themselves"),
        ({"data.second_layer": [1.0]}, "second_layer has 1 entries for 2 units"),
        ({"training.loss": "exponential"}, "loss 'exponential' needs labels of ±1"),
        ({"training.loss": {"kind": "hinge", "margin": 0.5}}, "loss 'hinge' needs labels of ±1"),
        (
            {"training.loss": "cross-entropy"},
            "cross-entropy is for several outputs, and networks on a data set have one",
        ),
        ({"training.loss": "hubber"}, "there is no loss 'hubber'; did you mean 'huber'"),
        ({"data.labels": "sign", "data.noise_law": {"student": 3.0}}, 'noise_law is for labels = "value"'),
    ],
)
def test_problems_that_make_no_sense_are_refused_in_a_sentence(changes, message):
    with pytest.raises(df.ProblemError, match=message):
        network(**changes)


def test_descriptions_see_what_they_declare():
    found = df.compare(network(**RUN), budget=float("inf"))
    assert [*found.names] == ["multi-pass", "dmft"]
    for name, replicas in (("multi-pass", 3), ("dmft", 12)):
        seen = found.tree[name].to_dataset()
        assert {"risk", "train_loss", "M", "Q", "a", "C"} <= {*seen.data_vars}
        assert seen.sizes["replica"] == replicas
        np.testing.assert_allclose(seen["M"].values[0], np.broadcast_to([[0.4, 0.1], [0.1, 0.3]], (replicas, 2, 2)))
        np.testing.assert_allclose(seen["Q"].values, np.einsum("trtij->trij", seen["C"].values), atol=1e-10)


def test_replicas_do_not_depend_on_how_many_run_at_once(monkeypatch):
    problem = network(**RUN)
    alone, together = [], []
    for cores, kept in ((1, alone), (3, together)):
        monkeypatch.setattr("dimfree.description.memory.cores", lambda cores=cores: cores)
        seen = df.simulate(problem)
        kept.append(seen["M"].values)
    np.testing.assert_array_equal(alone, together)


def test_classes_have_a_test_error_and_the_logistic_loss():
    problem = network(**RUN, **{"data.labels": "sign", "data.noise": 0.0, "training.loss": "logistic"})
    seen = df.simulate(problem)
    assert {"test_error", "train_error"} <= {*seen.data_vars}
    assert float(seen["test_error"].values[-1].mean()) < float(seen["test_error"].values[0].mean())
    assert df.loads(df.dumps(problem)).training.loss == "logistic"
    assert (
        df.Problem(data={"kind": "teacher", "labels": "sign"}, training={"kind": "multi-pass"}).training.loss
        == "logistic"
    )


LOSSES = [
    ("sign", "squared-hinge", None),
    ("sign", {"kind": "hinge", "margin": 0.5}, None),
    ("sign", {"kind": "smooth-hinge", "smoothing": 0.2}, "smooth-hinge"),
    ("value", {"kind": "huber", "threshold": 0.5}, "huber"),
    ("value", {"kind": "insensitive", "tube": 0.2}, "insensitive"),
    ("value", "correlation", None),
    ("value", lambda f, y: (f - y) ** 4, None),
]


@pytest.mark.parametrize(("labels", "loss", "name"), LOSSES)
def test_losses_are_those_of_fresh_samples_and_of_data_sets(labels, loss, name):
    problem = network(**{"data.labels": labels, "data.noise": 0.0, "training.loss": loss})
    assert problem.training.loss == (name or problem.training.loss)
    if not callable(loss):
        assert df.loads(df.dumps(problem)) == problem
    F, y = jnp.linspace(-2.03, 2.01, 9), jnp.where(jnp.arange(9) % 2, 1.0, -1.0)
    given = network_model(problem).loss
    slope = jax.vmap(jax.grad(given))(F, y)
    np.testing.assert_allclose(-slope, given.error(F, y), atol=1e-12)
    assert float(jnp.abs(slope).max()) > 0.1


POLYNOMIAL = {"kind": "multi-index", "samples": 3.0, "terms": [[1, 0], [1, 1]], "noise": 0.05}
STUDENT = {"kind": "teacher", "units": 2, "samples": 2.0, "noise": 0.3, "noise_law": {"student": 4.0}}


def drawn_title(problem):
    """Of the figure of a comparison."""
    figure, seen = Figure(), df.simulate(problem.replace(**RUN | {"run.replicas": 1}))
    draw(figure, problem, {"multi-pass": seen})
    return figure.get_suptitle()


def test_labels_of_several_directions_are_those_of_fresh_samples():
    fresh = df.loads(FRESH).replace(data={key: value for key, value in POLYNOMIAL.items() if key != "samples"})
    problem = network(data=POLYNOMIAL)
    assert df.loads(df.dumps(problem)) == problem
    assert "polynomial of 2 directions" in drawn_title(problem)
    assert "teacher of 2 erf" in drawn_title(network())
    fields = jnp.asarray([[0.3, -1.2], [1.0, 2.0]])
    np.testing.assert_allclose(model_of(problem).target(fields), [0.3 - 0.36, 1.0 + 2.0])
    np.testing.assert_array_equal(model_of(problem).target(fields), model_of(fresh).target(fields))


def test_the_square_loss_of_linear_units_sees_the_variance_of_heavy_tails():
    linear = {"network.activation": "linear", "training.learning_rate": 0.3, **RUN}
    heavy, gaussian = (
        df.solve(network(data=STUDENT | changes, **linear))
        for changes in ({}, {"noise": 0.6, "noise_law": "gaussian"})  # 4/(4 - 2) of its squared scale
    )
    np.testing.assert_allclose(heavy["train_loss"], gaussian["train_loss"], rtol=1e-12)


def test_forces_without_variance_have_no_theory():
    wild = network(data=STUDENT | {"noise_law": {"student": 1.5}})
    assert "the noise has no variance" in df.theories.DMFT().refuses(wild, model_of(wild))
    tame = wild.replace(**{"training.loss": "absolute"})
    assert df.theories.DMFT().refuses(tame, model_of(tame)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "changes"),
    [
        (POLYNOMIAL, {"network.activation": "relu", "training.learning_rate": 0.4}),
        (STUDENT, {"training.loss": "absolute", "training.batch_fraction": 0.5}),
        (STUDENT, {"training.loss": {"kind": "huber", "threshold": 0.5}, "training.momentum": 0.5}),
    ],
)
def test_dmft_is_where_training_on_other_labels_is(data, changes):
    problem = network(data=data, **changes).replace(
        **{"dimension": 600, "run.until": 8.0, "run.points": 6, "run.replicas": 30, "network.second_layer": "fixed"}
    )
    for name, z in scores(problem, ("M", "Q", "train_loss", "risk")).items():
        assert np.sqrt((z**2).mean()) < 2, (name, z)
        assert np.abs(z).max() < 4.5, (name, z)


def scores(problem, names):
    """z of multi-pass against dmft, for all times but the first."""
    return compared(df.simulate(problem), df.solve(problem), names)


def compared(one, other, names):
    """z of two accounts."""
    found = {}
    for name in names:
        pair = [account[name].transpose("time", "replica", ...).values[1:] for account in (one, other)]
        error = np.hypot(*(values.std(axis=1, ddof=1) / values.shape[1] ** 0.5 for values in pair))
        found[name] = (pair[0].mean(axis=1) - pair[1].mean(axis=1)) / error
    return found


@pytest.mark.slow
def test_one_pass_batches_are_training_on_fresh_samples():
    """The same law in both settings, in 100 dimensions: batches of 50 samples, all parts learn."""
    steps, eta, batch = 8, 1.5, 50
    fresh = df.Problem(
        dimension=100,
        data=df.Teacher(units=2, noise=0.05),
        network={
            "width": 2,
            "activation": "tanh",
            "trained": ["first-layer", "bias", "second-layer"],
            "bias_start": 0.4,
        },
        training=df.OnePass(learning_rate=eta * batch, batch=batch, second_layer_rate=0.5, weight_decay=0.0),
        start=df.OverlapStart(Q=[[1.0, 0.1], [0.1, 0.8]], M=[[0.4, 0.1], [0.1, 0.3]]),
        run={"until": steps * eta * batch / 200, "points": steps + 1, "spacing": "linear", "replicas": 100},
    )
    data = {"samples": 4.0, "kind": "teacher", "units": 2, "noise": 0.05}
    rule = {"learning_rate": eta, "batches": "one-pass", "batch_fraction": 1 / steps, "second_layer_rate": 0.5}
    revisited = df.Problem(
        dimension=100,
        data=data,
        network=fresh.network,
        training={"kind": "multi-pass", **rule},
        start=fresh.start,
        run={"until": steps * eta, "points": steps + 1, "spacing": "linear", "replicas": 100, "seed": 1},
    )
    seen = compared(df.simulate(fresh), df.simulate(revisited), ("M", "Q", "a", "bias", "risk"))
    for name, z in seen.items():
        assert np.sqrt((z**2).mean()) < 2, (name, z)
        assert np.abs(z).max() < 4.5, (name, z)


def test_offsets_are_seen_in_all_errors():
    """Of a network that begins as tanh(b): its errors are those of a constant."""
    flat = {"Q": [[1e-12]], "M": [[0.0, 0.0]]}
    start = {"kind": "overlaps", **flat}
    one = {"width": 1, "activation": "tanh", "second_layer": "fixed", "bias_start": 0.5}
    problem = network(**RUN).replace(network=one, start=start).replace(**{"run.replicas": 1})
    seen = df.simulate(problem)
    assert float(seen["bias"].values[-1, 0, 0]) == 0.5  # it does not learn
    risk = (np.tanh(0.5) ** 2 + np.arcsin(0.5) * 2 / np.pi / 2) / 2  # the teacher is the mean of two erf
    assert float(seen["risk"].values[0, 0]) == pytest.approx(risk, rel=1e-6)
    signs = problem.replace(**{"data.labels": "sign", "data.noise": 0.0, "training.loss": "logistic"})
    assert float(df.simulate(signs)["test_error"].values[0, 0]) == pytest.approx(0.5, abs=0.01)


CLASSES = [
    {"data.labels": "sign", "data.flip": 0.2, "data.noise": 0.0, "training.loss": "logistic"},
    {"data.labels": "logistic", "data.slope": 3.0, "data.noise": 0.0, "training.loss": "logistic"},
]


def test_wrong_labels_are_in_the_test_error():
    """A share of (1 - flip) of all labels is wrong where f is, the rest where it is right."""
    errors = []
    for flip in (0.0, 0.2):
        problem = network(**RUN, **CLASSES[0]).replace(**{"data.flip": flip})
        errors.append(float(df.simulate(problem.replace(**{"run.replicas": 1}))["test_error"].values[0, 0]))
        assert df.loads(df.dumps(problem)) == problem
    assert errors[1] == pytest.approx(0.2 + 0.6 * errors[0], abs=1e-6)  # up to the quadrature


@pytest.mark.slow
@pytest.mark.parametrize("classes", CLASSES)
def test_dmft_is_where_training_on_random_classes_is(classes):
    problem = network(**classes).replace(
        **{"dimension": 600, "run.until": 12.0, "run.points": 9, "run.replicas": 40, "network.second_layer": "fixed"}
    )
    for name, z in scores(problem, ("M", "train_loss", "train_error", "risk", "test_error")).items():
        assert np.sqrt((z**2).mean()) < 2, (name, z)
        assert np.abs(z).max() < 4.5, (name, z)


def test_linear_units_are_exact_and_have_responses():
    problem = network(**RUN, **{"network.activation": "linear", "training.learning_rate": 0.3})
    seen = df.solve(problem)
    assert seen.sizes["replica"] == 1
    assert {"R", "K"} <= {*seen.data_vars}


def test_the_bias_of_paths_is_said_and_small_by_default():
    problem = network(**{"run.until": 120.0, "data.samples": 40.0})
    model = model_of(problem)
    (said,) = SeveralUnits(4000, 4, None).warns(problem, model)
    assert "may have a bias of up to 20.0%" in said
    assert "DMFT(paths=640000)" in said
    assert not SeveralUnits(640_000, 4, None).warns(problem, model)
    short = network(**{"run.until": 30.0})
    assert not SeveralUnits(4000, 4, None).warns(short, model_of(short))


LINEAR = {"network.activation": "linear", "network.second_layer": "fixed", "data.samples": 4.0}


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({}, 4 / 9),  # 2/(|u|² (1 + 2)²), |u|² = 1/2
        ({"training.momentum": 0.5}, 6 / 9),
        ({"training.weight_decay": 0.5}, 2 / (0.5 + 4.5)),
        ({"network.second_layer_start": [1.5, -0.5]}, 2 / (0.625 * 9)),
        ({"training.batch_fraction": 0.5, "training.persistence": 9.0}, 8 / 9),
    ],
)
def test_linear_units_are_refused_from_the_largest_stable_rate_on(changes, limit):
    for rate, message in ((0.999 * limit, None), (1.001 * limit, f"not below the largest stable value {limit:.4g} of")):
        problem = network(**LINEAR, **changes, **{"training.learning_rate": rate, "run.until": 9.0})
        refusal = df.theories.DMFT().refuses(problem, model_of(problem))
        assert (refusal is None) if message is None else (message in refusal)


def test_batches_that_are_drawn_anew_leave_less_room_for_the_rate():
    """The mean step would allow 4/9; the exact theory grows just above the limit, and not below."""
    changes = {**LINEAR, "training.batch_fraction": 0.1, "training.gradient": "mean"}
    message = df.theories.DMFT().refuses(network(**changes), model_of(network(**changes)))
    limit = float(re.search(r"value (\S+) of", message)[1])
    assert 0.01 < limit < 0.4
    ends = []
    for factor in (0.95, 1.05):
        problem = network(**changes, **{"training.learning_rate": factor * limit})
        start = network_start(problem, jax.random.key(0), frozenset())
        ends.append(solve_linear(network_model(problem), start, 120).train_loss[[60, 120]])
    assert ends[0][1] < ends[0][0]
    assert ends[1][1] > ends[1][0]


def test_a_rate_at_which_straight_units_do_not_settle_is_named():
    relu = {"network.activation": "relu", "network.second_layer": "fixed", "data.samples": 4.0, "run.until": 6.0}
    fast, slow = (
        network(**relu, **{"training.learning_rate": rate}) for rate in (1.0, 0.8)
    )  # 2/(|u|² (1 + 2)²/2) = 8/9
    (said,) = SeveralUnits(4000, 4, None).warns(fast, model_of(fast))
    assert "learning_rate = 1 is above about 0.89, from where on relu units no longer settle down" in said
    assert not SeveralUnits(4000, 4, None).warns(slow, model_of(slow))


def test_training_that_diverges_says_so_and_nothing_else():
    wild = {"network.activation": "relu", "network.second_layer": "fixed", "training.learning_rate": 12.0}
    problem = network(**wild, **{"dimension": 60, "run.until": 480.0, "run.points": 2, "run.replicas": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # of NumPy
        with pytest.raises(df.errors.DivergenceError, match=r"with eta = 12; lower eta \(try 3\)"):
            df.simulate(problem)


def test_more_paths_than_memory_are_refused_before_they_are_drawn(monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "4000")
    with pytest.raises(
        df.errors.RefusalError, match=r"dmft is not started: it needs .* GB of memory where the machine has 4"
    ):
        df.solve(network(**RUN), by=df.theories.DMFT(paths=10**8))


def test_scaling_is_that_of_one_pass_problems():
    plain, other = network(), network(**{"network.scaling": "sum", "network.second_layer_start": 0.5})
    assert float(model_of(other).eta_a) == 4 * float(model_of(plain).eta_a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one_pass = other.replace(**{"training.kind": "one-pass"})
    assert float(model_of(one_pass).eta_a) == float(model_of(other).eta_a)
    np.testing.assert_array_equal(model_of(one_pass).target.second_layer, model_of(other).target.second_layer)
