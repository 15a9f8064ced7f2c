"""What does not fit into memory is refused in one sentence, before it takes any; the memory is that of a SLURM job here."""

import os

import numpy as np
import pytest

import dimfree as df
from dimfree.comparison import run
from dimfree.errors import ProblemError, RefusalError
from dimfree.machine import machine_memory
from dimfree.setting import model_of


def with_memory(monkeypatch, megabytes):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", str(megabytes))
    assert machine_memory() <= 1e6 * megabytes


@pytest.fixture
def four_gigabytes(monkeypatch):
    with_memory(monkeypatch, 4000)


SMALL = df.Run(until=1.0, points=3)
TOO_LARGE = {
    "sgd": df.Problem(dimension=10**9, run=SMALL),
    "chain": df.Problem(run=df.Run(until=1.0, points=3, replicas=10**9)),
    "dimensionless": df.Problem(network=df.TwoLayer(width=10**9), run=SMALL),
    "multi-pass": df.Problem(data=df.SignTeacher(), dimension=10**6),
    "dmft": df.Problem(
        data=df.DataSetTeacher(), training=df.NetworkMultiPass(), network={"width": 50}, run={"until": 1000.0}
    ),
    "linearised": df.Problem(data=df.DrawnPoints(), network={"width": 10**9}),
    "network-flow": df.Problem(data=df.DrawnPoints(), network={"width": 10**9}),
}


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("verb", [df.simulate, df.solve])
def test_what_does_not_fit_is_not_started(verb, name, four_gigabytes, monkeypatch):
    monkeypatch.setattr(run, "starts_of", lambda *_: pytest.fail("a start was drawn"))
    with pytest.raises(
        RefusalError, match=rf"{name} is not started: it needs .* GB of memory where the machine has 4; "
    ):
        verb(TOO_LARGE[name], name)


def test_a_batch_is_part_of_what_a_step_takes(four_gigabytes):
    with pytest.raises(RefusalError, match="sgd is not started: it needs"):
        df.simulate(df.Problem(training=df.OnePass(batch=10**5), run=SMALL), "sgd")


def test_compare_asks_for_the_replicas_of_single_descriptions(four_gigabytes):
    found = df.compare(
        df.Problem(dimension=20, run=SMALL), only=["sgd", "gradient-flow"], replicas={"sgd": 10**9}, budget=None
    )
    assert found.names == ("gradient-flow",)
    assert "GB of memory where the machine has 4" in found.left_out[0].reason


MODELS = {
    "held-out points": (
        lambda: df.Problem(data=df.DrawnPoints(held_out=10**10)),
        "lower data.samples or data.held_out",
    ),
    "points": (lambda: df.Problem(data=df.DrawnPoints(samples=10**6)), "lower data.samples or data.held_out"),
    "eigenvalues": (
        lambda: df.Problem(dimension=10**12, data=df.Teacher(covariance=df.Covariance.power(1.0))),
        "1000000000000 eigenvalues needs",
    ),
    "teachers": (lambda: df.Problem(data=df.Teacher(units=10**6), dimension=10**7), "lower data.units"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_sizes_of_models_are_asked_before_they_are_made(kind, four_gigabytes):
    make, sentence = MODELS[kind]
    with pytest.raises(RefusalError, match=sentence):
        model_of(make())


@pytest.mark.parametrize("kind", ["teacher", "hidden-manifold"])
def test_more_teachers_than_there_are_directions_are_not_counted_out(kind):
    with pytest.raises(ProblemError, match=r"1000000000000 .* do not fit into dimension 300"):
        df.Problem(data={"kind": kind, "units": 10**12})


def saved(folder, name, array):
    np.save(folder / name, array)
    return folder / name


def test_decompositions_of_files_are_asked_for_too(tmp_path, monkeypatch):
    """Files that can be read, and whose covariances cannot be worked with."""
    with_memory(monkeypatch, 1)
    matrix, rows = saved(tmp_path, "matrix.npy", np.eye(180)), saved(tmp_path, "rows.npy", np.ones((300, 100)))
    with pytest.raises(RefusalError, match="the eigenvectors of 180 features needs"):
        df.Problem(data=df.Teacher(covariance=df.Covariance.matrix(matrix)))
    with pytest.raises(RefusalError, match="the covariance of 300 rows of 100 features needs"):
        df.Problem(data=df.Teacher(covariance=df.Covariance.features(rows)))
    table = {"kind": "table", "features": rows, "labels": saved(tmp_path, "labels.npy", np.arange(300) % 2)}
    with pytest.raises(RefusalError, match="a table of 300 samples of 100 features needs"):
        model_of(df.Problem(data=table, dimension=100))
    np.savez(tmp_path / "c.npz", Psi=np.eye(100), Phi=np.eye(100), Omega=np.eye(100), theta=np.ones(100))
    with pytest.raises(RefusalError, match="the eigenvectors of 100 features needs"):
        model_of(df.Problem(data={"kind": "covariates", "file": tmp_path / "c.npz"}, dimension=100))


def test_a_table_of_a_million_rows_is_refused_by_its_header(tmp_path, four_gigabytes):
    file = tmp_path / "table.npy"
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 1000)})
    os.truncate(file, file.stat().st_size + 8 * 10**9)
    table = {"kind": "table", "features": file, "labels": saved(tmp_path, "labels.npy", np.ones(10**3))}
    with pytest.raises(RefusalError, match="needs 16 GB of memory where the machine has 4"):
        model_of(df.Problem(data=table, dimension=1000))


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: df.curve(points=10**6), "a curve has at most 1000 points"),
        (lambda: df.curve(samples=[1.0] * 10**4), "a curve has at most 1000 points"),
        (lambda: df.optimise(knots=10**5), "with 100000 knots; give between 4 and 1000"),
        (lambda: df.PiecewiseLinear(knots=tuple(range(10**5)), values=(0.0,) * 10**5), "at most 1000 items"),
    ],
)
def test_grids_have_a_largest_size(ask, sentence):
    with pytest.raises(ProblemError, match=sentence):
        ask()


def test_so_many_exit_times_are_refused_before_their_starts_are_drawn(four_gigabytes):
    with pytest.raises(RefusalError, match="GB of memory where the machine has 4"):
        df.exit_times(replicas=10**12, budget=float("inf"))
