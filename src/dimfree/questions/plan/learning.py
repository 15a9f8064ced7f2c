"""What ridge regression can do with so many rows: the learning curve of a split's rows with the best ridge, by theory."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from rich.table import Table as TextTable

from dimfree.errors import ProblemError, RefusalError
from dimfree.questions.curves.answer import curve
from dimfree.questions.curves.own_table import LEARNERS
from dimfree.questions.curves.question import QUESTION
from dimfree.questions.plan.splits import Split
from dimfree.temporary_arrays import array_file

_POINTS = 4


class Learning(NamedTuple):
    """Rows, the risk of the best ridge for labels of variance 1, and that ridge as the argument of scikit-learn's Ridge."""

    rows: Float[np.ndarray, " n"]
    risk: Float[np.ndarray, " n"]
    alpha: Float[np.ndarray, " n"]

    def table(self) -> TextTable:
        """A row for every number of rows."""
        table = TextTable(title="Ridge regression, theory")
        for heading in ("rows", "risk", "alpha"):
            table.add_column(heading, justify="right")
        for rows, risk, alpha in zip(*self, strict=True):
            table.add_row(f"{rows:.0f}", f"{risk:.4f}", f"{alpha:.3g}")
        return table


def learning(split: Split) -> Learning | None:
    """That of the rows to learn from; None where they are fewer than the columns."""
    pool = split.spectrum().pool
    assert pool is not None
    base = QUESTION.example().replace(**{"training.loss": "square"})
    try:
        rows = pool.rows[:, np.ptp(pool.rows, axis=0) > 0]
        found = curve(
            base, features=str(array_file(rows)), labels=str(array_file(pool.labels)), points=_POINTS, seeds=0
        )
    except (ProblemError, RefusalError):
        return None
    alpha = np.array([LEARNERS["square"].number(found.problem, float(one)) for one in found.best.lambda_])
    return Learning(found.samples * found.problem.dimension, found.best.risk, alpha)
