"""Results as netCDF files."""

from pathlib import Path

import xarray as xr

from dimfree.errors import OutputError
from dimfree.files import replacing


def save(tree: xr.DataTree, path: Path) -> None:
    """Write a comparison as netCDF, one group per description."""
    with replacing(path) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf")


def load(path: str | Path) -> xr.DataTree:
    """Read what `save` wrote."""
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            return tree.load()
    except FileNotFoundError:
        raise OutputError(f"there is no results file {str(path)!r}.") from None
    except OSError as failure:
        raise OutputError(f"{str(path)!r} is not a results file that can be read: {failure}.") from None
