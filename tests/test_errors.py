import pytest

from dimfree.errors import first_line, in_one_line, type_and_first_line


@pytest.mark.parametrize(
    ("failure", "first", "typed"),
    [
        (ValueError("no such thing"), "no such thing", "ValueError: no such thing"),
        (ValueError("\nno such\nthing"), "no such", "ValueError: no such"),
        (ValueError(), "ValueError", "ValueError"),
        (SystemExit(2), "2", "SystemExit: 2"),
        (ValueError(300 * "x"), 200 * "x", "ValueError: " + 200 * "x"),
    ],
)
def test_exceptions_of_others_are_quoted_in_a_line(failure, first, typed):
    assert first_line(failure) == first
    assert type_and_first_line(failure) == typed


def test_all_lines_of_an_exception_are_joined():
    assert in_one_line(ValueError("no such\n  thing")) == "no such thing"
