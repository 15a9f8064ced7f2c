"""Changes to equinox that apply only while a program of dimfree is traced.

Three functions of equinox are replaced for that time, because it has no public way to ask for the same. A replacement acts
in the thread that traces; all other threads go through it to the function of equinox. Only one thread traces at a time, so
that none takes another's replacement for equinox's function, or takes it away, and each function is there again afterwards.
jax remembers what it has traced, by a context of dimfree's among other things, so that no trace made here is ever used in a
program of the user, nor the reverse.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.metadata import version
from types import ModuleType
from typing import Any

import equinox as eqx
import equinox.internal
import jax
import numpy as np

from dimfree.errors import DimfreeError
from dimfree.programs.forms import MAKING

_tracing = jax.make_user_context(default_value=False)  # type: ignore[no-untyped-call]  # of each thread


@contextmanager
def for_programs() -> Iterator[None]:
    """Trace as programs of dimfree need it: they are only run forward, and dimfree checks their results itself."""
    with (
        MAKING,
        _tracing(True),
        _errors_are_nan(),
        _replaced("equinox.internal", prevbefore),
        _replaced("equinox.internal._loop.loop", checkpointed_while_loop),
    ):
        yield


def is_tracing() -> bool:
    """Whether this thread traces a program of dimfree."""
    return bool(_tracing.value)


@contextmanager
def _errors_are_nan() -> Iterator[None]:
    """Trace without the callbacks by which equinox raises errors from within a program, which cannot be kept on disk then.

    The environment variable EQX_ON_ERROR, which wins where it is set, is read once and for all programs of the process.
    """
    if "EQX_ON_ERROR" in os.environ:
        yield
        return
    usual = _usual("equinox._errors", "branched_error_if")

    def branched_error_if(*args: object, on_error: str = "default", **more: object) -> object:
        return usual(*args, on_error="nan" if on_error == "default" else on_error, **more)

    with _replaced("equinox._errors", branched_error_if):
        yield


def prevbefore(x: jax.Array) -> jax.Array:
    """The largest float below a positive one, in one operation: rounding makes this product exactly that.

    diffrax asks for it a hundred times, to tell times that are a hundred numbers early from later ones. Equinox heeds the sign
    of times, which are never negative here: in seventeen operations, half of the program of an ODE.
    """
    return x * (1 - np.finfo(x.dtype).epsneg)


def checkpointed_while_loop(*args: Any, checkpoints: int | None, **more: Any) -> Any:
    """The loop without what a gradient would need of it: gradients are traced through a program instead of running it."""
    return eqx.internal.while_loop(*args, kind="lax", **more)


@contextmanager
def _replaced(module: str, function: Callable[..., object]) -> Iterator[None]:
    """Replace a function of a module by another one, in this thread only."""
    name = function.__name__
    usual = _usual(module, name)

    @wraps(usual)
    def either(*args: object, **more: object) -> object:
        return (function if _tracing.value else usual)(*args, **more)

    setattr(sys.modules[module], name, either)
    try:
        yield
    finally:
        setattr(sys.modules[module], name, usual)


def _usual(module: str, name: str) -> Callable[..., object]:
    found: ModuleType | None = sys.modules.get(module)
    if not hasattr(found, name):
        raise DimfreeError(
            f"equinox {version('equinox')} has no {module}.{name}, which dimfree needs to compile its programs; install another "
            "version of equinox, or a newer dimfree."
        )
    usual: Callable[..., object] = getattr(found, name)
    return usual
