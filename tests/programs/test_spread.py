"""Replicas share the cores, and their numbers do not know how many there are."""

import threading

import numpy as np
import pytest

import dimfree as df
from dimfree.programs import spread
from dimfree.programs.spread import spread as over_cores

PROBLEM = df.Problem(dimension=20, data=df.Teacher(units=1), network=df.TwoLayer(width=2))


@pytest.mark.parametrize("cores", [1, 3])
def test_work_comes_back_in_its_order_from_as_many_threads_as_there_are_cores(monkeypatch, cores):
    monkeypatch.setattr(spread, "cores", lambda: cores)
    meeting, seen = threading.Barrier(cores), set()

    def work(item):
        seen.add(threading.get_ident())
        meeting.wait(timeout=60)  # all of them at the same time
        return item**2

    assert over_cores(work, range(6)) == [0, 1, 4, 9, 16, 25]
    assert len(seen) == cores


def test_an_error_of_one_piece_is_told():
    with pytest.raises(ZeroDivisionError):
        over_cores(lambda x: 1 / x, [1, 0, 2])


def risks(monkeypatch, cores):
    monkeypatch.setattr(spread, "cores", lambda: cores)
    return df.simulate(PROBLEM, until=1.0, replicas=17)["risk"].values[-1]


def test_replicas_are_as_many_as_asked_all_different_and_the_same_on_any_machine(monkeypatch):
    alone = risks(monkeypatch, 1)
    assert alone.shape == (17,)
    assert np.unique(alone).size == 17
    np.testing.assert_array_equal(risks(monkeypatch, 3), alone)
