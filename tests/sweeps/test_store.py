import json
import shutil
import signal
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from accounts import BASE, RATES, Decay, Square

import dimfree as df
from dimfree.sweeps.status import export, open_sweep, status
from dimfree.sweeps.store import Store


def swept(store=None, rates=(1.0, 2.0, 3.0), **more) -> xr.Dataset:
    return df.sweep(BASE, {RATES: list(rates)}, descriptions=[Square()], store=store, **more)


def journal(store) -> list[str]:
    return [note["point"] for note in Store(store).journal()]


def content(store) -> dict[str, bytes]:
    """Every file of a store."""
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def test_a_store_holds_what_memory_holds_bit_for_bit(tmp_path):
    rates = (1.0, 2.0, 5.0, 7.0)
    kept, here = swept(tmp_path / "s", rates), swept(None, rates)
    xr.testing.assert_identical(kept, here)
    xr.testing.assert_identical(open_sweep(tmp_path / "s"), here)
    assert here["risk"].values[0, :2].tolist() == [1.0, 4.0]
    assert here["failure"].values[0].tolist() == ["", "", "square refuses: it does not like 5.", "it diverges at 7."]


def test_points_are_groups_that_others_can_read(tmp_path):
    swept(tmp_path / "s")
    tree = xr.open_datatree(tmp_path / "s", engine="zarr", consolidated=False)
    found = {float(point["risk"]) for point in tree["points"].children.values()}
    assert found == {1.0, 4.0, 9.0}
    assert {point.attrs["title"] for point in tree["points"].children.values()} == {"square"}


def test_what_is_there_is_not_computed_again(tmp_path):
    swept(tmp_path / "s")
    before, notes = content(tmp_path / "s"), journal(tmp_path / "s")
    swept(tmp_path / "s")
    assert content(tmp_path / "s") == before
    assert journal(tmp_path / "s") == notes
    longer = swept(tmp_path / "s", rates=(1.0, 2.0, 3.0, 4.0))
    assert len(journal(tmp_path / "s")) == 4
    xr.testing.assert_identical(longer, swept(None, rates=(1.0, 2.0, 3.0, 4.0)))


def test_failed_points_are_tried_again_on_demand_only(tmp_path):
    swept(tmp_path / "s", (1.0, 7.0))
    swept(tmp_path / "s", (1.0, 7.0))
    assert len(journal(tmp_path / "s")) == 2
    swept(tmp_path / "s", (1.0, 7.0), retry=True)
    assert len(journal(tmp_path / "s")) == 3


def test_status_counts_and_says_why(tmp_path):
    swept(tmp_path / "s", (1.0, 5.0, 7.0))
    Store(tmp_path / "s").forget(journal(tmp_path / "s")[0])
    found = status(tmp_path / "s")
    assert (found.points, found.finished, found.failed, found.missing) == (3, 0, 2, 1)
    assert "1 x it diverges at 7." in str(found)
    data = open_sweep(tmp_path / "s")
    assert "not computed yet" in data["failure"].values


@pytest.mark.parametrize("damage", ["truncated", "gone", "flipped", "unreadable", "array gone"])
def test_a_damaged_point_is_said_and_computed_anew(tmp_path, damage):
    swept(tmp_path / "s")
    whole = content(tmp_path / "s")
    chunk = next((tmp_path / "s" / "points").glob("*/a/c.0"))
    bits = chunk.read_bytes()
    if damage == "truncated":
        chunk.write_bytes(bits[: len(bits) // 2])
    elif damage == "gone":
        chunk.unlink()
    elif damage == "flipped":
        chunk.write_bytes(bits[:-6] + bytes([bits[-6] ^ 1]) + bits[-5:])
    elif damage == "unreadable":
        (chunk.parents[1] / "zarr.json").write_text('{"zarr_')
    else:
        shutil.rmtree(chunk.parent)
        (chunk.parents[1] / "risk" / "zarr.json").unlink()
    with pytest.raises(df.OutputError, match=r"^the point \w+ in .* is damaged .*anew\.$"):
        open_sweep(tmp_path / "s")
    swept(tmp_path / "s")
    assert content(tmp_path / "s") == whole
    assert len(journal(tmp_path / "s")) == 4


def test_a_store_that_is_none_is_left_alone(tmp_path):
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("dear")
    for folder in (foreign, tmp_path / "zarr"):
        if folder.name == "zarr":
            folder.mkdir()
            (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
        before = content(folder)
        with pytest.raises(df.OutputError, match="is not the store of a sweep, and was not changed"):
            swept(folder)
        with pytest.raises(df.OutputError, match="is not the store of a sweep"):
            open_sweep(folder)
        assert content(folder) == before
    with pytest.raises(df.OutputError, match="is a file"):
        swept(foreign / "thesis.txt")
    with pytest.raises(df.OutputError, match="there is no store"):
        status(tmp_path / "nowhere")


def test_truncated_metadata_lose_no_point(tmp_path):
    swept(tmp_path / "s")
    whole, metadata = content(tmp_path / "s"), tmp_path / "s" / "zarr.json"
    metadata.write_bytes(whole["zarr.json"][:50])
    for what in (swept, open_sweep):
        with pytest.raises(df.OutputError, match=r"zarr.json' is damaged; remove it and run the same sweep again"):
            what(tmp_path / "s")
    metadata.unlink()
    swept(tmp_path / "s")
    assert content(tmp_path / "s") == whole
    assert len(journal(tmp_path / "s")) == 3


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path):
    """A quota on the size of files: some points fit, a network of many units does not."""
    resource = pytest.importorskip("resource", reason="this system has no limits on the size of files")
    widths = [2, 3, 40_000, 4]
    problem = BASE.replace(**{"data.units": 1})

    def filled():
        return df.sweep(problem, {"network.width": widths}, descriptions=[Square()], store=tmp_path / "s")

    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, usual[1]))
    try:
        with pytest.raises(
            df.OutputError, match=r"^the store .* cannot take another point \(File too large\); those in it"
        ):
            filled()
        assert status(tmp_path / "s").finished == 2
        assert not list((tmp_path / "s" / "points").glob(".*"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (filled()["failure"] == "").all()
    assert len(journal(tmp_path / "s")) == 4


def test_what_a_killed_process_left_is_removed(tmp_path):
    swept(tmp_path / "s")
    whole = content(tmp_path / "s")
    template = Store(tmp_path / "s").path / "points" / f".dimfree-{_host()}-999999999-0123456789abcdef.tmp"
    shutil.copytree(next((tmp_path / "s" / "points").glob("*/a")), template)
    swept(tmp_path / "s")
    assert content(tmp_path / "s") == whole


def _host() -> str:
    from dimfree import files

    return files._host


def test_whoever_comes_second_changes_nothing(tmp_path):
    data = swept(tmp_path / "s")
    whole, key = content(tmp_path / "s"), journal(tmp_path / "s")[0]
    store = Store(tmp_path / "s")
    point = store.get(key)
    store.put(point._replace(data=point.data + 1))
    assert content(tmp_path / "s") == whole
    assert data.identical(open_sweep(tmp_path / "s"))


def test_shapes_that_differ_are_filled_up(tmp_path):
    data = df.sweep(BASE, {"network.width": [2, 3]}, descriptions=[Square(), Decay()], store=tmp_path / "s")
    assert data["a"].sel(description="square").shape[0] == 2
    narrow = data["a"].sel({"description": "square", "network.width": 2}).values
    assert np.isnan(narrow[..., 2]).all()
    assert np.isfinite(narrow[..., :2]).all()
    assert np.isnan(data["a"].sel(description="decay")).all()
    assert data["risk"].dims == ("description", "network.width", "time", "replica")


class Pair(Decay):
    """Two replicas, where the others have one."""

    stochastic: ClassVar[bool] = True
    variables: ClassVar[dict[str, df.extend.Variable]] = {"pair": df.extend.Variable(("time", "replica"), "1", "two")}

    def advance(self, model, state, times):
        return state, {"pair": jnp.ones((len(times), 2))}


def test_accounts_may_have_other_replicas():
    data = df.sweep(BASE, {RATES: [1.0]}, descriptions=[Decay(), Pair(label="pair")])
    assert data.sizes["replica"] == 2
    assert np.isnan(data["risk"].sel(description="decay").values[..., 1]).all()


def test_export_is_one_file(tmp_path):
    data = swept(tmp_path / "s", (1.0, 7.0))
    export(open_sweep(tmp_path / "s"), tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["risk"], data["risk"])
        assert read["failure"].values.tolist() == data["failure"].values.tolist()
        assert read.attrs == data.attrs
