"""One page that is connected: its questions, and the work for them in threads, of which only the newest is wanted."""

import asyncio
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from dimfree.errors import DimfreeError, ProblemError, type_and_first_line
from dimfree.lab import parts
from dimfree.lab.accounts import Accounts
from dimfree.lab.admission import Admission
from dimfree.lab.changes import changed
from dimfree.lab.controls import controls_of
from dimfree.lab.experiment import simulated
from dimfree.lab.export.script import has_chain
from dimfree.lab.live import Stop, StoppedError, prepared, solved
from dimfree.lab.phase import phase_of, sketch_of
from dimfree.lab.shelf import hello_of, plain_problem
from dimfree.lab.texts import as_text
from dimfree.problem import Problem
from dimfree.registry import setting_of

LONGEST = 1_000_000  # characters of a message
_PATIENCE = 60.0  # seconds for a page to take a part; afterwards its socket is closed
_PAUSE = 0.06  # seconds after the first curve, a few frames of a screen: a page that is dragged asks for its next position then
_UNREADABLE = (
    "a message is one JSON object of a few hundred kilobytes at most, with an integer id and the name of what it asks."
)

Answerer = Callable[[dict[str, Any]], Any]
Worker = Callable[[Problem, Stop], Iterable[parts.Part]]


class Lab:
    """What all pages share: the problem of the command line, threads, and accounts that were computed."""

    def __init__(self, problem: Problem, admission: Admission) -> None:
        self.problem, self.admission, self.accounts = problem, admission, Accounts()
        self.answering = ThreadPoolExecutor(2, "lab-answer")
        self.solving = ThreadPoolExecutor(2, "lab-solve")
        self.running = ThreadPoolExecutor(2, "lab-sgd")  # SGD takes no thread from sliders

    def answer(self, message: dict[str, Any]) -> Any:
        """The answer to a question that takes no long work."""
        match message["ask"]:
            case "hello":
                return hello_of(self.problem, served=True)
            case "controls":
                return self._controls(message)
            case "text":
                return as_text(self.admission.problem(message.get("problem")), message.get("as"))
            case _:
                raise ProblemError(
                    f"{str(message['ask'])[:40]!r} cannot be asked; ask for hello, controls, text, solve, simulate or cancel."
                )

    def _controls(self, message: dict[str, Any]) -> dict[str, Any]:
        problem, change = self.admission.problem(message.get("problem")), message.get("change")
        if change is not None:
            if not isinstance(change, dict):
                raise ProblemError("a change is a table of dotted keys and their values.")
            self.admission.check(change)
            problem = self.admission.problem(plain_problem(changed(problem, change)))
        remark = setting_of(problem).remark(problem)
        answer = {"problem": plain_problem(problem), "controls": controls_of(problem), "remark": remark}
        return answer | {"slow": has_chain(problem)}

    def solve(self, problem: Problem, stop: Stop) -> Iterable[parts.Part]:
        """The phase diagram of a problem, which is there at once, its theories, and what else is known of it."""
        if (phase := phase_of(problem)) is not None:
            yield phase
        yield from solved(prepared(problem), self.accounts, stop)
        if not stop() and (sketch := sketch_of(problem)) is not None:
            yield sketch

    def simulate(self, problem: Problem, stop: Stop) -> Iterable[parts.Part]:
        """Real SGD of a problem."""
        yield from simulated(prepared(problem), self.accounts, stop)

    def close(self) -> None:
        """Take no more work."""
        for pool in (self.answering, self.solving, self.running):
            pool.shutdown(wait=False, cancel_futures=True)


class Job(NamedTuple):
    """Work under way for one question."""

    id: int
    stop: Event
    task: "asyncio.Task[None]"


class Session:
    """One websocket. The newest question of its kind wins: an older one ends at its next part."""

    def __init__(self, lab: Lab, socket: WebSocket) -> None:
        self._lab, self._socket, self._sending = lab, socket, asyncio.Lock()
        self._jobs = dict[str, Job]()

    async def run(self) -> None:
        """Answer until the page goes away."""
        await self._socket.accept()
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                await self._heed(message)
        except WebSocketDisconnect:
            return
        finally:
            for job in self._jobs.values():
                job.stop.set()

    async def _heed(self, message: Any) -> None:
        try:
            asked = read(message.get("text"))
        except ProblemError as failure:
            await self._send(None, parts.error(str(failure)))
            return
        match asked["ask"]:
            case "cancel":
                for job in self._jobs.values():
                    if job.id == asked.get("target"):
                        job.stop.set()
            case "solve":
                self._begin("solve", asked, self._lab.solve, self._lab.solving)
            case "simulate":
                self._begin("simulate", asked, self._lab.simulate, self._lab.running)
            case _:
                await self._answer(asked)

    async def _answer(self, asked: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()

        def work() -> dict[str, Any]:
            try:
                return {"answer": self._lab.answer(asked)}
            except Exception as failure:  # whatever fails is a sentence on the page, and the server goes on
                return parts.error(said_of(failure))

        await self._send(asked["id"], await loop.run_in_executor(self._lab.answering, work))

    def _begin(self, kind: str, asked: dict[str, Any], work: Worker, pool: ThreadPoolExecutor) -> None:
        """Begin work; what is under way of the same kind is stopped first."""
        before = self._jobs.get(kind)
        if before is not None:
            before.stop.set()
        stop = Event()
        task = asyncio.create_task(self._work(asked, work, pool, stop, before))
        self._jobs[kind] = Job(asked["id"], stop, task)

    async def _work(
        self, asked: dict[str, Any], work: Worker, pool: ThreadPoolExecutor, stop: Event, before: Job | None
    ) -> None:
        if before is not None:
            await asyncio.wait([before.task])
        loop = asyncio.get_running_loop()

        def tell(part: parts.Part) -> None:
            if loop.is_closed():  # the server has ended while this was computed
                raise StoppedError
            sent = asyncio.run_coroutine_threadsafe(self._send(asked["id"], part), loop)
            sent.result(_PATIENCE)  # a page that takes nothing holds up its own work only

        def worked() -> None:
            try:
                if stop.is_set():
                    raise StoppedError
                pause = _PAUSE
                for part in work(self._lab.admission.problem(asked.get("problem")), stop.is_set):
                    tell(part)  # also if it comes too late: a page that is dragged sees its last curves
                    first = part["part"] == "curve"
                    if stop.wait(pause if first else 0.0):
                        raise StoppedError
                    pause = 0.0 if first else pause
            except StoppedError:
                tell(parts.done(cancelled=True))
                return
            except Exception as failure:  # as above
                tell(parts.error(said_of(failure)))
            tell(parts.done())

        try:
            await loop.run_in_executor(pool, worked)
        except (TimeoutError, WebSocketDisconnect, RuntimeError):  # the browser has left
            stop.set()

    async def _send(self, id: int | None, what: dict[str, Any]) -> None:
        text = json.dumps({"id": id, **what}, allow_nan=False)
        async with self._sending:
            if self._socket.application_state is WebSocketState.CONNECTED:
                await self._socket.send_text(text)


def read(text: object) -> dict[str, Any]:
    """A message of a page, or an error in one sentence."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ProblemError(_UNREADABLE)
    try:
        message = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ProblemError(_UNREADABLE) from None
    if not isinstance(message, dict) or not isinstance(message.get("ask"), str):
        raise ProblemError(_UNREADABLE)
    if not isinstance(message.get("id"), int) or isinstance(message["id"], bool) or abs(message["id"]) >= 2**53:
        raise ProblemError(_UNREADABLE)
    return message


def said_of(failure: Exception) -> str:
    """What went wrong, in one sentence."""
    if isinstance(failure, DimfreeError):
        return str(failure)
    if isinstance(failure, MemoryError):
        return "memory ran out; make the problem smaller."
    return f"the computation failed ({type_and_first_line(failure)}); change the problem."


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
