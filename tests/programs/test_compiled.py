"""Compiled programs: kept on disk unless the user says otherwise, without touching what the user set, with the same numbers."""

import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.programs import compiled
from dimfree.programs.compiled import program, quick_program
from dimfree.programs.folder import programs_folder

PRINT_FOLDER = "import jax, dimfree.description; print(jax.config.jax_compilation_cache_dir)"
CHECKED = """
import equinox as eqx, jax.numpy as jnp
from dimfree.programs.compiled import quick_program
checked = lambda x: eqx.error_if(x, x < 0, 'negative')
print(bool(jnp.isnan(quick_program(checked)(jnp.asarray(-1.0)))))
try:
    eqx.filter_jit(checked)(jnp.asarray(-1.0))
except RuntimeError:
    print('raised')
"""


def told(code: str, **variables: str) -> list[str]:
    """What a fresh process prints."""
    ours = ("DIMFREE_CACHE", "XDG_CACHE_HOME", "JAX_COMPILATION_CACHE_DIR", "EQX_ON_ERROR")
    environment = {name: value for name, value in os.environ.items() if name not in ours} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_programs_are_kept_in_the_cache_folder_of_the_user(tmp_path):
    assert told(PRINT_FOLDER, XDG_CACHE_HOME=str(tmp_path)) == [str(tmp_path / "dimfree" / "xla")]


def test_programs_are_kept_although_something_was_compiled_before(tmp_path):
    code = """
import jax
jax.config.update("jax_enable_x64", True)
jax.jit(lambda x: x + 1)(1.0)
import dimfree.description
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.jit(lambda x: x + 2)(1.0)
"""
    told(code, XDG_CACHE_HOME=str(tmp_path))
    assert any((tmp_path / "dimfree" / "xla").iterdir())


@pytest.mark.parametrize(
    ("variables", "folder"),
    [({"DIMFREE_CACHE": "off"}, "None"), ({"JAX_COMPILATION_CACHE_DIR": "/tmp/of-the-user"}, "/tmp/of-the-user")],
)
def test_the_user_decides_where_programs_are_kept(variables, folder, tmp_path):
    assert told(PRINT_FOLDER, XDG_CACHE_HOME=str(tmp_path), **variables) == [folder]


def test_a_cache_folder_that_cannot_be_made_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.delenv("DIMFREE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert programs_folder() is None


def test_errors_within_programs_are_nan_and_those_of_the_user_are_raised():
    assert told(CHECKED, DIMFREE_CACHE="off") == ["True", "raised"]


@pytest.mark.parametrize("made", [program, quick_program])
def test_a_program_gives_the_numbers_of_its_function_and_is_part_of_larger_ones(made):
    def function(x: jax.Array, power: int) -> jax.Array:
        return jnp.sin(x) ** power

    built, x = made(function), jnp.linspace(0.0, 2.0, 7)
    np.testing.assert_allclose(built(x, 3), np.sin(np.asarray(x)) ** 3, rtol=1e-14)
    np.testing.assert_allclose(jax.vmap(lambda x: built(x, 3))(x), np.sin(np.asarray(x)) ** 3, rtol=1e-14)
    np.testing.assert_allclose(jax.grad(lambda x: built(x, 1))(x[2]), np.cos(np.asarray(x[2])), rtol=1e-14)
    np.testing.assert_allclose(eqx.filter_jit(built)(x, 2), np.sin(np.asarray(x)) ** 2, rtol=1e-14)


def test_only_options_that_a_version_of_xla_does_not_know_are_left_out(monkeypatch):
    given, usual = [], jax.stages.Lowered.compile

    def watched(lowered, options=None):
        given.append(options)
        return usual(lowered, options)

    monkeypatch.setattr(jax.stages.Lowered, "compile", watched)
    lowered = jax.jit(lambda x: x + 1).lower(1.0)
    made = compiled._compiled(lowered, {"xla_of_another_version": "1", "xla_backend_optimization_level": "0"})
    assert float(made(1.0)) == 2.0
    assert given[-1] == {"xla_backend_optimization_level": "0"}
