"""A comparison as HTML in a notebook, and as one table with a row for every number."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_CELL = "style='text-align:left;padding:2px 10px'"


def page(headings: Iterable[str], rows: Iterable[Iterable[str]], remarks: Iterable[str], figure: "Figure") -> str:
    """A table, sentences and a small figure."""
    head = "".join(f"<th {_CELL}>{escape(word)}</th>" for word in headings)
    body = "".join("<tr>" + "".join(f"<td {_CELL}>{escape(word)}</td>" for word in row) + "</tr>" for row in rows)
    said = "".join(f"<p>{escape(line)}</p>" for line in remarks)
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=80)
    picture = b64encode(drawn.getvalue()).decode()
    return f"<table><tr>{head}</tr>{body}</table>{said}<img alt='figure' src='data:image/png;base64,{picture}'/>"


def frame(accounts: Mapping[str, xr.Dataset], observables: Iterable[str] | None) -> "pd.DataFrame":
    """A row for every number: description, time, replica, observable, entry, value."""
    import pandas as pd

    known = {str(name) for data in accounts.values() for name, x in data.data_vars.items() if "time_" not in x.dims}
    wanted = sorted(known) if observables is None else list(observables)
    for name in wanted:
        if name not in {str(one) for data in accounts.values() for one in data.data_vars}:
            raise ProblemError(f"no account has an observable {name!r}; {suggest(name, sorted(known))}")
    parts = [
        _rows(title, data, name)
        for title, data in accounts.items()
        for name in wanted
        if name in data and "time" in data[name].dims
    ]
    return pd.concat(parts, ignore_index=True)


def _rows(title: str, data: xr.Dataset, name: str) -> "pd.DataFrame":
    import pandas as pd

    values = data[name].values
    at = np.indices(values.shape).reshape(values.ndim, -1)
    columns: dict[str, object] = {"description": title, "time": data["time"].values[at[0]], "replica": at[1]}
    if "start" in data.coords:
        columns["start"] = data["start"].values[at[1]]
    entries = [",".join(map(str, index)) for index in at[2:].T] if values.ndim > 2 else ""
    return pd.DataFrame(columns | {"observable": name, "entry": entries, "value": values.ravel()})
