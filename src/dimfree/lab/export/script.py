"""A problem as one script: every description that can be written, real SGD, and why the others are not there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jax
import numpy as np

from dimfree.description import AnyDescription, Block, Drawn, Evolution, Flow
from dimfree.errors import RefusalError
from dimfree.lab.claims import claim_of
from dimfree.lab.export.flows import Split, write_chain, write_flow
from dimfree.lab.export.laws import Laws
from dimfree.lab.export.module import Written, runtime
from dimfree.lab.export.start import SharedStart
from dimfree.lab.export.values import Array, Unsupported
from dimfree.problem import Problem
from dimfree.registry import candidates, setting_of
from dimfree.setting import RISK, Variable, model_of, why_not

LARGEST = 300_000  # characters of one module
MOST_NORMALS = (
    1000  # of a block of steps: what draws more takes long to write, and shows more overlaps than can be read
)
SLOW = 100.0  # microseconds of a right-hand side, from which a description waits for the sliders to rest
RTOL, ATOL = 1e-7, 1e-10  # that a curve on a screen asks for

_NO_FLOW = "it is not a differential equation that a page can integrate"

Plain = dict[str, Any]


@dataclass(frozen=True)
class Script:
    """The text, which defines makeTheory and makeChain, and what it can do."""

    text: str
    live: tuple[str, ...]  # paths of numbers that may change
    fixed: dict[str, str]  # those that may not, and why
    descriptions: tuple[str, ...]
    refused: dict[str, str]  # why the others are not there
    chain: str | None  # the name of the account of real SGD
    laws: Laws
    microseconds: dict[str, float]  # of a right-hand side, or of a block, roughly


class _Exported:
    """One description on the way: its dynamics, its model, and its module."""

    def __init__(self, one: AnyDescription, problem: Problem) -> None:
        self.one, self.dynamics, self.split = one, *_twin(one, problem)
        self.module: int | None = None
        self.written: Written
        self.start: list[str]
        self.seen: list[str]

    def leaves(self, problem: Problem) -> list[Array] | None:
        """The arrays of its model for another problem; None where that has another structure."""
        dynamics, split = _twin(self.one, problem)
        same = type(dynamics) is type(self.dynamics) and self.split.same(split)
        return [np.asarray(leaf) for leaf in split.leaves] if same else None


def _twin(one: AnyDescription, problem: Problem) -> tuple[Any, Split]:
    if not isinstance(one, Evolution):
        raise Unsupported(_NO_FLOW)
    dynamics, model = one.twin(model_of(problem))
    return dynamics, Split(model)


def script_of(problem: Problem) -> Script:
    """Write a problem as JavaScript.

    **Arguments:**

    - `problem`: Any problem. What of it cannot be written is named in `refused`.

    **Returns:**

    The script and what is known of it. Its text defines two functions without arguments, `makeTheory` and `makeChain`; the
    latter returns `null` where real SGD cannot be written.
    """
    refused: dict[str, str] = {}
    found: list[_Exported] = []
    start = _start(problem)
    modules: list[str] = []
    chain: _Exported | None = None
    for one in candidates(problem):
        if why := why_not(one, problem):
            refused[one.title] = why
            continue
        try:
            exported = _Exported(one, problem)
            if isinstance(exported.dynamics, Flow):
                _write_theory(exported, start, found, modules)
                found.append(exported)
            elif isinstance(exported.dynamics, Drawn) and chain is None:
                chain = _written_chain(exported, start)
            elif one.real:
                refused[one.title] = _not_here(
                    "a page runs real SGD in overlap space, on isotropic inputs, and without momentum"
                )
            else:
                refused[one.title] = _not_here(_NO_FLOW)
        except Unsupported as why_unsupported:
            refused[one.title] = _not_here(str(why_unsupported))
    every = [*found, *([chain] if chain is not None else [])]
    laws = Laws(problem, {one.one.title: one.leaves for one in every})
    shared = {
        "numbers": laws.numbers,
        "start": start.default,
        "refused": [{"name": name, "sentence": why} for name, why in refused.items()],
    }
    theory = shared | {"descriptions": [_about(one, problem, laws) for one in found]}
    text = "\n".join(
        [
            *(_source(name) for name in ("integrator.js", "page_side.js")),
            runtime(),
            f"function makeTheory(){{return theoryOf({_json(theory)},[{','.join(modules)}])}}",
            f"function makeChain(){{return {_chain_text(chain, problem, laws, shared)}}}",
        ]
    )
    return Script(
        text,
        laws.live,
        laws.fixed,
        tuple(one.one.title for one in found),
        refused,
        chain.one.title if chain is not None else None,
        laws,
        {one.one.title: one.written.microseconds["block" if one is chain else "rhs"] for one in every},
    )


def unwritten(problem: Problem, why: str) -> Script:
    """The script of a problem of which nothing can be written: it has only the reasons."""
    refused = {one.title: why_not(one, problem) or _not_here(why.removesuffix(".")) for one in candidates(problem)}
    about = {"descriptions": [], "refused": [{"name": name, "sentence": said} for name, said in refused.items()]}
    text = f"function makeTheory(){{return {_json(about)}}}function makeChain(){{return null}}"
    return Script(text, (), {}, (), refused, None, Laws(problem, {}), {})


def chain_script(problem: Problem) -> str:
    """Write real SGD alone: JavaScript that defines makeChain; a `RefusalError` says why it cannot be written."""
    exported = next(_drawn(problem), None)
    if exported is None:
        raise RefusalError("one step cannot be shown: SGD of this problem is not followed in few overlaps.")
    start = _start(problem)
    try:
        chain = _written_chain(exported, start)
    except Unsupported as why:
        raise RefusalError(f"one step cannot be shown, because {why}.") from None
    laws = Laws(problem, {chain.one.title: chain.leaves})
    text = _chain_text(chain, problem, laws, {"numbers": laws.numbers, "start": start.default})
    return "\n".join([_source("page_side.js"), runtime(), f"function makeChain(){{return {text}}}"])


def has_chain(problem: Problem) -> bool:
    """Whether `chain_script` can be asked for a problem."""
    return next(_drawn(problem), None) is not None


def _drawn(problem: Problem) -> Iterator[_Exported]:
    """The experiments of a problem whose steps are functions of few random numbers."""
    for one in candidates(problem):
        if one.real and isinstance(one, Evolution) and not why_not(one, problem):
            exported = _Exported(one, problem)
            if isinstance(exported.dynamics, Drawn):
                block = exported.dynamics.block(exported.split.model(exported.split.leaves))
                if isinstance(block, Block) and block.normals <= MOST_NORMALS:
                    yield exported


def _not_here(why: str) -> str:
    return f"it needs the server, because {why}; open the problem with dimfree lab."


def _start(problem: Problem) -> SharedStart:
    """The start of the seed, as `compare` draws it."""
    key = jax.random.fold_in(jax.random.key(problem.run.seed), 0)
    return SharedStart(setting_of(problem).start_of(problem, key, frozenset({"pairs"})))


def _write_theory(exported: _Exported, start: SharedStart, others: list[_Exported], modules: list[str]) -> None:
    """Write equations, unless those of another description differ in numbers alone."""
    dynamics, split = exported.dynamics, exported.split
    for other in others:
        if type(other.dynamics) is type(dynamics) and other.split.same(split):
            exported.module, exported.written, exported.start, exported.seen = (
                other.module,
                other.written,
                other.start,
                other.seen,
            )
            return
    exported.written, exported.start, exported.seen = write_flow(dynamics, split, start)
    _refuse_large(exported.written)
    exported.module = len(modules)
    modules.append(exported.written.text)


def _written_chain(exported: _Exported, start: SharedStart) -> _Exported:
    dynamics, split = exported.dynamics, exported.split
    block = dynamics.block(split.model(split.leaves))
    if not isinstance(block, Block):
        raise Unsupported(block)
    exported.written, exported.start, exported.seen = write_chain(dynamics, split, start, block)
    _refuse_large(exported.written)
    return exported


def _refuse_large(written: Written) -> None:
    if len(written.text) > LARGEST:
        size = len(written.text) / 1000
        raise Unsupported(
            f"it takes {size:.0f} kB of JavaScript, and a page takes at most {LARGEST // 1000} kB of each"
        )


def _about(exported: _Exported, problem: Problem, laws: Laws) -> Plain:
    """What the page has to know of a theory."""
    one = exported.one
    rtol, atol = exported.dynamics.tolerances(exported.split.model(exported.split.leaves))
    return {
        "name": one.title,
        "label": one.title,
        "module": exported.module,
        "resting": exported.written.microseconds["rhs"] > SLOW,
        "claim": claim_of(one, problem, {path: laws.numbers[path] for path in laws.live}),
        "scatters": one.scatters,
        "rtol": max(RTOL, rtol),
        "atol": max(ATOL, atol),
        "start": exported.start,
        "laws": [law.plain() for law in laws.laws[one.title]],
        "parts": _parts(exported, problem),
    }


def _parts(exported: _Exported, problem: Problem) -> list[Plain]:
    """The observables, where each lies in the output, and what it is."""
    known = {**setting_of(problem).variables, **exported.one.variables}
    parts, first = [], 0
    for name, shape in zip(exported.seen, exported.written.outputs["observe"], strict=True):
        variable = known.get(name, Variable(("time", "replica"), RISK.units, name))
        count = int(np.prod(shape[2:], dtype=int))
        about = {"dims": variable.dims[2:], "shape": shape[2:], "meaning": variable.meaning, "units": variable.units}
        parts.append({"name": name, "first": first, "count": count} | about)
        first += count
    return parts


def _chain_text(chain: _Exported | None, problem: Problem, laws: Laws, shared: Plain) -> str:
    if chain is None:
        return "null"
    block = chain.dynamics.block(chain.split.model(chain.split.leaves))
    about = shared | {
        "name": chain.one.title,
        "label": chain.one.title,
        "scatters": chain.one.scatters,
        "steps": block.steps,
        "startNames": chain.start,
        "laws": [law.plain() for law in laws.laws[chain.one.title]],
        "parts": _parts(chain, problem),
    }
    return f"chainOf({_json(about)},{chain.written.text})"


def _json(data: Plain) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def _source(name: str) -> str:
    return files("dimfree.lab.export").joinpath(name).read_text(encoding="utf-8")
