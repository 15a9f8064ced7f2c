"""Command lines with something wrong in them, drawn over all settings, questions, files and sweeps.

A case is plain data: files by name, in words that `fuzz_child` understands, and the arguments of `dimfree`.
"""

import random
from typing import Any, NamedTuple

from dimfree.problem import Problem
from dimfree.questions.question import questions
from dimfree.registry import settings

Files = dict[str, list[Any]]  # name -> what it is made of, and how it is damaged


class Case(NamedTuple):
    """One call of the program."""

    files: Files
    arguments: list[str]


HUGE = ["100000", "100000000", "10000000000", "1000000000000", "9223372036854775807", "1e19", "1e300"]
WRONG = [
    *(
        "0",
        "-1",
        "-1e-300",
        "1e-300",
        "nan",
        "inf",
        "-inf",
        "true",
        "''",
        "'²'",
        "'x'",
        "[]",
        "{}",
        "[1]",
        "[[1.0], []]",
    ),
    *("{kind = 'x'}", "{kind = [1]}", "1e999", "9" * 400, "'module:function'", "'/dev/zero'", "0.5", "3", "2.5"),
]
SIZES = ["run.replicas", "dimension", "network.width", "training.batch", "data.units", "data.samples", "data.held_out"]
KINDS = {  # of sections that may have others than the defaults
    "data.covariance": ["isotropic", "levels", "power", "spectrum", "matrix", "features"],
    "start": ["gaussian", "sphere", "overlaps", "weights", "paired"],
    "training.schedule": ["power", "exponential", "steps", "linear", "cosine", "hold-power"],
}
EXTRA = {
    "data.covariance": ["exponent=1.0", "values=[1.0, 2.0]", "shares=[0.5, 0.5]", "file='a.npy'", "normalise=false"],
    "start": ["file='a.npz'", "scale=1.0", "Q=[[1.0]]", "M=[[0.0]]", "overlap=0.1"],
    "training.schedule": ["until=1.0", "hold=1.0", "times=[1.0]", "factors=[1.0]", "exponent=0.5"],
}
TABLES = {
    kind: Problem(data={"kind": kind}).model_dump(mode="json") for one in settings() for kind in one.kinds("data")
}
DAMAGES = ["truncated", "flipped", "empty", "text", "fifo", "folder", "missing", "huge", "complex", "foreign", "shape"]


def draw(chance: random.Random) -> Case:
    """One case."""
    return chance.choices([_setting, _run, _question, _file, _sweep, _option], [30, 10, 20, 25, 10, 5])[0](chance)


def keys(kind: str) -> list[str]:
    """All keys of a problem, dotted."""
    nested = [f"{name}.{key}" for name, table in TABLES[kind].items() if isinstance(table, dict) for key in table]
    return ["dimension", *nested]


def _set(*changes: str) -> list[str]:
    return [part for change in changes for part in ("--set", change)]


def _changes(chance: random.Random, kind: str) -> list[str]:
    """A few keys with values that are wrong, or too large, or right."""
    found = [f"data.kind={kind}"]
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if chance.random() < 0.2:
            section = chance.choice(list(KINDS))
            found.append(f"{section}.kind={chance.choice(KINDS[section])}")
            found += [f"{section}.{extra}" for extra in chance.sample(EXTRA[section], 2)]
        else:
            found.append(f"{chance.choice(keys(kind))}={chance.choice([*HUGE, *WRONG])}")
    return found


def _setting(chance: random.Random) -> Case:
    """What a problem is, or what could be compared in no time."""
    command = chance.choice([["show"], ["show"], ["show", "--json"], ["compare", "--budget", "1e-9"]])
    files = _pieces(chance)
    return Case(files, [*command, *_set(*_changes(chance, chance.choice(list(TABLES))))])


def _pieces(chance: random.Random) -> Files:
    return {"a.npy": ["matrix", chance.choice(["", *DAMAGES])], "a.npz": ["weights", chance.choice(["", *DAMAGES])]}


def _run(chance: random.Random) -> Case:
    """What would need more memory than there is, by its size."""
    kind = chance.choice(list(TABLES))
    sizes = [key for key in SIZES if key in keys(kind)]
    changes = [f"data.kind={kind}", "run.points=2", f"{chance.choice(sizes)}=1000000000000"]
    return Case({}, [chance.choice(["simulate"] * 5 + ["solve"]), *_set(*changes)])


def _question(chance: random.Random) -> Case:
    """A question whose options are wrong, or that would take longer than it may."""
    question = chance.choice(questions())
    arguments = [question.name]
    for name, option in question.options.items():
        flag = option.flag or name.replace("_", "-")
        if name == "budget":
            arguments += ["--budget", chance.choice(["1e-9", "1e-9", "1e-9", "nan", "-1", "x"])]
        elif chance.random() < 0.4:
            arguments += [f"--{flag}", chance.choice([*HUGE, "0", "-1", "nan", "inf", "x", "²", "", "1e-300", "a:b"])]
    if "--budget" not in arguments or chance.random() < 0.4:
        kind = chance.choice([*(question.kinds or TABLES), *TABLES])
        arguments += _set(f"data.kind={kind}", f"{chance.choice(keys(kind))}={chance.choice([*HUGE, *WRONG])}")
    return Case({}, arguments)


def _file(chance: random.Random) -> Case:
    """A problem that names a damaged file, or such a file itself."""
    damage = chance.choice(DAMAGES)
    covariance = ["dimension=8", "data.covariance.file='a.npy'"]
    named = {
        "a.npz": {
            "weights": ["dimension=8", "start.kind=weights", "start.file='a.npz'"],
            "points": ["data.kind=given-points", "dimension=8", "data.file='a.npz'"],
            "covariances": ["data.kind=covariates", "dimension=8", "data.file='a.npz'"],
        },
        "a.npy": {
            "matrix": [*covariance, "data.covariance.kind=matrix"],
            "spectrum": [*covariance, "data.covariance.kind=spectrum"],
            "rows": [*covariance, "data.covariance.kind=features"],
            "table": ["data.kind=table", "dimension=8", "data.features='a.npy'", "data.labels='b.npy'"],
        },
        "a.csv": {"csv": ["data.kind=table", "dimension=3", "data.features='a.csv'", "data.labels='a.csv'"]},
    }
    which = chance.choice(
        ["a.npz", "a.npz", "a.npy", "a.npy", "a.csv", "results", "problem", "sweep", "reference", "store"]
    )
    if which in named:
        kind = chance.choice(list(named[which]))
        return Case({which: [kind, damage], "b.npy": ["labels", ""]}, ["show", *_set(*named[which][kind])])
    asked = {
        "results": ["plot", "a.nc", "--out", chance.choice(["x.png", "x.xyz", "x", "no/where/x.png"])],
        "problem": [*chance.choice([["show"], ["regime"], ["compare", "--budget", "1e-9"]]), "a.toml"],
        "sweep": ["sweep", "a.toml"],
        "reference": ["verify", "--data", "folder"],
        "store": ["sweep", "store.zarr", chance.choice(["--status", "--export=x.nc"])],
    }
    names = {
        "results": "a.nc",
        "problem": "a.toml",
        "sweep": "a.toml",
        "reference": "folder/a.json",
        "store": "store.zarr",
    }
    return Case({names[which]: [which, damage]}, asked[which])


def _sweep(chance: random.Random) -> Case:
    """A grid that makes no sense, is too large, or whose points are all refused."""
    values = ["[]", "[1, 'x']", "[nan]", "3", "'x'", "{from = 1, to = 1e9, points = 1000000000}", "[1000000000000]"]
    values += ["{from = -1, to = 1, points = 3, spacing = 'log'}", "['module:function']", "[[1], [2]]", "[{}]"]
    names = [
        "dimension",
        "network.width",
        "run.replicas",
        "data.kind",
        "time",
        "replica",
        "a/b",
        "",
        "risk",
        "start.kind",
    ]
    names += ["description", "failure", "²", "training.learning_rate", "nonsense"]
    over = "\n".join(f"'{chance.choice(names)}' = {chance.choice(values)}" for _ in range(chance.choice([1, 2])))
    head = chance.choice(
        ["", "", "replicas = -1", "steps = 'x'", "descriptions = 3", "descriptions = ['nobody']", "x = 1"]
    )
    tail = chance.choice(
        ["", "", "[figure]\nkind = 'x'", "[slurm]\nprologue = 'x'", "[problem]\ndimension = 1000000000000"]
    )
    text = f"{head}\n[over]\n{over}\n{tail}\n"
    return Case({"a.toml": ["written", text]}, ["sweep", "a.toml", "--store", "s.zarr"])


def _option(chance: random.Random) -> Case:
    """An option that makes no sense."""
    wrong = chance.choice([*WRONG, *HUGE, "sgd=²", "sgd=", "=3", "a=b=c", "run.until=", "=", "sgd=10000000000000"])
    option = chance.choice(["--replicas", "--seed", "--only", "--budget", "--set", "--out", "--with", "--nonsense"])
    command = chance.choice(
        [["compare", "--budget", "1e-9"], ["show"], ["plot", "nowhere.nc"], ["new", "no/where/a.toml"]]
    )
    return Case({}, [*command, option, wrong])
