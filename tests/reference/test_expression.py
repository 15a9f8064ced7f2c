"""Links in reference files are read by a table; nothing in them can run."""

import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.reference.expression import expression


@pytest.mark.parametrize(
    ("written", "function"),
    [
        ("z**3-3*z+z**2", lambda z: z**3 - 3 * z + z**2),
        ("abs(z)", np.abs),
        ("-tanh(2*z)/pi", lambda z: -np.tanh(2 * z) / np.pi),
        ("where(z > 0, z, 0.1*z)", lambda z: np.where(z > 0, z, 0.1 * z)),
        ("maximum(z, 0)*(z<=1)", lambda z: np.maximum(z, 0) * (z <= 1)),
    ],
)
def test_expressions_are_what_they_say(written, function):
    z = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(expression(written)(z), function(z), rtol=1e-15)


@pytest.mark.parametrize(
    "written",
    [
        "__import__('os').system('true')",
        "z.__class__",
        "(lambda: z)()",
        "[z for z in z]",
        "open('x')",
        "exp.__globals__",
        "'a'*9",
        "z z",
        "",
        "tanh(z, out=1)",
    ],
)
def test_nothing_else_is_read(written):
    with pytest.raises(ProblemError, match="is not an expression in z"):
        expression(written)
