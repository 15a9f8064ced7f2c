"""Generated bad problem files, options, questions, files and sweeps: one sentence each, soon, and no nonsense accepted."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.problem import Problem
from dimfree.registry import settings as all_settings
from stages import SEED

runner = CliRunner()
_PROGRAMS = 20  # compiled at most for one answer: what takes long is compilation, whatever the machine
COMPILED: list[str] = []


@jax.monitoring.register_event_duration_secs_listener
def _count(event: str, _: float, **more: object) -> None:
    if event.endswith("backend_compile_duration"):
        COMPILED.append(str(more.get("fun_name")))


NOT_NUMBERS = st.one_of(
    st.booleans(), st.text(max_size=8), st.just({}), st.just([[1.0], []]), st.just(float("nan")), st.just(float("inf"))
)
BAD_NUMBERS = st.one_of(
    st.just(0), st.just(-1), st.floats(max_value=-1e-300, allow_nan=False), st.just(-(10**30)), NOT_NUMBERS
)
WORDS = st.text(alphabet="abcxyz-_:. ", min_size=1, max_size=12)


def tables() -> dict[str, dict[str, object]]:
    """The defaults of every kind of data."""
    kinds = [kind for one in all_settings() for kind in one.kinds("data")]
    return {kind: Problem(data={"kind": kind}).model_dump(mode="json") for kind in kinds}


def number_keys(kind: str) -> list[tuple[str, str]]:
    """Keys that must be positive numbers: all that are so by default."""
    found = []
    for section, table in TABLES[kind].items():
        if isinstance(table, dict):
            found += [
                (section, key)
                for key, value in table.items()
                if type(value) in (int, float) and (section, key) not in FREE
            ]
    return found


FREE = {  # where zero, or a negative number, makes sense
    ("run", "seed"),
    ("data", "seed"),
    ("data", "noise"),
    ("data", "second_layer"),
    ("data", "contrast"),
    ("data", "threshold"),
    ("network", "bias_start"),
    ("network", "second_layer_start"),
    ("training", "weight_decay"),
    ("training", "second_layer_decay"),
    ("training", "second_layer_rate"),
    ("training", "temperature"),
    ("training", "persistence"),
    ("start", "overlap"),
    ("start", "scale"),
    ("start", "variance"),
    ("data", "variance"),
    ("data", "scale"),
    ("data", "middle_fraction"),
}
TABLES = tables()
KINDS = st.sampled_from(sorted(TABLES))


@st.composite
def bad_files(draw: st.DrawFn) -> str:
    """A file of some kind with one thing wrong in it."""
    kind = draw(KINDS)
    table: dict[str, object] = {"data": {"kind": kind}}
    match draw(st.sampled_from(["number", "not a number", "key", "section", "kind", "text"])):
        case "number":
            section, key = draw(st.sampled_from(number_keys(kind)))
            table.setdefault(section, {})[key] = draw(BAD_NUMBERS)
        case "not a number":
            section, key = draw(st.sampled_from([*number_keys(kind), *FREE & {*numbers_of(kind)}]))
            table.setdefault(section, {})[key] = draw(NOT_NUMBERS)
        case "key":
            section = draw(st.sampled_from([name for name, value in TABLES[kind].items() if isinstance(value, dict)]))
            table.setdefault(section, {})[draw(WORDS) + "q"] = draw(st.integers())
        case "section":
            table[draw(WORDS) + "q"] = {}
        case "kind":
            table[draw(st.sampled_from(["data", "training", "start"]))] = {"kind": draw(WORDS) + "q"}
        case _:
            return tomli_w.dumps(table) + draw(
                st.sampled_from(["[", "x =", "= 3", "[data]\nkind='teacher'\n", "\x00", "é = 'ü"])
            )
    return tomli_w.dumps(table)


def numbers_of(kind: str) -> list[tuple[str, str]]:
    return [
        (section, key)
        for section, table in TABLES[kind].items()
        if isinstance(table, dict)
        for key, value in table.items()
        if type(value) in (int, float)
    ]


OPTIONS = st.one_of(
    st.tuples(st.just("--set"), WORDS),
    st.tuples(
        st.just("--set"), st.sampled_from(["run.until=", "dimension=x", "run.replicas=-3", "data.kind=", "=", "a=b=c"])
    ),
    st.tuples(st.just("--seed"), st.sampled_from(["-1", "x", "1.5", str(2**64)])),
    st.tuples(st.just("--only"), WORDS.map(lambda word: word + "q")),
    st.tuples(st.just("--replicas"), st.sampled_from(["0", "-2", "x", "chain=", "=3", "chain=x"])),
    st.tuples(st.just("--budget"), st.sampled_from(["0", "-3", "nan", "x"])),
    st.tuples(st.just("--nonsense"), st.just("1")),
)


def answered(arguments: list[str]) -> None:
    """A wrong usage in words, without a traceback."""
    before = len(COMPILED)
    result = runner.invoke(app, arguments)
    assert isinstance(result.exception, SystemExit), (arguments, result.exception)
    assert result.exit_code in (1, 2, 3), (arguments, result.output)
    assert "Traceback" not in result.output
    assert result.stderr.strip(), arguments
    if result.stderr.startswith("dimfree: "):
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert len(COMPILED) - before < _PROGRAMS, (arguments, COMPILED[before:])


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(bad_files())
def test_bad_files_are_answered(text):
    with TemporaryDirectory() as folder:
        file = Path(folder) / "problem.toml"
        file.write_text(text, encoding="utf-8")
        answered(["show", str(file)])


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(OPTIONS)
def test_bad_options_are_answered(option):
    with TemporaryDirectory() as folder:
        answered(["compare", *option, "--out", str(Path(folder) / "out")])


def test_every_kind_has_keys_to_get_wrong():
    for kind in TABLES:
        assert len(number_keys(kind)) >= 4, kind


CASES, TOGETHER = 600, 50
_MEMORY = 3_000_000_000  # bytes that a run may predict, and take
_HANGS = 600.0  # seconds without an answer, on whatever machine


@pytest.fixture(scope="module")
def good_results(tmp_path_factory):
    """A results file of which cases damage copies."""
    small = df.Problem(
        dimension=20, network=df.TwoLayer(width=2), data=df.Teacher(units=1), run=df.Run(until=1.0, points=4)
    )
    return df.compare(small, only=["gradient-flow"]).save(tmp_path_factory.mktemp("good") / "good.nc")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by /proc")
@pytest.mark.parametrize("first", range(0, CASES, TOGETHER))
def test_whatever_is_asked_is_answered(first, good_results, tmp_path):
    """No traceback, abort, hang or leftover, and no memory beyond what was predicted; DIMFREE_RANDOM_SEED repeats it."""
    begun: list[dict[str, object]] = []
    ended: list[dict[str, object]] = []
    for line in lines_of([os.environ[SEED], str(first), str(TOGETHER), str(good_results)], tmp_path):
        (begun if "number" in line else ended).append(line)
    assert len(begun) == len(ended) == TOGETHER, (
        f"the process ended, or did not answer within {_HANGS} s, at {begun[-1]}"
    )
    wrong = [(case, reason) for case, end in zip(begun, ended, strict=True) if (reason := complaint(end))]
    assert not wrong, "\n\n".join(f"{case}\n{reason}" for case, reason in wrong)


def complaint(end: dict[str, object]) -> str:
    """What is wrong with how a case ended; empty for nothing."""
    said = str(end["said"])
    if end["raised"] or end["traceback"]:
        return f"a traceback: {end['raised'] or said}"
    if end["code"] not in (0, 1, 2, 3) or (end["code"] and end["silent"]):
        return f"exit code {end['code']} and {said!r}"
    if end["code"] and said.startswith("dimfree: ") and any(line[:9] != "dimfree: " for line in said.splitlines()):
        return f"more than sentences: {said}"
    if "memory ran out" in said or int(str(end["taken"])) > _MEMORY:
        return f"{end['taken']} bytes were taken that nobody predicted: {said}"
    return f"left behind: {end['left']}" if end["left"] else ""


def lines_of(arguments: list[str], folder: Path) -> list[dict[str, object]]:
    """What a process with bounded memory says; it is ended when it says nothing for too long."""
    here = Path(__file__).parent
    found = {"PYTHONPATH": os.pathsep.join([str(here), str(Path(df.__file__).parent.parent)]), "MPLBACKEND": "Agg"}
    bounded = {"SLURM_MEM_PER_NODE": str(_MEMORY // 10**6), "MALLOC_ARENA_MAX": "2", "DIMFREE_CACHE": "off"}
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, str(here / "fuzz_child.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env=os.environ | found | bounded,
        )
    assert process.stdout is not None
    text = b""
    while select.select([process.stdout], [], [], _HANGS)[0] and (more := os.read(process.stdout.fileno(), 65536)):
        text += more
    process.kill()
    process.wait()
    process.stdout.close()
    return [json.loads(line) for line in text.decode().splitlines() if line.endswith("}")]
