"""The machine: how much memory and speed there is, what does not fit is refused before it starts, what is installed."""

import os
import platform
import time
from functools import lru_cache
from importlib.metadata import version

import numpy as np

from dimfree._version import __version__
from dimfree.errors import RefusalError

SHARE = 0.8  # of the machine's memory that one run may take
_REFERENCE_SECONDS = 0.020  # what `_probe` takes on the machines in benchmarks/, whose seconds `Cost` counts
_PACKAGES = (
    "jax",
    "jaxlib",
    "diffrax",
    "equinox",
    "numpy",
    "scipy",
    "xarray",
    "h5netcdf",
    "h5py",
    "pydantic",
    "matplotlib",
)


def machine_memory() -> float:
    """Bytes of memory of this machine."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def refuse_above_memory(needed: float, what: str, way_out: str) -> None:
    """Refuse work whose arrays would not fit, with the numbers and what to change."""
    available = machine_memory()
    if needed > SHARE * available:
        raise RefusalError(
            f"{what} needs {needed / 1e9:.3g} GB of memory where the machine has {available / 1e9:.3g}; {way_out}."
        )


@lru_cache(maxsize=1)
def machine_factor() -> float:
    """How many times slower than the reference machines this one is."""
    return max(0.3, min(_probe() for _ in range(3)) / _REFERENCE_SECONDS)


def _probe() -> float:
    """CPU seconds of one thread for a fixed piece of work: how fast the machine is, not how busy."""
    started = time.thread_time()
    np.random.default_rng(0).standard_normal(2_000_000, dtype=np.float32)
    return time.thread_time() - started


def duration(seconds: float) -> str:
    """Seconds in the unit a person would use."""
    for size, unit in ((31_557_600, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"


def report() -> str:
    """Versions, precision and hardware, one line each."""
    import jax
    import jax.numpy as jnp

    lines = {
        "dimfree": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "jax backend": f"{jax.default_backend()}, {jax.device_count()} device(s)",
        "precision": "float64"
        if jnp.zeros(()).dtype == jnp.float64
        else "float32: dimfree needs float64, unset JAX_ENABLE_X64",
        "cores": str(os.cpu_count()),
        "memory": f"{machine_memory() / 1e9:.1f} GB",
        "compilation cache": os.environ.get("JAX_COMPILATION_CACHE_DIR", "off"),
        **{name: version(name) for name in _PACKAGES},
    }
    return "\n".join(f"{name:<20}{value}" for name, value in lines.items())
