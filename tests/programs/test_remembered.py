"""What jax remembers of programs is dropped after so many of them: a long session is bounded, and its numbers are the same."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.programs import compiled
from dimfree.programs.compiled import counted, program
from dimfree.programs.forms import Forms
from dimfree.programs.remembered import Remembered, forget, programs_alive

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
OUTSIDE = 8  # programs that are made between accounts, and dropped with the next


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(compiled, "FORMS", Forms(4))
    monkeypatch.setattr(compiled, "REMEMBERED", Remembered(4))


def noting(traces: list[int]) -> Callable[[jax.Array], jax.Array]:
    """A function that notes when it is traced."""

    def sine(x: jax.Array) -> jax.Array:
        traces.append(x.size)
        return jnp.sin(x)

    return sine


def test_programs_that_jax_holds_by_itself_are_dropped(few):
    sine, alive = jax.jit(noting([])), []
    for size in range(1, 13):
        with counted():
            sine(jax.device_put(np.zeros(size)))
        alive.append(programs_alive())
    assert max(alive[4:]) - min(alive[4:]) < 4  # without a bound the last eight are all there


@pytest.mark.slow
def test_traces_are_dropped_after_so_many_programs(few):
    traces: list[int] = []
    part = jax.jit(noting(traces))

    @program
    def sines(x: jax.Array) -> jax.Array:
        return x + part(x[:1])

    for size in range(1, 13):
        sines(jax.device_put(np.zeros(size)))
    assert len(traces) == 12 / 4


def test_programs_that_are_held_stay_when_the_rest_is_dropped():
    traces: list[int] = []
    sine, x = program(noting(traces)), jax.device_put(np.ones(3))
    before = np.asarray(sine(x))
    forget()
    np.testing.assert_array_equal(sine(x), before)
    assert len(traces) == 1


def test_a_program_that_is_made_within_another_drops_nothing_while_that_is_traced(few):
    traces: list[int] = []
    part, inner = jax.jit(noting(traces)), program(jnp.cos)

    @program
    def outer(x: jax.Array) -> jax.Array:
        first = part(x)
        for size in range(1, 6):
            inner(np.zeros(size))
        return first + part(x)

    outer(jax.device_put(np.zeros(2)))
    assert len(traces) == 1


@pytest.mark.slow
def test_threads_that_compile_meanwhile_get_their_numbers():
    def work(first: int) -> None:
        for size in range(first, first + 5):
            x = jax.device_put(np.linspace(0.0, 1.0, size))
            found = jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x))))(x)
            np.testing.assert_allclose(found, np.cos(np.asarray(x)), rtol=1e-14)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(work, 2), pool.submit(work, 20)]
        while not all(one.done() for one in both):
            forget()
        for one in both:
            one.result()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory maps are read in /proc")
def test_different_problems_in_one_process_leave_a_bounded_number_of_programs(few):
    """The recorded soak, in short: see benchmarks/soak.py."""
    from soak import soak

    forget()
    others = programs_alive()  # which tests before this one still hold
    for seen in soak(6):
        assert seen.held <= 4
        assert seen.alive <= others + 4 + 4 + OUTSIDE  # without a bound there are 70 after four problems


def run(count: int, grows: float, maps: int):
    """A soak whose memory goes up and down by 100 MB, and grows by so many megabytes a problem."""
    from soak import Seen

    return [Seen(n, 128, 200, maps, 1_000 + 5 * (n % 20) + grows * n) for n in range(1, count + 1)]


@pytest.mark.parametrize(("grows", "maps", "fine"), [(0.0, 9_000, True), (0.8, 9_000, False), (0.0, 40_000, False)])
def test_the_soak_fails_where_a_long_session_would_not_fit(grows, maps, fine):
    from soak import bounded

    assert bounded(run(300, grows, maps)) == fine


def test_the_recorded_soak_is_bounded():
    from soak import Seen, bounded

    written = json.loads((BENCHMARKS / "soak.json").read_text())
    seen = [Seen(*row) for row in written["after"]]
    assert len(seen) >= 300
    assert bounded(seen)
    assert written["bounded"]
