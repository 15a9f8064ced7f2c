"""Programs as files: loaded without tracing, to the same bits; named by what they depend on; never those of users' functions."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.programs import compiled, kept

COMPARE = """
import jax, dimfree as df
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **more: compiled.append(more) if event.endswith("backend_compile_duration") else None
)
problem = df.Problem(dimension=50, network=df.TwoLayer(width=1, activation="tanh"), data=df.Teacher(units=1, noise=0.1))
comparison = df.compare(problem, until=0.2, replicas=2, only=["sgd", "ode", "diffusion"])
import sys
print(len(compiled), *sorted(name for name in ("scipy.stats", "matplotlib") if name in sys.modules))
"""
SOLVE = """
import sys, jax, dimfree as df, dimfree.onepass.limits.integration as seen
traced = []
usual = seen.diffrax.diffeqsolve
seen.diffrax.diffeqsolve = lambda *args, **more: traced.append(1) or usual(*args, **more)
problem = df.Problem(dimension=50, network=df.TwoLayer(width=1, activation=ACTIVATION), data=df.Teacher(units=1, noise=0.0))
risk = df.solve(problem, "ode", until=0.5)["risk"].values
print(len(traced), risk.tobytes().hex())
"""


def solved(folder: Path, activation: str = "'erf'") -> list[str]:
    """How often a fresh process traced the solver, and the bits of its risk."""
    return told(SOLVE.replace("ACTIVATION", activation), folder)


def told(code: str, folder: Path) -> list[str]:
    """What a fresh process prints that keeps its programs in this folder."""
    left_out = ("DIMFREE_CACHE", "JAX_COMPILATION_CACHE_DIR", "EQX_ON_ERROR", "XLA_FLAGS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def files(folder: Path) -> list[Path]:
    return sorted((folder / "dimfree" / "xla").glob("*.program"))


SIMULATE = """
import dimfree as df
problem = df.Problem(dimension=40, network=df.TwoLayer(width=2), run=df.Run(until=0.2, replicas=2, points=3))
print(df.simulate(problem)["risk"].values.tobytes().hex())
"""
AT_THE_COMMAND_LINE = "from dimfree.cli.shell import prepare; prepare()" + SIMULATE


@pytest.mark.slow
def test_programs_of_jax_s_own_cache_are_not_kept_again(tmp_path):
    """The command line uses that cache; what Python then loaded from it and wrote again could not be run by the next process."""
    bits = told(AT_THE_COMMAND_LINE, tmp_path)
    assert [told(SIMULATE, tmp_path) for _ in range(2)] == [bits, bits]


@pytest.mark.slow
def test_a_second_process_traces_nothing_and_gives_the_same_bits_and_damage_is_mended(tmp_path):
    first, second = solved(tmp_path), solved(tmp_path)
    assert int(first[0]) > 0
    assert second == ["0", first[1]]
    for file in files(tmp_path):
        file.write_bytes(file.read_bytes()[:100])
    assert solved(tmp_path) == first


@pytest.mark.slow
def test_a_second_process_compiles_nothing_however_small_and_imports_no_more_than_it_needs(tmp_path):
    assert int(told(COMPARE, tmp_path)[0]) > 0
    assert told(COMPARE, tmp_path) == ["0"]


@pytest.mark.slow
def test_functions_of_users_are_compiled_in_every_process(tmp_path):
    lambdas = solved(tmp_path, "lambda x: x / (1 + x**2)")
    assert solved(tmp_path, "lambda x: x / (1 + 2 * x**2)")[1] != lambdas[1]
    assert int(solved(tmp_path, "lambda x: x / (1 + x**2)")[0]) > 0


X = jnp.linspace(0.0, 1.0, 4)


def scaled(x: jax.Array, factor: float) -> jax.Array:
    return factor * x


scaled.__module__ = "dimfree.nowhere"  # only functions of the package have programs with names


def test_names_depend_on_structure_numbers_and_shapes_but_not_on_values():
    name = kept.name_of(scaled, ("scaled", 2.0), [X])
    assert name is not None
    assert name == kept.name_of(scaled, ("scaled", 2.0), [X + 1])
    others = [
        kept.name_of(scaled, ("scaled", 3.0), [X]),
        kept.name_of(scaled, ("other", 2.0), [X]),
        kept.name_of(scaled, ("scaled", 2.0), [X[:2]]),
        kept.name_of(scaled, ("scaled", 2.0), [X.astype(jnp.float32)]),
    ]
    assert len({name, *others}) == 5


def test_what_has_no_name_of_its_own_is_not_kept():
    assert kept.name_of(solved, ("scaled", 2.0), [X]) is None  # not of the package
    assert kept.name_of(scaled, lambda x: x, [X]) is None
    assert kept.name_of(scaled, solved, [X]) is None
    assert kept.name_of(scaled, jnp.tanh, [X]) is not None  # of a library whose version is part of the name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", [tmp_path])
    return tmp_path


def test_a_kept_program_gives_structures_with_what_is_no_array(folder):
    def pair(x: jax.Array, word: str) -> dict[str, object]:
        return {"x": 2 * x, "word": word, "none": None}

    pair.__module__, pair.__qualname__ = "dimfree.nowhere", "pair"
    for _ in range(2):  # compiled, then loaded
        found = compiled.program(pair)(X, "word")
        np.testing.assert_array_equal(found["x"], 2 * np.asarray(X))
        assert (found["word"], found["none"]) == ("word", None)
    assert len(list(folder.glob("*.program"))) == 1


def test_programs_are_kept_where_the_system_does_not_say_which_cores_are_free(folder, monkeypatch):
    """As on a Mac."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    kept._surroundings.cache_clear()
    np.testing.assert_array_equal(compiled.program(scaled)(X, 2.0), 2 * np.asarray(X))
    assert len(list(folder.glob("*.program"))) == 1


def test_the_oldest_go_when_there_are_too_many(folder, monkeypatch):
    monkeypatch.setattr(kept, "_LARGEST", 2500.0)
    for age, name in enumerate(("new", "middle", "old")):
        (folder / name).write_bytes(bytes(1000))
        os.utime(folder / name, (1e9 - age, 1e9 - age))
    kept._make_room(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["middle", "new"]
