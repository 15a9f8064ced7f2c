"""When to stop: the best time of an exact network is that of its table, and real training stops there too."""

import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError, RefusalError

LINEAR = df.Problem(
    dimension=300,
    data=df.DataSetTeacher(units=1, activation="linear", noise=0.5, samples=1.0),
    network=df.TwoLayer(width=2, activation="linear"),
    training=df.NetworkMultiPass(learning_rate=0.3),
    start=df.OverlapStart(Q=[[0.1, 0.0], [0.0, 0.1]], M=[[0.0], [0.0]]),
    run=df.Run(until=60.0, points=201, spacing="linear"),
)


def test_the_best_time_is_that_of_the_exact_curve():
    found = df.stopping(LINEAR)
    (exact,) = found.accounts
    assert exact.best == 9  # docs/theory/committee-dmft.md, 5.6
    assert exact.risk[9, 0] == pytest.approx(0.2648, abs=1e-4)
    assert found.best_time == pytest.approx(2.7)
    assert exact.gained[0] == pytest.approx(exact.risk[-1, 0] - exact.risk[9, 0])
    assert (np.diff(exact.gap[9:, 0]) > 0).all()  # what is learned of the data set alone grows
    assert "Stop at time 2.7: to go on until 60 raises the risk by" in found.summary()


@pytest.mark.parametrize("beta", [0.0, 0.6])
def test_fresh_samples_obey_linear_regression_and_never_overfit(beta):
    """w_eff of linear units on fresh batches: its error contracts in the mean, and batches of c d samples add noise."""
    found = df.stopping(LINEAR.replace(**{"run.until": 6.0, "run.points": 21, "training.momentum": beta}))
    eta, c, noise = 0.3 * 0.5, 1.0, 0.5  # |u|² = 1/2 on the effective weights
    ee, ve, vv, risk = 1.0 + 0.05, 0.0, 0.0, []  # squared error |w* - w_eff|²/d at the start, and what velocities add
    for _ in range(21):
        risk.append(ee / 2)
        vv = beta**2 * vv - 2 * beta * eta * c * ve + eta**2 * ((c**2 + c) * ee + c * noise)
        along = beta * ve - eta * c * ee
        ee, ve = ee + 2 * along + vv, along + vv
    np.testing.assert_allclose(found.fresh, risk, rtol=1e-10)
    assert found.one_pass == pytest.approx(risk[1])  # of full batches one step is a pass


def test_real_training_stops_there_too_and_what_does_not_rise_need_not_stop():
    calm = {"data.noise": 0.0, "run.until": 3.0, "run.points": 11, "training.momentum": 0.5}
    found = df.stopping(LINEAR.replace(**calm), seeds=4)
    assert [one.name for one in found.accounts] == ["dmft", "multi-pass"]
    assert "stopping earlier gains nothing" in found.summary()


CLASSES = {
    "data": {"kind": "teacher", "units": 1, "labels": "sign", "samples": 2.0},
    "network": {"width": 2, "second_layer": "trained"},
    "training": {"kind": "multi-pass", "learning_rate": 2.0, "batch_fraction": 0.5, "loss": "logistic"},
    "run": {"until": 8.0, "points": 5},
}


@pytest.mark.slow
def test_what_reuse_buys_is_known_of_classes_and_of_a_second_layer_that_learns():
    found = df.stopping(df.Problem(**CLASSES, start={"kind": "overlaps", "Q": [[1, 0], [0, 1]], "M": [[0.3], [0.1]]}))
    assert found.fresh.shape == (5,)
    assert found.fresh[0] == pytest.approx(found.accounts[0].risk[0].mean(), rel=1e-6)
    assert found.fresh[-1] < found.accounts[0].risk[-1].mean()  # more samples are better than the same again
    assert found.one_pass == pytest.approx(found.fresh[2])  # two steps of half batches


def test_a_loss_without_averages_leaves_fresh_samples_unknown():
    loss = {"training.loss": {"kind": "insensitive", "tube": 0.1}, "run.until": 0.9, "run.points": 2}
    found = df.stopping(LINEAR.replace(**loss))
    assert found.fresh is None
    assert "Fresh samples are not known: the average of the insensitive loss over noisy values" in found.summary()


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ProblemError, match="one seed gives no error bar"):
        df.stopping(LINEAR, seeds=1)
    with pytest.raises(
        RefusalError, match=r"times to stop are about training on a data set .* set training.kind = 'multi-pass'"
    ):
        df.stopping(df.Problem())
    with pytest.raises(RefusalError, match="more than the budget of"):
        df.stopping(LINEAR, budget=1e-3)
