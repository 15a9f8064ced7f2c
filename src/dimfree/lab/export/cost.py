"""How long a call of written code will take, roughly, before anything runs."""

from dimfree.lab.export.operations import (
    Branch,
    Call,
    Dot,
    Elementwise,
    For,
    Operation,
    Pick,
    Put,
    Reduce,
    While,
)

_TURNS = 10  # a guess for loops that end when the page says so
_OPTIMISED = 0.5  # what neighbours in one loop save


def nanoseconds(operations: list[Operation]) -> float:
    """On a machine like the ones in benchmarks/."""
    return sum(map(_one, operations)) * _OPTIMISED


def _one(operation: Operation) -> float:
    match operation:
        case Elementwise(count=count, nanoseconds=each):
            return count * each
        case Dot(left=left, right=right):
            return 1.0 * left.size * right.shape[1]
        case Reduce(rows=rows):
            return 1.0 * rows.size
        case Pick(count=count):
            return 2.0 * count
        case Put(source=source):
            return 2.0 * source.size
        case Call(nanoseconds=each):
            return each
        case Branch(cases=cases):
            return max(map(nanoseconds, cases))
        case While(test=test, body=body):
            return _TURNS * (nanoseconds(test) + nanoseconds(body))
        case For(times=times, body=body):
            return times * nanoseconds(body)
        case _:
            return 0.0
