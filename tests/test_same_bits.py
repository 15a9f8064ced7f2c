"""The script that compares two states of the sources: it sees the last bit, and all of its problems have their accounts."""

import sys
from pathlib import Path

import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.kind import kinds
from dimfree.registry import settings
from dimfree.setting import setting_of, why_not

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import same_bits

OLD = {"one|ode|risk": np.array([1.0, 0.1, np.nan]), "one|ode|time": np.arange(3), "one|sgd|risk": np.ones(2)}


def changed(**arrays):
    return OLD | {f"one|{name.replace('_', '|')}": values for name, values in arrays.items()}


def test_equal_arrays_are_counted(capsys):
    assert same_bits.compared(OLD, {name: values.copy() for name, values in OLD.items()}) == 0
    assert capsys.readouterr().out == "3 of 3 arrays of 1 problems are equal bit for bit.\n"


def test_the_last_bit_another_shape_and_what_is_missing_are_seen(capsys):
    last = np.array([1.0, np.nextafter(0.1, 1), np.nan])
    assert same_bits.compared(OLD, changed(ode_risk=last, sgd_risk=np.ones(3), sgd_Q=np.ones(1))) == 3
    assert capsys.readouterr().out.splitlines() == [
        "one, ode: risk differs by 1.4e-17 of its largest value",
        "one, sgd: risk is float64 (2,) and float64 (3,); Q is only in the new sources",
        "1 of 4 arrays of 1 problems are equal bit for bit.",
    ]


def test_no_number_in_the_place_of_one_is_seen(capsys):
    assert same_bits.compared(OLD, changed(ode_risk=np.array([1.0, np.nan, np.nan]))) == 1
    assert "one, ode: risk is finite at other places" in capsys.readouterr().out


@pytest.mark.slow
def test_cases_have_every_setting_and_kind_of_data_and_their_accounts_hold():
    problems = {name: same_bits.problem_of(case) for name, case in same_bits.CASES.items()}
    refused = [
        f"{name}, {account}: {why}"
        for name, case in same_bits.CASES.items()
        for account in case.accounts.split()
        if (why := why_not(df.descriptions()[account], problems[name]))
    ]
    assert not refused
    assert {setting_of(one).name for one in problems.values()} == {one.name for one in settings()}
    sections = {type(one.data) for one in problems.values()}
    assert {one for kind in kinds() for one in kind.sections if one.__module__.startswith("dimfree.")} <= sections
    asked = {account for case in same_bits.CASES.values() for account in case.accounts.split()}
    assert {name for name, one in df.descriptions().items() if type(one).__module__.startswith("dimfree.")} == asked
