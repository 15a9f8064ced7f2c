"""Files that are damaged, foreign, endless or too large: one sentence each, before any memory is taken for them."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dimfree as df
from dimfree.arrays import read_archive, read_array, unpacked
from dimfree.cli.commands import app
from dimfree.comparison.comparison import alone
from dimfree.errors import OutputError, ProblemError, RefusalError
from dimfree.results.checkpoint import Checkpoint
from dimfree.setting import model_of
from dimfree.tables import read_table

TEBIBYTES = (1_000_000, 1_000_000)
SMALL = df.Problem(
    dimension=20, network=df.TwoLayer(width=2), data=df.Teacher(units=1), run=df.Run(until=1.0, replicas=2, points=4)
)


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def announcing(shape, dtype="<f8") -> bytes:
    """The header of an array with almost nothing behind it."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue() + bytes(64)


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def flipped(content: bytes, place: float) -> bytes:
    damaged = bytearray(content)
    damaged[int(place * len(content))] ^= 0x10
    return bytes(damaged)


WHOLE = npz(A=npy(np.arange(400.0).reshape(20, 20)))
DAMAGED = {
    "empty": b"",
    "text": b"no archive",
    "truncated": WHOLE[: len(WHOLE) // 2],
    "torn": b"PK\x03\x04 torn",
    **{f"flipped at {place}": flipped(WHOLE, place) for place in (0.002, 0.3, 0.6)},
    "plain npy": npy(np.eye(3)),
    "7 TiB": npz(A=announcing(TEBIBYTES)),
    "negative shape": npz(A=announcing((-1, 4))),
    "complex": npz(A=npy(1j * np.eye(3))),
    "objects": npz(A=announcing((2,), "|O")),
    "text inside": npz(A=b"no array"),
    "words": npz(A=npy(np.array(["a"]))),
    "dates": npz(A=npy(np.array(["2020-01-01"], dtype="datetime64[D]"))),
}


@pytest.mark.parametrize("content", [pytest.param(content, id=name) for name, content in DAMAGED.items()])
def test_an_archive_that_cannot_be_read_is_one_sentence(content, tmp_path):
    file = tmp_path / "a.npz"
    file.write_bytes(content)
    with pytest.raises(
        ProblemError, match=r"\[data\] names the file .*a.npz', which is not a readable .npz archive \("
    ):
        read_archive(file, ["A"], "[data]")


def test_arrays_are_read_as_they_were_written(tmp_path):
    arrays = {"X": np.asfortranarray(np.random.default_rng(0).normal(size=(4, 3))), "n": np.arange(3), "s": np.ones(())}
    np.savez(tmp_path / "a.npz", **arrays)
    found = read_archive(tmp_path / "a.npz", list(arrays), "[data]")
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.float64
    assert found["X"].flags.f_contiguous
    np.save(tmp_path / "a.npy", arrays["X"].astype(np.float32))
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), arrays["X"].astype(np.float32))
    with pytest.raises(ProblemError, match="has no array 'y'; it needs X, n and y"):
        read_archive(tmp_path / "a.npz", ["X", "n", "y"], "[data]")


NAMING = {
    "weights": lambda file: df.Problem(start=df.WeightsStart(file=file)),
    "points": lambda file: df.Problem(data=df.GivenPoints(file=file), dimension=2),
    "covariances": lambda file: df.Problem(data={"kind": "covariates", "file": file}),
}


@pytest.mark.parametrize("kind", NAMING)
@pytest.mark.parametrize("damage", ["truncated", "plain npy", "fifo", "folder"])
def test_every_section_that_names_an_archive_uses_that_reader(kind, damage, tmp_path):
    file = tmp_path / "a.npz"
    if damage == "fifo":
        os.mkfifo(file)
    elif damage == "folder":
        file.mkdir()
    else:
        file.write_bytes(DAMAGED[damage])
    problem = NAMING[kind](file)
    with pytest.raises(ProblemError, match=r"which is not a readable .npz archive"):
        df.solve(problem)
    assert problem.digest == problem.digest


@pytest.mark.parametrize("Phi", [np.zeros(()), np.ones(3), np.ones((0, 2)), np.ones((2, 2, 1))])
def test_covariances_of_wrong_shapes(Phi, tmp_path):
    np.savez(tmp_path / "a.npz", Psi=np.eye(2), Phi=Phi, Omega=np.eye(2), theta=np.ones(2))
    with pytest.raises(ProblemError, match="give p x p, p x d, d x d and p numbers"):
        model_of(NAMING["covariances"](tmp_path / "a.npz"))


@pytest.mark.parametrize(
    "content",
    [
        announcing(TEBIBYTES),
        npy(1j * np.eye(3)),
        b"\x93NUMPY\x09\x00",
        npy(np.eye(3))[:-5],
        flipped(npy(np.eye(3)), 0.1),
    ],
    ids=["7 TiB", "complex", "another version", "truncated", "flipped"],
)
def test_a_table_that_cannot_be_read_is_one_sentence(content, tmp_path):
    (tmp_path / "t.npy").write_bytes(content)
    with pytest.raises(ProblemError, match=r"is no table of numbers in .npy or .csv format"):
        read_table(tmp_path / "t.npy")


@pytest.mark.parametrize("name", ["t.npy", "t.csv"])
def test_a_pipe_is_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ProblemError, match="it is a pipe or a device, not a regular file"):
        read_table(tmp_path / name)


def sparse(file: Path, header: bytes, size: float) -> Path:
    """A file of any size that takes no room on the disk."""
    file.write_bytes(header)
    os.truncate(file, int(size))
    return file


def test_what_a_file_would_take_is_asked_before_it_is_read(tmp_path):
    header = announcing((10**5, 10**5))[:-64]
    matrix = sparse(tmp_path / "covariance.npy", header, len(header) + 8e10)
    with pytest.raises(RefusalError, match=r"reading the file .*covariance.npy' needs 160 GB of memory"):
        df.Problem(data=df.Teacher(covariance=df.Covariance.matrix(matrix)))
    table = sparse(tmp_path / "table.csv", b"1,2\n", 1e12)
    with pytest.raises(RefusalError, match=r"reading the table .*table.csv' needs 8e\+03 GB of memory"):
        read_table(table)
    text = sparse(tmp_path / "problem.toml", b"", 1e10)
    with pytest.raises(ProblemError, match="it has 1e\\+10 bytes, which is too long for a text"):
        df.load(text)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    file = tmp_path_factory.mktemp("results") / "ode.nc"
    df.compare(SMALL, only=["gradient-flow"]).save(file)
    return file.read_bytes()


@pytest.mark.parametrize("place", [0.0, 0.01, 0.1, 0.5, 0.9])
def test_truncated_results(place, results, tmp_path):
    (tmp_path / "r.nc").write_bytes(results[: int(place * len(results))])
    with pytest.raises(OutputError, match="is not a results file that can be read"):
        df.open(tmp_path / "r.nc")


def test_results_with_flipped_bits_are_opened_or_refused(results, tmp_path):
    refused = 0
    for place in np.random.default_rng(1).random(60):
        (tmp_path / "r.nc").write_bytes(flipped(results, place))
        try:
            df.open(tmp_path / "r.nc")
        except OutputError:
            refused += 1
    assert refused > 10


def foreign_trees():
    risk = xr.Dataset({"risk": (("time", "replica"), np.ones((3, 2)))}, {"time": np.arange(3.0)})
    attrs = {"real": 0, "scatters": 0, "accuracy": 0.0, "cpu_seconds": 1.0}
    problem = {"problem": df.dumps(SMALL)}
    yield "nothing", xr.DataTree(), "holds no comparison"
    yield "a dataset", xr.DataTree(risk), "holds no comparison"
    yield "no attributes", xr.DataTree.from_dict({"a": risk}, name="x").assign(), "holds no comparison"
    made = xr.DataTree.from_dict({"a": risk})
    made.attrs = problem
    yield "unknown account", made, "a has no number 'real' among its attributes"
    turned = xr.DataTree.from_dict({"a": risk.transpose().assign_attrs(attrs)})
    turned.attrs = problem
    yield "turned", turned, "a has 'risk' over replica, time, not over time, replica"
    other = xr.DataTree.from_dict({"a": risk.rename(risk="loss").assign_attrs(attrs)})
    other.attrs = problem
    yield "no risk", other, "a has no risk over time"
    numbers = xr.DataTree.from_dict({"a": risk.assign_attrs(attrs)})
    numbers.attrs = {"problem": 3}
    yield "a number for a problem", numbers, "cannot be read again"


@pytest.mark.parametrize(
    ("tree", "sentence"), [pytest.param(tree, said, id=name) for name, tree, said in foreign_trees()]
)
def test_results_of_another_program(tree, sentence, tmp_path):
    tree.to_netcdf(tmp_path / "r.nc", engine="h5netcdf")
    with pytest.raises(OutputError, match=sentence):
        df.open(tmp_path / "r.nc")


def test_results_that_announce_more_than_there_is_memory(tmp_path):
    import h5py

    with h5py.File(tmp_path / "r.nc", "w") as file:
        file.create_dataset("risk", TEBIBYTES, "f8")
    with pytest.raises(RefusalError, match=r"reading the results in .* needs 8e\+03 GB of memory"):
        df.open(tmp_path / "r.nc")


def test_results_without_times_have_no_figure(tmp_path):
    ridge = df.Problem(data=df.LinearTeacher(), training=df.MultiPass(weight_decay=0.1))
    found = df.open(alone(ridge, df.solve(ridge, "static")).save(tmp_path / "static.nc"))
    for observable in (None, "risk"):
        with pytest.raises(
            OutputError, match="a theory of the end of training has no times, so there is no figure to draw"
        ):
            found.plot(observable=observable)


def test_a_limit_on_the_size_of_files_is_one_sentence_and_leaves_nothing(tmp_path):
    """In a process of its own: HDF5 that cannot write ends the process."""
    script = (
        "import resource, sys, pathlib, xarray as xr, numpy as np\n"
        "from dimfree.results.store import save\n"
        "from dimfree.errors import OutputError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try:\n"
        "    save(xr.Dataset({'risk': ('time', np.ones(5000))}), pathlib.Path(sys.argv[1]))\n"
        "except OutputError as failure:\n"
        "    print(failure)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "r.nc")], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert "could not be written: [Errno 27] File too large" in found.stdout
    assert not list(tmp_path.iterdir())


def kept(path: Path) -> dict[str, np.ndarray]:
    return dict(unpacked(path))


def test_a_checkpoint_that_does_not_agree_with_its_digest_is_as_good_as_none(tmp_path, monkeypatch):
    from dimfree.results import checkpoint

    class Killed(BaseException):
        pass

    def watch(title, done):
        if done >= 0.5:
            raise Killed

    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    whole = df.simulate(SMALL)
    with pytest.raises(Killed):
        df.simulate(SMALL, checkpoint=tmp_path, watch=watch)
    (file,) = tmp_path.iterdir()
    arrays = kept(file)
    assert Checkpoint(file).earlier() is not None
    for name in arrays:
        if name != "digest":
            np.savez(file, **(arrays | {name: np.array(-3) if name == "count" else np.ones(2)}))
            assert Checkpoint(file).earlier() is None, name
    np.savez(file, **{name: array for name, array in arrays.items() if name != "digest"})
    assert Checkpoint(file).earlier() is None
    np.savez(file, **(arrays | {"seen risk": np.ones((1, 1))}))
    assert df.simulate(SMALL, checkpoint=tmp_path).equals(whole)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "is not a reference file: it holds a list"),
        ('{"items": [{"id": 1}]}', "is not a reference file: KeyError: 'kind'"),
        ('{"items": 3}', "is not a reference file: TypeError"),
        ('{"cases": 3}', "is not a reference file: TypeError"),
        ("{", "is not a reference file"),
    ],
)
def test_verify_of_a_folder_with_something_else(content, sentence, tmp_path):
    (tmp_path / "a.json").write_text(content)
    found = CliRunner().invoke(app, ["verify", "--data", str(tmp_path)])
    assert found.exit_code == 2, found.exception
    assert sentence in found.stderr


def test_verify_of_items_that_cannot_be_computed(tmp_path):
    item = {"id": "a", "kind": "kernel", "inputs": {"nonsense": 1}, "expected": {}, "rtol": 0, "atol": 0}
    items = [item, item | {"kind": ["kernel"]}, item | {"kind": "leap", "inputs": None}]
    (tmp_path / "a.json").write_text(json.dumps({"items": items}))
    (tmp_path / "b.json").mkdir()
    assert CliRunner().invoke(app, ["verify", "--data", str(tmp_path)]).exit_code == 2
    (tmp_path / "b.json").rmdir()
    found = CliRunner().invoke(app, ["verify", "--data", str(tmp_path)])
    assert found.exit_code == 1
    assert " ".join(found.stdout.split()).count("cannot be used (") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "--replicas", "²"], "--replicas got '²'; write a number such as 16"),
        (["compare", "--replicas", "sgd=²"], "--replicas got 'sgd=²'"),
        (["compare", "--replicas", "9" * 5000], "--replicas got"),
        (["show", "--set", "start.kind=[1]"], "[start] got kind = '[1]'"),
        (["show", "--set", "start.kind={}"], "[start] got kind = '{}'"),
        (["show", "--set", "run.until=1e19"], "takes more steps than can be counted (9.2e+18)"),
        (["plot", "ode.nc", "--out", "x.xyz"], "a figure cannot be written to 'x.xyz'; let the name end in one of: "),
        (["plot", "ode.nc", "--out", "x"], "a figure cannot be written to 'x'; let the name end in one of: "),
    ],
)
def test_options_that_make_no_sense(arguments, sentence, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ode.nc").write_bytes(results)
    found = CliRunner().invoke(app, arguments)
    assert isinstance(found.exception, SystemExit), found.exception
    assert found.exit_code in (1, 2)
    assert sentence in found.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["ode.nc"]


def test_the_latest_time_that_can_be_counted_has_times():
    problem = df.Problem(dimension=10**15, run=df.Run(until=2000.0))
    assert problem.times[-1] == pytest.approx(2000.0)
    assert np.all(np.diff(problem.times) > 0)


def test_a_process_without_memory_says_so(monkeypatch):
    def without(*_, **__):
        raise MemoryError

    monkeypatch.setattr("dimfree.registry.candidates", without)
    found = CliRunner().invoke(app, ["show"])
    assert found.exit_code == 1
    assert "dimfree: memory ran out; make the problem smaller" in found.stderr


def test_what_pandas_says_is_one_line(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6,7,8\n")
    with pytest.raises(df.ProblemError, match="no table of numbers") as told:
        read_table(tmp_path / "a.csv")
    assert "\n" not in str(told.value)
