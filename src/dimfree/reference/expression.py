"""Functions written as expressions in z. Only what a table lists may stand in them, so that a data file cannot run code."""

import ast
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from dimfree.errors import ProblemError, type_and_first_line

_CALLS = ("exp", "log", "sqrt", "sin", "cos", "sinh", "cosh", "tanh", "abs", "sign", "maximum", "minimum", "where")
_FUNCTIONS: dict[str, Callable[..., jax.Array]] = {name: getattr(jnp, name) for name in _CALLS} | {
    "erf": jax.scipy.special.erf,
    "relu": jax.nn.relu,
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


def expression(written: str) -> Callable[[jax.Array], jax.Array]:
    """The function of z that an expression is."""
    try:
        tree = ast.parse(written, mode="eval").body
        _value(tree, jnp.zeros(()))
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as failure:
        raise ProblemError(
            f"{written!r} is not an expression in z ({type_and_first_line(failure)}); use numbers, z, pi, + - * / **, "
            f"comparisons and {', '.join(_FUNCTIONS)}."
        ) from None
    return lambda z: jnp.asarray(_value(tree, jnp.asarray(z)))


def _value(node: ast.AST, z: jax.Array) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id="z"):
            return z
        case ast.Name(id="pi"):
            return jnp.pi
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, z), _value(right, z))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, z))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](_value(left, z), _value(right, z))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _FUNCTIONS[name](*(_value(argument, z) for argument in arguments))
        case _:
            raise ValueError(f"{type(node).__name__} is not allowed")
