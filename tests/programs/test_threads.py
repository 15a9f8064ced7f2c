"""Programs that are made in several threads: equinox and jax stay as they were, for these threads and for all others."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import diffrax
import equinox as eqx
import equinox.internal
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import DimfreeError
from dimfree.programs.compiled import program
from dimfree.programs.tracing import for_programs

X = jax.device_put(np.float64(2.0))
PATIENCE = 0.5  # seconds; nothing that passes depends on them


def functions() -> dict[tuple[str, str], object]:
    """Every function of equinox and jax by its place."""
    modules = [(name, module) for name, module in sys.modules.items() if name.partition(".")[0] in ("equinox", "jax")]
    return {
        (place, name): thing for place, module in modules for name, thing in vars(module).items() if callable(thing)
    }


def assert_untouched(before: dict[tuple[str, str], object]) -> None:
    after = functions()
    assert {place for place, thing in before.items() if after.get(place) is not thing} == set()


def decay(t: jax.Array, y: jax.Array, rate: jax.Array) -> jax.Array:
    return -rate * y


def solved(rate: jax.Array) -> jax.Array:
    """A solve of diffrax, as a user would write it: exp(-rate)."""
    controller = diffrax.PIDController(1e-8, 1e-8)
    term = diffrax.ODETerm(decay)
    found = diffrax.diffeqsolve(
        term, diffrax.Tsit5(), 0.0, 1.0, 0.1, jnp.ones(()), rate, stepsize_controller=controller
    )
    return found.ys[-1]


def positive(x: jax.Array) -> jax.Array:
    return eqx.error_if(x, x < 0, "negative")


def check_what_users_do() -> None:
    """Gradients of their own solves, and errors from within their own programs."""
    np.testing.assert_allclose(jax.grad(solved)(X), -np.exp(-2.0), rtol=1e-6)
    with pytest.raises(RuntimeError, match="negative"):
        eqx.filter_jit(positive)(-X)


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch):
    """Commands that ran in this process before have set what the command line sets."""
    monkeypatch.delenv("EQX_ON_ERROR", raising=False)


def tracing(act: Callable[[], object], scale: float) -> Callable[[], object]:
    """A call that makes a program, and acts while it is traced."""

    def function(x: jax.Array) -> jax.Array:
        act()
        return scale * positive(x)

    return lambda: program(function)(X)


def test_two_threads_that_make_programs_leave_nothing_behind():
    """The first leaves while the second is inside, if it can get there: it would take the first one's functions for equinox's."""
    before = functions()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def one() -> None:
        tracing(lambda: (first_in.set(), second_in.wait(PATIENCE)), 1.0)()
        first_out.set()

    def other() -> None:
        first_in.wait(60)
        tracing(lambda: (second_in.set(), first_out.wait(60)), 2.0)()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(one), pool.submit(other)]:
            done.result()
    assert_untouched(before)


def test_a_thread_that_traces_keeps_what_is_replaced_while_another_one_leaves():
    """Without a lock the first one would put equinox's function back while the second one traces."""
    before = functions()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def one() -> None:
        with for_programs():
            first_in.set()
            second_in.wait(PATIENCE)
        first_out.set()

    def other() -> str:
        first_in.wait(60)
        with for_programs():
            second_in.set()
            first_out.wait(60)
            return str(jax.jit(lambda x: positive(x)).trace(X).jaxpr)  # noqa: PLW0108  # traced anew

    with ThreadPoolExecutor(2) as pool:
        left, text = pool.submit(one), pool.submit(other)
        left.result()
        assert "callback" not in text.result()
    assert_untouched(before)
    assert "callback" in str(jax.jit(lambda x: positive(x)).trace(X).jaxpr)  # noqa: PLW0108


def test_other_threads_are_not_disturbed_while_a_program_is_traced():
    inside, done = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(tracing(lambda: (inside.set(), done.wait(60)), 3.0))
        try:
            assert inside.wait(60)
            assert eqx.internal.prevbefore(-X) < -X  # dimfree's own is for positive numbers
            check_what_users_do()
        finally:
            done.set()
        made.result()


def test_gradients_of_a_function_are_those_of_users_although_it_was_a_program_before():
    before = functions()
    np.testing.assert_allclose(program(solved)(X), np.exp(-2.0), rtol=1e-6)
    assert np.isnan(program(positive)(-X))
    assert_untouched(before)
    check_what_users_do()


def test_a_program_that_cannot_be_traced_leaves_nothing_behind():
    before = functions()
    with pytest.raises(ZeroDivisionError):
        tracing(lambda: 1 / 0, 4.0)()
    assert_untouched(before)


def test_a_version_of_equinox_without_what_is_replaced_is_named(monkeypatch):
    monkeypatch.delattr(sys.modules["equinox._errors"], "branched_error_if")
    with pytest.raises(
        DimfreeError, match=r"equinox [\d.]+ has no equinox._errors.branched_error_if, which dimfree needs"
    ):
        program(lambda x: x + 1)(X)


@pytest.mark.slow
def test_two_threads_solve_two_structures_at_once():
    problems = [
        df.Problem(
            dimension=30,
            data=df.Teacher(units=1, activation=activation),
            network=df.TwoLayer(width=1, activation=activation),
            run=df.Run(until=0.2, points=3),
        )
        for activation in ("erf", "linear")
    ]
    df.solve(problems[0])  # what is imported on the way is imported
    before, meeting = functions(), threading.Barrier(2)

    def solve(problem: df.Problem) -> np.ndarray:
        meeting.wait(60)
        return df.solve(problem.replace(**{"run.points": 4}))["risk"].values

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(solve, problems))
    assert_untouched(before)
    check_what_users_do()
    for problem, risk in zip(problems, together, strict=True):
        np.testing.assert_array_equal(df.solve(problem.replace(**{"run.points": 4}))["risk"].values, risk)
