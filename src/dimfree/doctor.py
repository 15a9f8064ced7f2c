"""What this installation is, for bug reports."""

import os
import platform
from importlib.metadata import version

import jax
import jax.numpy as jnp

from dimfree._version import __version__
from dimfree.machine import machine_memory

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


def report() -> str:
    """Versions, precision and hardware, one line each."""
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
