"""The written schema of results: what their attributes mean. Observables are declared by settings and descriptions."""

ATTRIBUTES: dict[str, str] = {
    "description": "which description gave this account",
    "title": "its name in tables and legends: its label, or its name",
    "real": "1 for an experiment, 0 for a theory",
    "scatters": "1 where replicas scatter as runs of SGD do, 0 where they are estimates of one number",
    "accuracy": "the relative deviation from real SGD that the description itself allows for; 0 if it is exact",
    "leaves_open": "what that accuracy depends on most, in words, such as 'at width 4'; empty if it is exact",
    "settings": "the description's own fields, as JSON",
    "problem": "the problem as TOML",
    "digest": "content hash of the problem, with the content of every file it names",
    "identity": "content hash of problem, description, its settings and the version: what identifies the numbers",
    "seed": "seed of the run",
    "cpu_seconds": "CPU time of the run, compilation included",
    "wall_seconds": "wall time of the run, compilation included",
    "created_at": "UTC, ISO 8601",
    "dimfree_version": "version of dimfree",
    "jax_version": "version of jax",
    "python_version": "version of Python",
    "platform": "operating system, machine and jax backend",
    "cites": "keys into references.bib",
    "warnings": "reasons to distrust these numbers, one sentence per line; empty if there are none",
}

LARGEST_ARRAY = 20_000_000  # entries over all times and replicas; of a larger square matrix the diagonal is stored
