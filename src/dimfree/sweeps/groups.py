"""A point as a Zarr group: observables as arrays of one chunk each, with checksums; why it failed as an attribute."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dimfree.description import Values
from dimfree.files import read_text, replacing
from dimfree.sweeps.batches import Outcome
from dimfree.sweeps.extras import needed

METADATA = "zarr.json"  # what every group and array has, by the specification of Zarr 3


def write_group(folder: Path, attributes: Mapping[str, Any]) -> None:
    """Write the metadata of a group, completely or not at all."""
    with replacing(folder / METADATA) as temporary:
        temporary.write_text(
            json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=1), encoding="utf-8"
        )


def read_group(folder: Path) -> dict[str, Any]:
    """The attributes of a group."""
    found = json.loads(read_text(folder / METADATA))
    attributes = found["attributes"] if isinstance(found, dict) else None
    if not isinstance(attributes, dict):
        raise ValueError(f"{METADATA} has no table of attributes")
    return attributes


def write_point(folder: Path, outcome: Outcome) -> None:
    """Write all of a point into an empty folder."""
    zarr, codecs = needed("zarr", "a store"), needed("zarr.codecs", "a store")
    data = xr.Dataset() if outcome.data is None else outcome.data
    attributes = {"failure": outcome.failure, **data.attrs}
    group = zarr.create_group(zarr.storage.LocalStore(folder), attributes=attributes)
    for name, variable in data.variables.items():
        values = np.asarray(variable.values, dtype=float)
        group.create_array(
            str(name),
            data=values,
            chunks=values.shape,
            dimension_names=[str(dim) for dim in variable.dims],
            attributes=dict(variable.attrs),
            compressors=codecs.ZstdCodec(level=1, checksum=True),
            chunk_key_encoding={"name": "default", "separator": "."},
            fill_value=np.nan,
            config={"write_empty_chunks": True},
        )


def read_point(folder: Path, key: str) -> Outcome:
    """Read what `write_point` wrote; a damaged point raises an exception of any type."""
    zarr = needed("zarr", "a store")
    group = zarr.open_group(zarr.storage.LocalStore(folder, read_only=True), mode="r")
    attributes = dict(group.attrs)
    failure = str(attributes.pop("failure"))
    arrays = dict(group.arrays())
    if {entry.name for entry in folder.iterdir()} != {*arrays, METADATA} or not (failure or arrays):
        raise ValueError("an array is missing")
    variables = {
        name: xr.Variable(array.metadata.dimension_names or (), _whole(array), array.attrs)
        for name, array in arrays.items()
    }
    return Outcome(key, None if failure else xr.Dataset(variables, attrs=attributes), failure, 0.0)


def _whole(array: Any) -> Values:
    """The whole array; an error if chunks are missing, because Zarr would read these as fill values."""
    if array.nchunks_initialized != array.nchunks:
        raise ValueError(f"numbers of {array.basename} are missing")
    values: Values = np.asarray(array[...])
    return values
