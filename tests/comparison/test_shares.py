"""Shares of samples, such as test errors, in the summary of a comparison."""

import numpy as np
import xarray as xr

from dimfree.comparison.shares import shares_at_the_end
from dimfree.problem import Problem


def account(*, best=0.045, **ends):
    values = {name: (("time", "replica"), np.array([[0.5] * len(end), end])) for name, end in ends.items()}
    return xr.Dataset(
        {**values, "bayes_error": (("time", "replica"), np.full((2, len(next(iter(ends.values())))), best))}
    )


def test_where_test_errors_end_is_said_in_per_cent():
    accounts = {"sgd": account(test_error=[0.12, 0.14], risk=[1.0, 1.0]), "ode": account(test_error=[0.1277])}
    assert [*shares_at_the_end(Problem(), accounts)] == [
        "test error at the end: sgd 13 ± 1 %, ode 12.8 %.",
        "bayes error: 4.5 %.",
    ]


def test_nothing_is_said_where_nothing_is_a_share():
    assert not [*shares_at_the_end(Problem(), {"sgd": account(risk=[1.0, 2.0]).drop_vars("bayes_error")})]
