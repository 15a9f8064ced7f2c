"""The programs that a process holds: those used last, each made once, the others freed, so that a long session can go on."""

import sys
import threading
import weakref
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.programs import compiled
from dimfree.programs.compiled import program
from dimfree.programs.forms import Forms


class Form:
    """Something that can be seen to be freed."""


def test_what_was_used_last_is_held_and_the_rest_is_freed():
    forms = Forms[Form](2)
    one, other = forms.get("one", Form), weakref.ref(forms.get("other", Form))
    assert forms.get("one", Form) is one
    forms.get("third", Form)
    assert other() is None
    assert len(forms) == 2
    assert forms.get("one", Form) is one


def test_a_form_that_several_threads_ask_for_is_made_once():
    forms, meeting, made = Forms[Form](2), threading.Barrier(4), []

    def make():
        made.append(Form())
        threading.Event().wait(0.1)  # the others come meanwhile
        return made[-1]

    def ask():
        meeting.wait(timeout=60)
        forms.get("one", make)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(compiled, "FORMS", Forms(8))


@pytest.mark.skipif(sys.platform != "linux", reason="memory maps are read in /proc")
def test_memory_maps_of_programs_that_were_dropped_are_given_back(few):
    @program
    def sine(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    seen = []
    for size in range(1, 41):
        sine(jax.device_put(np.zeros(size)))
        seen.append(maps())
    assert len(compiled.FORMS) == 8
    assert max(seen[20:]) - min(seen[20:]) < 4 * 8  # without a bound each of the twenty takes four
