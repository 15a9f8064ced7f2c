"""Theories of a problem as fast as they can be had: every curve in one call of one program; warnings come after all curves."""

import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import NamedTuple

import jax

from dimfree.comparison.budget import Plan, plan
from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription, Ask, Evolution, PartialStart, Piece, Values
from dimfree.errors import DivergenceError
from dimfree.lab import parts
from dimfree.lab.accounts import Accounts
from dimfree.problem import Problem
from dimfree.registry import candidates
from dimfree.results.dataset import dataset
from dimfree.results.record import checked, cost_of, joined, record_starts
from dimfree.setting import model_of, speaking

BUDGET = 60.0  # predicted CPU seconds that all theories together may take, and one experiment beside them
_BRIEF = (
    20.0  # a theory that is predicted to take longer comes in pieces: each is shown, and after each it can be stopped
)
_EVERY = 0.3  # seconds between two parts of one theory
Stop = Callable[[], bool]  # whether the browser no longer waits for the answer


class StoppedError(Exception):
    """The answer is not wanted any more."""


class Prepared(NamedTuple):
    """A problem with all that its accounts share."""

    problem: Problem
    able: list[AnyDescription]  # descriptions of such problems
    starts: list[object]

    def planned(self, one: AnyDescription, spent: float = 0.0) -> Plan:
        """Whether one account holds and fits into what is left of the budget."""
        return plan(self.problem, [one], BUDGET - spent)


def prepared(problem: Problem) -> Prepared:
    """The starts, which are those of `dimfree compare`: they have what all accounts need that can be run.

    Whether an account can be run is only asked here if it needs something that no other one does: it may take long to say.
    """
    able, needing, needs = candidates(problem), list[AnyDescription](), frozenset[str]()
    for one in able:
        if not one.needs <= needs and plan(problem, [one], BUDGET).chosen:
            needing.append(one)
            needs |= one.needs
    chosen = needing or [one for one in able if not one.needs]  # what cannot be run draws no start
    return Prepared(problem, able, starts_of(problem, tuple(chosen)))


def solved(ready: Prepared, accounts: Accounts, stop: Stop) -> Iterator[parts.Part]:
    """Parts for every theory: its curve, or the sentence of its refusal; then the warnings of all curves."""
    with accounts.solving(ready.problem.digest):
        yield from _solved(ready, accounts, stop)


def _solved(ready: Prepared, accounts: Accounts, stop: Stop) -> Iterator[parts.Part]:
    problem, seen, taken = ready.problem, list[tuple[AnyDescription, dict[str, Values], float]](), 0.0
    for one in sorted((one for one in ready.able if not one.real), key=lambda one: one.scatters):
        _go_on(stop)
        planned, began, cpu = ready.planned(one, taken), time.perf_counter(), time.process_time()
        yield from (parts.refusal(*out) for out in planned.left_out)
        if not planned.chosen:
            continue
        try:
            if problem.run.starts > 1:
                yield _of_many_starts(ready, one, accounts, stop)
                continue
            if planned.seconds > _BRIEF:
                yield parts.pending(one, planned.seconds)
            values = yield from _grown(ready, one, stop)
        except DivergenceError as failure:
            yield parts.refusal(one.title, str(failure))
            continue
        finally:
            spent = time.perf_counter() - began
            taken += min(
                time.process_time() - cpu, planned.seconds
            )  # a prediction may include what is compiled already
        seen.append((one, values, spent))
        yield parts.curve(problem, one, values, spent)
    for one, values, spent in seen:
        _go_on(stop)
        said = speaking(one).warns(problem, model_of(problem), values)
        used = {"wall_seconds": spent, "cpu_seconds": spent}
        accounts.keep(problem.digest, one.title, dataset(problem, one, problem.times, values, used, said))
        yield from (parts.warning(one.title, sentence) for sentence in said)
    accounts.complete(problem.digest)


def _grown(ready: Prepared, one: AnyDescription, stop: Stop) -> Generator[parts.Part, None, dict[str, Values]]:
    """Parts of a curve that takes long, as it grows; returns all of it."""
    pieces, began = list[Piece](), time.perf_counter()
    sent = began
    for piece in checked(ready.problem, one, _pieces(ready, one, stop)):
        pieces.append(piece._replace(reached=None))
        now = time.perf_counter()
        if piece.done < 1 and now - sent >= _EVERY:
            sent = now
            yield parts.curve(ready.problem, one, joined(pieces), now - began, piece.done)
    return joined(pieces)


def _pieces(ready: Prepared, one: AnyDescription, stop: Stop) -> Iterator[Piece]:
    """The pieces of an account; a theory that is one evolution comes in one."""
    problem, model = ready.problem, model_of(ready.problem)
    ask = Ask(problem.times, problem.run.replicas, own_key(problem, one.title))
    if isinstance(one, Evolution) and not one.stochastic and cost_of(one, problem).seconds <= _BRIEF:
        yield one.at_once(model, ready.starts[0], ask)
        return
    for piece in speaking(one).account(model, needed(one, ready.starts[0]), ask):
        yield piece
        _go_on(stop)


def needed(one: AnyDescription, start: object) -> object:
    """The start without what a description does not need: programs for other dimensions are then the same."""
    return start.only(one.needs) if isinstance(start, PartialStart) else start


def _of_many_starts(ready: Prepared, one: AnyDescription, accounts: Accounts, stop: Stop) -> parts.Part:
    """The account of a theory that is solved once for every start."""
    problem, began = ready.problem, time.perf_counter()
    key: jax.Array = own_key(problem, one.title)
    data = record_starts(problem, one, ready.starts, key, partial(watched, stop))
    accounts.keep(problem.digest, one.title, data)
    seen = {str(name): values.values for name, values in data.data_vars.items()}
    return parts.curve(problem, one, seen, time.perf_counter() - began)


def watched(stop: Stop, done: float) -> None:
    """Watch progress, and end a run whose answer is not wanted any more."""
    _go_on(stop)


def _go_on(stop: Stop) -> None:
    if stop():
        raise StoppedError
