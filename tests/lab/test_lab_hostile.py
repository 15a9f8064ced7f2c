"""Hostile messages: each is answered by a sentence or ends its own connection, and an honest page is served beside them."""

import json
import random
from collections import Counter
from contextlib import ExitStack, suppress
from copy import deepcopy
from threading import Event, Semaphore

import pytest
from hostile import attacked, check, forget_peak, honest, moved, peak, siege, spoiled
from serving import asked, running, tiny
from websockets.exceptions import ConnectionClosed

import dimfree as df
from dimfree.errors import DimfreeError, ProblemError
from dimfree.lab import session
from dimfree.lab.admission import admission_of
from dimfree.lab.session import LONGEST, read
from dimfree.lab.shelf import hello_of, plain_problem


def test_a_few_hostile_messages():
    rng = random.Random(20)
    with running(tiny()) as client:
        client.enter()
        for number in attacked(client, rng, 40, Counter()):
            if number % 10 == 0:
                honest(client)


@pytest.mark.parametrize("size", [LONGEST + 1, 10_000_000])
def test_a_message_that_is_too_long_ends_its_own_connection_or_has_a_sentence(size):
    with running(tiny()) as client, client.enter().socket() as other:
        with client.socket() as socket, suppress(ConnectionClosed):
            check(socket, "x" * size, Counter())
            size = 0
        assert size in (0, 10_000_000)  # one that is much too long is not even read
        assert asked(other, id=1, ask="hello")[0]["answer"]["served"]


def test_what_is_no_message_has_one_sentence():
    for text in (b"binary", "", "{", "[]", "1", "NaN", '{"id": 1}', '{"ask": "hello"}', '{"id": 1.5, "ask": "hello"}'):
        with pytest.raises(ProblemError, match=r"a message is one JSON object"):
            read(text)


def test_a_question_is_answered_while_hostile_work_holds_every_other_thread(monkeypatch):
    begun, released = Semaphore(0), Event()

    def endless(*_):
        begun.release()
        assert released.wait(300)
        yield from ()

    for name in ("solved", "simulated"):
        monkeypatch.setattr(session, name, endless)
    monkeypatch.setattr(session, "prepared", lambda problem: problem)
    with running(tiny()) as client, ExitStack() as open_ones:
        hostile = [open_ones.enter_context(client.enter().socket()) for _ in range(6)]
        for socket in hostile:
            for number, ask in enumerate(("solve", "simulate")):
                socket.send(json.dumps({"id": number, "ask": ask, "problem": plain_problem(tiny())}))
        for _ in range(4):  # two threads of each kind
            assert begun.acquire(timeout=300)
        honest(client)
        assert not released.is_set()
        released.set()


@pytest.mark.slow
def test_questions_about_spoiled_problems_of_every_kind_have_answers_or_sentences():
    rng, lab = random.Random(7), session.Lab(df.Problem(), admission_of(df.Problem()))
    kinds, seen = [one["problem"] for one in hello_of(df.Problem(), served=True)["settings"]], Counter[str]()
    for number in range(600):
        values = (moved if number % 3 else spoiled)(rng, deepcopy(rng.choice(kinds)))
        try:
            json.dumps(
                lab.answer({"ask": rng.choice(("controls", "text")), "problem": values, "as": "toml"}), allow_nan=False
            )
            seen["answer"] += 1
        except DimfreeError:  # any other error fails the test
            seen["sentence"] += 1
    lab.close()
    assert min(seen["answer"], seen["sentence"]) > 100


@pytest.mark.slow
def test_two_thousand_hostile_messages():
    rng, seen = random.Random(2000), Counter[str]()
    with running(tiny()) as client:
        with client.enter().socket() as socket:  # what a first answer compiles is no growth
            for number, ask in enumerate(("hello", "controls", "solve", "simulate")):
                asked(socket, id=number, ask=ask, problem=plain_problem(tiny()))
        before = forget_peak()
        served = list(siege(client, rng, 2000, seen))
        assert peak() - before < 100e6
    assert len(served) == 40
    # On a machine of any load: until the honest page has its answer, all threads together work less than a second.
    assert max(one.cpu for one in served) < 1.0
    assert seen["error"] > 500
    assert seen["curve"] > 20  # some were computed
