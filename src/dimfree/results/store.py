"""Results as netCDF files."""

from pathlib import Path

import h5py
import xarray as xr

from dimfree.errors import DimfreeError, OutputError, first_line
from dimfree.files import check_regular, replacing
from dimfree.machine import refuse_above_memory


def save(data: xr.DataTree | xr.Dataset, path: Path) -> None:
    """Write a comparison, with one group per description, or a single dataset as netCDF.

    The file is made in memory first, because HDF5 crashes when the disk is full or a file exceeds its size limit.
    """
    with replacing(path) as temporary:
        written = data.to_netcdf(engine="h5netcdf")
        assert isinstance(written, memoryview)
        temporary.write_bytes(written)


def load(path: str | Path) -> xr.DataTree:
    """Read what `save` wrote."""
    try:
        check_regular(path)
        refuse_above_memory(_announced(path), f"reading the results in {str(path)!r}", "give a smaller file")
        with xr.open_datatree(path, engine="h5netcdf", phony_dims="access") as tree:
            return tree.load()
    except FileNotFoundError:
        raise OutputError(f"there is no results file {str(path)!r}.") from None
    except DimfreeError:
        raise
    except Exception as failure:  # the libraries raise many types of errors over damaged files
        raise OutputError(f"{str(path)!r} is not a results file that can be read: {first_line(failure)}.") from None


def _announced(path: str | Path) -> float:
    """The bytes of all arrays in a file.

    It visits all of the file's structure, so that damage is found here: h5netcdf would leave a broken object behind.
    """
    sizes = list[float]()

    def look(name: str, item: h5py.HLObject) -> None:
        dict(item.attrs)
        if isinstance(item, h5py.Dataset):
            sizes.append(float(item.size or 0) * item.dtype.itemsize)

    with h5py.File(path, "r") as file:
        dict(file.attrs)
        file.visititems(look)
    return sum(sizes)
