"""Curves that take long, and experiments beside them: what is said and shown while they are computed."""

import pytest
from serving import tiny

from dimfree.lab import experiment, live
from dimfree.lab.accounts import Accounts


def nobody_left() -> bool:
    return False


def test_a_theory_that_takes_long_is_announced_and_shown_as_it_grows(monkeypatch):
    def halves(*given):
        (whole,) = pieces(*given)
        for first, last, share in ((0, 3, 0.6), (3, 5, 1.0)):
            seen = {name: values[first:last] for name, values in whole.observables.items()}
            yield whole._replace(observables=seen, along="time", done=share)

    pieces = live._pieces
    monkeypatch.setattr(live, "_pieces", halves)
    monkeypatch.setattr(live, "_BRIEF", 0.0)
    monkeypatch.setattr(live, "_EVERY", 0.0)
    parts = list(live.solved(live.prepared(tiny()), Accounts(), nobody_left))
    assert {one["name"] for one in parts} == {"linearised", "infinite-width"}
    for name in ("linearised", "infinite-width"):
        announced, begun, whole = [one for one in parts if one["name"] == name and one["part"] != "warning"]
        assert announced["part"] == "pending"
        assert announced["seconds"] > 0
        assert (begun["share"], whole["share"]) == (0.6, 1.0)
        assert begun["times"] == whole["times"][:3]
        assert begun["risk"]["mean"] == whole["risk"]["mean"][:3]
        assert whole["times"] == tiny().times.tolist()


def test_an_experiment_waits_for_theories_that_are_being_solved(monkeypatch):
    """They are not solved a second time beside it, and the verdict is about them."""
    ready, accounts = live.prepared(tiny()), Accounts()
    solving = live.solved(ready, accounts, nobody_left)
    next(solving)
    monkeypatch.setattr(experiment, "solved", lambda *_: pytest.fail("the theories are being solved already"))
    monkeypatch.setattr(experiment.time, "sleep", lambda _: list(solving))  # they are done while it waits
    *_, verdict = experiment.simulated(ready, accounts, nobody_left)
    assert {one["name"] for one in verdict["rows"]} == {"linearised", "infinite-width"}


def test_an_experiment_that_waits_can_be_stopped(monkeypatch):
    ready, accounts, looks = live.prepared(tiny()), Accounts(), []
    monkeypatch.setattr(experiment.time, "sleep", looks.append)
    with accounts.solving(tiny().digest), pytest.raises(live.StoppedError):
        list(experiment.simulated(ready, accounts, lambda: len(looks) > 3))
    assert len(looks) == 4
