"""What this machine has: cores, memory, installed versions; and refusals of work that does not fit into its memory."""

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from math import inf
from pathlib import Path

from dimfree._version import __version__
from dimfree.errors import OutputError, RefusalError
from dimfree.system import address_space, memory_of_the_machine

SHARE = 0.8  # share of the machine's memory that one run may take
BASELINE = 4.5e8  # bytes of a process that has imported jax and compiled its programs
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
    """Bytes of memory that this process may use: those of the machine, or what a container, SLURM or the shell allow it."""
    return min(_limits())


def _limits() -> Iterator[float]:
    """The memory of the machine, and every limit set on it; infinity where the system does not say."""
    yield from (limit for limit in (memory_of_the_machine(), address_space()) if limit is not None)
    yield from _control_groups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    megabytes = {name: os.environ.get(f"SLURM_{name}", "") for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE")}
    sizes = {name: float(text) for name, text in megabytes.items() if text.isdecimal() and int(text)}
    if "MEM_PER_NODE" in sizes:
        yield 1e6 * sizes["MEM_PER_NODE"]
    elif "MEM_PER_CPU" in sizes:
        yield 1e6 * sizes["MEM_PER_CPU"] * sizes.get("CPUS_ON_NODE", 1.0)
    yield inf


def _control_groups(groups: Path, mounted: Path) -> Iterator[float]:
    """The memory limits of this process's control groups and of those that contain them (cgroup versions 1 and 2)."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = mounted / "memory" if controllers else mounted
        inside = root / group.strip("/")
        for folder in (inside, *inside.parents):
            if not folder.is_relative_to(root):
                break
            for name in ("memory.max", "memory.limit_in_bytes"):
                with suppress(OSError, ValueError):  # not there, or "max"
                    yield float(int((folder / name).read_text()))


def refuse_above_memory(needed: float, what: str, way_out: str) -> None:
    """Refuse work whose arrays would not fit, with the numbers and what to change."""
    available = machine_memory()
    if needed > SHARE * available:
        raise RefusalError(
            f"{what} needs {needed / 1e9:.3g} GB of memory where the machine has {available / 1e9:.3g}; {way_out}."
        )


def check_platform() -> None:
    """Refuse a platform that this jax does not support, before jax fails with an error of its own."""
    wish = os.environ.get("JAX_PLATFORMS", "")
    if wish in ("", "cpu"):
        return
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError):
        raise OutputError(f"jax cannot start with JAX_PLATFORMS = {wish!r} here; unset it, or set it to cpu.") from None


def duration(seconds: float) -> str:
    """Seconds as text, in a unit that fits."""
    for size, unit in ((31_557_600, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"


def report(programs: str) -> str:
    """Versions, precision and hardware, one line each, and where compiled programs are kept."""
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
        "compilation cache": programs,
        **{name: version(name) for name in _PACKAGES},
    }
    return "\n".join(f"{name:<20}{value}" for name, value in lines.items())
