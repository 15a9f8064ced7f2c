"""A run that several claims are about is made once: an entry and its wrong variants differ in a few of their runs only."""

import hashlib
import importlib

import jax
import numpy as np
import pytest
from matplotlib.figure import Figure

from dimfree.strokes import alike, tell_apart


def _content(starts):
    hashed = hashlib.sha256()
    for leaf in jax.tree.leaves(starts):
        is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        hashed.update(np.asarray(jax.random.key_data(leaf) if is_key else leaf).tobytes())
    return hashed.hexdigest()


@pytest.fixture(autouse=True, scope="module")
def _runs_are_shared():
    """What a run depends on: the problem, the description with its own fields, and the starts; its key follows from them."""
    module, seen = importlib.import_module("dimfree.comparison.compare"), {}
    run = module.record_starts

    def remembered(problem, one, starts, key, *more):
        what = problem.digest, type(one), repr(one.settings), one.title, _content(starts)
        if what not in seen:
            seen[what] = run(problem, one, starts, key, *more)
        return seen[what].copy(deep=True)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "record_starts", remembered)
        yield


@pytest.fixture(autouse=True)
def _hue_is_never_the_only_difference(monkeypatch):
    """Whatever figure a test draws: once it is told apart, as it is before it is written, no two colours are drawn alike."""
    drawn, begin = [], Figure.__init__

    def remembered(self, *args, **options):
        begin(self, *args, **options)
        drawn.append(self)

    monkeypatch.setattr(Figure, "__init__", remembered)
    yield
    for figure in drawn:
        tell_apart(figure)
        assert alike(figure) == set()
