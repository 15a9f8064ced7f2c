"""Primitives that act entry by entry: each is a text of JavaScript, and a NumPy function for what is known already."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dimfree.lab.export.emitter import Emitter, Equation, by_jax, rule
from dimfree.lab.export.values import KNOWN, Constant, OnHeap, Value


class Entry(NamedTuple):
    """How one entry is computed."""

    text: Callable[..., str]
    known: Callable[..., Any] | None = None  # evaluates constants by NumPy; without it jax evaluates them
    nanoseconds: float = 1.0


def _text(pattern: str) -> Callable[..., str]:
    return pattern.format


ENTRIES = {
    "add": Entry(_text("{}+{}"), np.add),
    "add_any": Entry(_text("{}+{}"), np.add),
    "sub": Entry(_text("{}-{}"), np.subtract),
    "mul": Entry(_text("{}*{}"), np.multiply),
    "neg": Entry(_text("-{}"), np.negative),
    "abs": Entry(_text("Math.abs({})"), np.abs),
    "sign": Entry(_text("Math.sign({})"), np.sign),
    "square": Entry(_text("{0}*{0}"), np.square),
    "sqrt": Entry(_text("Math.sqrt({})"), np.sqrt, 3.0),
    "rsqrt": Entry(_text("1/Math.sqrt({})"), None, 4.0),
    "cbrt": Entry(_text("Math.cbrt({})"), None, 15.0),
    "exp": Entry(_text("Math.exp({})"), None, 10.0),
    "exp2": Entry(_text("Math.pow(2,{})"), None, 15.0),
    "expm1": Entry(_text("Math.expm1({})"), None, 15.0),
    "log": Entry(_text("Math.log({})"), None, 10.0),
    "log1p": Entry(_text("Math.log1p({})"), None, 15.0),
    "sin": Entry(_text("Math.sin({})"), None, 12.0),
    "cos": Entry(_text("Math.cos({})"), None, 12.0),
    "tan": Entry(_text("Math.tan({})"), None, 15.0),
    "asin": Entry(_text("Math.asin({})"), None, 12.0),
    "acos": Entry(_text("Math.acos({})"), None, 12.0),
    "atan": Entry(_text("Math.atan({})"), None, 12.0),
    "atan2": Entry(_text("Math.atan2({},{})"), None, 20.0),
    "sinh": Entry(_text("Math.sinh({})"), None, 15.0),
    "cosh": Entry(_text("Math.cosh({})"), None, 15.0),
    "tanh": Entry(_text("Math.tanh({})"), None, 15.0),
    "logistic": Entry(_text("1/(1+Math.exp(-{}))"), None, 12.0),
    "erf": Entry(_text("erf({})"), None, 20.0),
    "erfc": Entry(_text("erfc({})"), None, 25.0),
    "pow": Entry(_text("Math.pow({},{})"), None, 25.0),
    "max": Entry(_text("Math.max({},{})"), np.maximum),
    "min": Entry(_text("Math.min({},{})"), np.minimum),
    "rem": Entry(_text("{}%{}"), np.fmod, 5.0),
    "clamp": Entry(_text("Math.min(Math.max({1},{0}),{2})"), lambda low, x, high: np.clip(x, low, high)),
    "lt": Entry(_text("+({}<{})"), np.less),
    "le": Entry(_text("+({}<={})"), np.less_equal),
    "gt": Entry(_text("+({}>{})"), np.greater),
    "ge": Entry(_text("+({}>={})"), np.greater_equal),
    "lt_to": Entry(_text("+({}<{})"), np.less),  # the order of sorting, for numbers that are no NaN
    "le_to": Entry(_text("+({}<={})"), np.less_equal),
    "eq": Entry(_text("+({}==={})"), np.equal),
    "ne": Entry(_text("+({}!=={})"), np.not_equal),
    "is_finite": Entry(_text("+Number.isFinite({})"), np.isfinite),
    "ceil": Entry(_text("Math.ceil({})"), np.ceil),
    "floor": Entry(_text("Math.floor({})"), np.floor),
    "stop_gradient": Entry(_text("{}"), lambda x: x),
    "copy": Entry(_text("{}"), lambda x: x),
}

# functions of ours and of jax that have a twin in the runtime: bits of floats, which they look at, do not exist in JavaScript
INTRINSICS = {
    "arcsine": Entry(_text("asin({})"), None, 12.0),
    "copysign": Entry(_text("copysign({},{})"), np.copysign, 3.0),
    "signbit": Entry(_text("+({0}<0||Object.is({0},-0))"), np.signbit, 2.0),
}


def apply(emitter: Emitter, equation: Equation, entry: Entry) -> list[Value]:
    """One entry after the other, in the page or already here."""
    wanted = equation.wanted[0]
    if equation.stage != KNOWN:
        return [emitter.elementwise(entry.text, equation.inputs, wanted.shape, entry.nanoseconds)]
    if entry.known is None:
        return by_jax(equation)
    known = [one.values for one in equation.inputs if isinstance(one, Constant)]
    return [Constant(np.asarray(np.broadcast_to(entry.known(*known), wanted.shape), dtype=wanted.dtype))]


@rule(*ENTRIES)
def _entry(emitter: Emitter, equation: Equation) -> list[Value]:
    return apply(emitter, equation, ENTRIES[equation.name])


@rule("div")
def _division(emitter: Emitter, equation: Equation) -> list[Value]:
    if np.issubdtype(equation.wanted[0].dtype, np.integer):
        return apply(emitter, equation, Entry(_text("Math.trunc({}/{})"), None, 3.0))
    return apply(emitter, equation, Entry(_text("{}/{}"), np.divide, 2.0))


@rule("round")
def _round(emitter: Emitter, equation: Equation) -> list[Value]:
    to_even = int(equation.params["rounding_method"]) == 1
    return apply(emitter, equation, Entry(_text("even({})" if to_even else "away({})"), None, 3.0))


@rule("integer_pow")
def _power(emitter: Emitter, equation: Equation) -> list[Value]:
    y = equation.params["y"]

    def text(x: str) -> str:
        power = "*".join([x] * abs(y)) if 0 < abs(y) < 4 else f"power({x},{abs(y)})"
        return f"1/({power})" if y < 0 else power

    return apply(emitter, equation, Entry(text, lambda x: x**y if y >= 0 else 1 / x ** (-y), 3.0))


@rule("and", "or", "xor")
def _logic(emitter: Emitter, equation: Equation) -> list[Value]:
    sign, known = {"and": ("&", np.bitwise_and), "or": ("|", np.bitwise_or), "xor": ("^", np.bitwise_xor)}[
        equation.name
    ]
    return apply(emitter, equation, Entry(_text("{}" + sign + "{}"), known))


@rule("not")
def _negation(emitter: Emitter, equation: Equation) -> list[Value]:
    boolean = equation.wanted[0].dtype == np.bool_
    return apply(emitter, equation, Entry(_text("1-{}" if boolean else "~{}"), np.invert))


@rule("convert_element_type")
def _convert(emitter: Emitter, equation: Equation) -> list[Value]:
    (value,), to, given = equation.inputs, np.dtype(equation.params["new_dtype"]), np.dtype(equation.given[0].dtype)
    if isinstance(value, Constant):
        return [Constant(np.asarray(value.values).astype(to))]
    if np.issubdtype(to, np.integer) and np.issubdtype(given, np.floating):
        return [emitter.elementwise(_text("Math.trunc({})"), equation.inputs, equation.wanted[0].shape)]
    if to == np.bool_ and given != np.bool_:
        return [emitter.elementwise(_text("+({}!==0)"), equation.inputs, equation.wanted[0].shape)]
    if to == np.float32 and given != np.bool_:
        return [emitter.elementwise(_text("Math.fround({})"), equation.inputs, equation.wanted[0].shape)]
    return [value]


@rule("select_n")
def _select(emitter: Emitter, equation: Equation) -> list[Value]:
    which, *cases = equation.inputs
    shape = equation.wanted[0].shape
    if isinstance(which, Constant):
        chosen = np.broadcast_to(np.asarray(which.values).astype(int), shape)
        if chosen.size and (chosen == chosen.flat[0]).all():
            return [cases[int(chosen.flat[0])]]
        if equation.stage == KNOWN:
            return [Constant(np.choose(chosen, [one.values for one in cases if isinstance(one, Constant)]))]
        return [OnHeap(np.choose(chosen, [emitter.heap.addresses(one) for one in cases]), equation.stage)]
    if len(cases) == 2:
        return [emitter.elementwise(_text("{0}?{2}:{1}"), equation.inputs, shape)]
    nested = "".join(f"{{0}}==={n}?{{{n + 1}}}:" for n in range(len(cases) - 1)) + f"{{{len(cases)}}}"
    return [emitter.elementwise(_text(nested), equation.inputs, shape)]
