"""Real SGD that arrives while it runs, and what `dimfree compare` says of the theories beside it."""

import time
from collections.abc import Generator, Iterator
from functools import partial

import xarray as xr

from dimfree.comparison.budget import LeftOut
from dimfree.comparison.comparison import Comparison
from dimfree.comparison.run import own_key
from dimfree.description import AnyDescription, Ask, Evolution, Piece, Values
from dimfree.errors import DivergenceError
from dimfree.lab import parts
from dimfree.lab.accounts import Accounts
from dimfree.lab.live import Prepared, Stop, StoppedError, needed, solved, watched
from dimfree.registry import setting_of
from dimfree.results.dataset import dataset
from dimfree.results.record import checked, joined, record_starts
from dimfree.setting import model_of, speaking

Arriving = Generator[parts.Part, None, xr.Dataset]  # returns all of the run
_EVERY = 0.1  # seconds between two parts, so that a page is not flooded
_JUDGED = 1.5  # seconds between two verdicts while it runs
_FEWEST = 8  # times before the first verdict
_LOOK = 0.05  # seconds between two looks at theories that are being solved


def simulated(ready: Prepared, accounts: Accounts, stop: Stop) -> Iterator[parts.Part]:
    """Points of real SGD as they come, and verdicts: while it runs, and at its end."""
    one, left_out = experiment(ready)
    if one is None:
        yield from (parts.refusal(*left) for left in left_out)
        return
    try:
        data = yield from (_of_many_starts if ready.problem.run.starts > 1 else _streamed)(ready, one, accounts, stop)
    except DivergenceError as failure:
        yield parts.refusal(one.title, str(failure))
        return
    while accounts.is_being_solved(ready.problem.digest):  # for the curves of the page, which the verdict is about
        watched(stop, 1.0)
        time.sleep(_LOOK)
    if not accounts.is_complete(ready.problem.digest):
        for _ in solved(ready, accounts, stop):  # the page did not ask for theories, or asked for other ones since
            pass
    yield from _judged(ready, one, data, accounts, running=False)


def experiment(ready: Prepared) -> tuple[AnyDescription | None, list[LeftOut]]:
    """That of the setting, or one that advances like it and is predicted to be done sooner; or why none can be run."""
    planned = [ready.planned(one) for one in ready.able if one.real]
    chosen = [(each.seconds, one) for each in planned for one in each.chosen]
    usual = next((one for _, one in chosen if one.name == setting_of(ready.problem).simulation), None)
    if usual is not None and not isinstance(usual, Evolution):
        return usual, []
    alike = [priced for priced in chosen if isinstance(priced[1], Evolution)] or chosen
    soonest = min(alike, key=lambda priced: priced[0], default=(0.0, None))[1]
    return soonest, [left for each in planned for left in each.left_out]


def _streamed(ready: Prepared, one: AnyDescription, accounts: Accounts, stop: Stop) -> Arriving:
    problem, model = ready.problem, model_of(ready.problem)
    ask = Ask(problem.times, problem.run.replicas, own_key(problem, one.title))
    pieces, shown, began = list[Piece](), 0, time.perf_counter()
    sent = judged = began
    for piece in checked(problem, one, speaking(one).account(model, needed(one, ready.starts[0]), ask)):
        if stop():
            raise StoppedError
        pieces.append(piece._replace(reached=None))
        now = time.perf_counter()
        if now - sent < _EVERY and piece.done < 1:
            continue
        sent, seen = now, joined(pieces)
        reached, first = len(seen["risk"]), shown if piece.along == "time" else 0
        steps = seen["risk"].shape[1] * problem.steps(float(problem.times[reached - 1]))
        fresh = {name: values[first:] for name, values in seen.items()}
        yield parts.points(problem, one, first, problem.times[first:reached], fresh, steps / max(now - began, 1e-9))
        shown = reached
        if now - judged > _JUDGED and reached >= _FEWEST and piece.done < 1:
            judged = now
            yield from _judged(ready, one, _labelled(ready, one, seen, now - began), accounts, running=True)
    return _labelled(ready, one, joined(pieces), time.perf_counter() - began)


def _of_many_starts(ready: Prepared, one: AnyDescription, accounts: Accounts, stop: Stop) -> Arriving:
    """Replicas of several starts come at once, when all are there."""
    problem, began = ready.problem, time.perf_counter()
    data = record_starts(problem, one, ready.starts, own_key(problem, one.title), partial(watched, stop))
    seen, spent = {str(name): values.values for name, values in data.data_vars.items()}, time.perf_counter() - began
    steps = problem.steps(problem.run.until) * problem.run.replicas
    yield parts.points(problem, one, 0, problem.times, seen, steps / max(spent, 1e-9))
    return data


def _labelled(ready: Prepared, one: AnyDescription, seen: dict[str, Values], spent: float) -> xr.Dataset:
    problem, reached = ready.problem, len(seen["risk"])
    used = {"wall_seconds": spent, "cpu_seconds": spent}
    return dataset(problem, one, problem.times[:reached], seen, used)


def _judged(
    ready: Prepared, one: AnyDescription, data: xr.Dataset, accounts: Accounts, *, running: bool
) -> Iterator[parts.Part]:
    """The verdict on all theories that are known, up to the time that the experiment has reached."""
    known, reached = accounts.of(ready.problem.digest), data.sizes["time"]
    theories = {title: _upto(account, reached) for title, account in known.items()}
    if running and not theories:
        return
    tree = xr.DataTree.from_dict({one.title: data, **theories})
    yield parts.verdict(Comparison(ready.problem, tree, ()), running)


def _upto(account: xr.Dataset, count: int) -> xr.Dataset:
    """An account at its first times."""
    return account.isel({dim: slice(count) for dim in account.dims if str(dim).rstrip("_") == "time"})
