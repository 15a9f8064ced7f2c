"""The table [slurm]: numbers and names that describe a job. Options that decide what a job runs count as code."""

import re
from collections.abc import Mapping
from typing import Any

from dimfree.errors import CodeError, ProblemError, suggest

_COUNT, _NAME = "a whole number, at least 1", "a name without spaces"
_PLAIN = {
    "jobs": (_COUNT, r"[1-9]\d*", 8),
    "cores": (_COUNT, r"[1-9]\d*", 8),
    "processes": (_COUNT, r"[1-9]\d*", 4),
    "job_cpu": (_COUNT, r"[1-9]\d*", 8),
    "death_timeout": ("a number of seconds, at least 1", r"[1-9]\d*", 60),
    "memory": ("a size", r"\d+(\.\d+)? ?[kKMGT]?i?B?", "16 GB"),
    "job_mem": ("a size", r"\d+[KMGT]?B?", "16G"),
    "walltime": ("hours, minutes and seconds", r"\d[\d:-]*", "02:00:00"),
    "queue": (_NAME, r"\w[\w.,:+@-]*", "short"),
    "account": (_NAME, r"\w[\w.,:+@-]*", "physics"),
    "job_name": (_NAME, r"\w[\w.,:+@-]*", "sweep"),
    "interface": (_NAME, r"\w[\w.:-]*", "ib0"),
}  # option: what is expected, its pattern, an example; spaces and line ends would change a job's script
_NUMBERS = ("jobs", "cores", "processes", "job_cpu", "death_timeout")
_CODE = (
    *("python", "shebang", "job_script_prologue", "job_extra_directives", "job_directives_skip", "worker_command"),
    *("worker_extra_args", "scheduler_options", "local_directory", "log_directory", "shared_temp_directory"),
)
_NEEDED = ("interface", "cores", "memory")
NO_DASHBOARD = {
    "dashboard": False,
    "dashboard_address": "127.0.0.1:0",
}  # Dask's own pages are served on this machine only


def check_slurm(given: Mapping[str, Any], allow_code: bool) -> None:
    """Refuse an option that is unknown, has a wrong value, or runs code that is not allowed."""
    for name, value in given.items():
        if name not in _PLAIN and name not in _CODE:
            raise ProblemError(f"[slurm] has no option {name!r}; {suggest(name, (*_PLAIN, *_CODE))}")
        if name in _CODE and not allow_code:
            raise CodeError(
                f"[slurm] {name} decides what runs on the cluster, which a sweep file may do only where you allow it; "
                "if you trust it, add allow_code=True."
            )
        if name in _PLAIN and not _fits(name, value):
            expected, _, example = _PLAIN[name]
            raise ProblemError(f"[slurm] got {name} = {value!r}; give {expected}, as in {name} = {example!r}.")


def slurm_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The options of dask-jobqueue, and the number of jobs; the interface by which nodes reach the scheduler must be given."""
    check_slurm(given, allow_code=True)
    options = {"n_workers": 0, **given}
    jobs = options.pop("jobs", 1)
    for name in _NEEDED:
        if name not in options:
            raise ProblemError(
                f"[slurm] needs a value for {name!r}, for example {name} = {_PLAIN[name][2]!r}; it is handed to dask-jobqueue."
            )
    scheduler = {**NO_DASHBOARD, **options.pop("scheduler_options", {})}
    return {**options, "scheduler_options": scheduler}, jobs


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the form that its option expects."""
    kind = int if name in _NUMBERS else str
    return isinstance(value, kind) and not isinstance(value, bool) and bool(re.fullmatch(_PLAIN[name][1], str(value)))
