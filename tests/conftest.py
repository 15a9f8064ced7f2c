"""Shared by all tests: shapes and types are checked at run time, hypothesis is kept short, laws are compared."""

import os
from importlib.metadata import version

# One LLVM module per program compiles about twice as fast as the default of 32, with the same code, and XLA's former code
# generator (which `compiled` takes for theories) in two thirds of the time. jaxlib 0.11 has only the new one, and a flag that
# it does not know ends the process.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_parallel_codegen_split_count=1 --xla_backend_optimization_level=1"
    + " --xla_cpu_use_fusion_emitters=false" * version("jaxlib").startswith("0.10."),
)
# Two processes share two cores: threads of NumPy's products would wait for each other longer than the products take.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# jax writes its cache in place: a process that reads what another is writing would warn, and warnings are errors here.
os.environ.setdefault("DIMFREE_CACHE", "off")

from jaxtyping import install_import_hook

import small_programs
from stages import QUICK, SEED, TYPES_CHECKED, drawn, mark_quick

if TYPES_CHECKED:
    install_import_hook("dimfree", "strict_types.check")

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import settings
from scipy import stats

from dimfree.programs import compiled
from dimfree.programs.remembered import Remembered

small_programs.compile_quickly()
jax.config.update("jax_enable_compilation_cache", False)  # otherwise jax names every program, though it keeps none
gc.set_threshold(700, 10, 100)  # instead of (700, 10, 10): what tests hold is large, and seldom garbage

settings.register_profile("short", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("short")

LARGEST_Z, SMALLEST_P = 4.5, 1e-4
_ENOUGH = 2e9  # bytes: what a process of the tests may keep of compiled programs from one file to the next
compiled.REMEMBERED = Remembered(10**9)  # instead of so many programs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", type=float, default=1.0, help="which share of the slow tests is drawn (default: all)")


def pytest_report_header() -> str:
    return f"random problems and the share of slow tests: {SEED}={os.environ[SEED]} repeats this run"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(pytest_report_header())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`pytest -m quick` does not import the other files."""
    if config.option.markexpr != "quick" or collection_path.is_dir():
        return None
    return str(collection_path.relative_to(config.rootpath)) not in QUICK or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_quick(items)
    items[:], left_out = drawn(items, config.getoption("--share"))
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True, scope="module")
def _bounded_memory():
    """Thousands of compiled programs are gigabytes, and jax keeps them all."""
    yield
    if sys.platform != "linux":
        return
    used = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if used > _ENOUGH:
        compiled.FORMS.clear()
        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


def _z_scores(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """How many standard errors the two means, and the two variances, are apart."""
    moments = []
    for sample in (one, other):
        centred = sample - sample.mean()
        variance = np.mean(centred**2)
        moments.append(
            (sample.mean(), variance, variance / sample.size, (np.mean(centred**4) - variance**2) / sample.size)
        )
    (mean_1, var_1, err_1, spread_1), (mean_2, var_2, err_2, spread_2) = moments
    return (mean_1 - mean_2) / np.sqrt(err_1 + err_2), (var_1 - var_2) / np.sqrt(spread_1 + spread_2)


@pytest.fixture(scope="session")
def assert_same_law() -> Callable[[dict[str, np.ndarray], dict[str, np.ndarray]], None]:
    """Compare named samples: means and variances by their own error bars, distributions by Kolmogorov and Smirnov."""

    def compare(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
        assert one.keys() == other.keys()
        for name in one:
            x, y = np.asarray(one[name]), np.asarray(other[name])
            assert min(x.size, y.size) >= 4000, "too few replicas to tell laws apart"
            if max(np.ptp(x), np.ptp(y)) < 1e-9:  # a constant
                np.testing.assert_allclose(x.mean(), y.mean(), rtol=0, atol=1e-9, err_msg=name)
                continue
            mean, variance = _z_scores(x, y)
            p = stats.ks_2samp(x, y, method="asymp").pvalue
            assert abs(mean) < LARGEST_Z, f"means of {name} differ: z = {mean:.1f}"
            assert abs(variance) < LARGEST_Z, f"variances of {name} differ: z = {variance:.1f}"
            assert p > SMALLEST_P, f"distributions of {name} differ: p = {p:.1e}"

    return compare
