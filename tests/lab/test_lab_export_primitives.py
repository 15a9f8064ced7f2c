"""Every primitive that has a rule, on random inputs: JavaScript against jax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from written_in_node import answer_of

from dimfree.gaussian.arcsine import arcsine
from dimfree.lab.export.emitter import RULES
from dimfree.lab.export.module import Function, runtime, shaped, write_module
from dimfree.lab.export.values import Unsupported

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
POSITIVE, SMALL = RNG.uniform(0.1, 3.0, size=(3, 4)), RNG.uniform(-0.95, 0.95, size=(3, 4))
HALVES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0, 7.2])
INTEGERS, PLACE = RNG.integers(-4, 5, size=(3, 4)), np.array(2)
TAILS = np.linspace(-7.0, 29.0, 24)
MATRIX, VECTOR = RNG.normal(size=(4, 4)), RNG.normal(size=4)
LOWER = np.tril(RNG.normal(size=(2, 3, 3))) + 3 * np.eye(3)
SPD = np.einsum("bij,bkj->bik", LOWER, LOWER)
LONG = RNG.normal(size=12)


def _scan(reverse):
    def turned(x, start):
        step = lambda carry, row: ((carry[0] * 0.9 + row.sum(), carry[0]), carry[0] * row + carry[1])  # noqa: E731
        return lax.scan(step, (start[0], start[1]), jnp.stack([x, -2 * x], axis=1), reverse=reverse)

    return turned


def _while(x):
    return lax.while_loop(lambda c: c[0] < 100 + c[2], lambda c: (2 * c[0], c[1] + x, c[2]), (jnp.abs(x[0]), x, x[1]))


@jax.custom_vjp
def _own_gradient(x):
    return x * jnp.sin(x)


_own_gradient.defvjp(lambda x: (x * jnp.sin(x), x), lambda x, g: (g * x,))


def _each(names, *inputs):
    return {name: (getattr(lax, name), *inputs) for name in names.split()}


CASES = {
    **_each("add sub mul div max min rem lt le gt ge eq ne atan2", X, Y),
    **_each("neg abs sign square exp exp2 expm1 sin cos tan sinh cosh tanh cbrt ceil floor logistic atan is_finite", X),
    **_each("stop_gradient", X),
    **_each("sqrt rsqrt log log1p", POSITIVE),
    **_each("asin acos", SMALL),
    **_each("erf erfc", TAILS),
    "equal": (lambda x: lax.eq(x, x), X),
    "pow": (lax.pow, POSITIVE, Y),
    "integer_pow": (lambda x: [lax.integer_pow(x, n) for n in (2, 3, 7, -1, -5)], X),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.7), X),
    "round": (lambda x: [jnp.round(x), lax.round(x)], HALVES),
    "integer_div": (lambda x: lax.div(x, jnp.asarray(3)), INTEGERS),
    "logic": (lambda x, y: [(x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0)], X, Y),
    "integer_logic": (lambda x: [x & 3, x | 5, x ^ 2, ~x], INTEGERS),
    "convert": (
        lambda x: [
            x.astype(int),
            (3 * x).astype(int).astype(float),
            x.astype(bool),
            x.astype(jnp.float32),
            (x > 0) * 2.0,
        ],
        X,
    ),
    "select_n": (lambda x, y: [jnp.where(x > y, x, y), jnp.where(np.eye(3, 4) > 0, x, y)], X, Y),
    "select_three": (lambda x, y: lax.select_n(jnp.clip((2 * x).astype(jnp.int32), 0, 2), x, y, x * y), X, Y),
    "arcsine": (arcsine, SMALL * 1.1),
    "copysign": (lambda x, y: [jnp.copysign(x, y), jnp.signbit(x)], X, Y),
    "add_any": (jax.grad(lambda x: jnp.sum(x * jnp.sin(x) * x)), X),
    "custom_vjp_call": (_own_gradient, X),
    "platform_index": (lambda x: lax.platform_dependent(x, cpu=lambda x: 2 * x, default=lambda x: -x), X),
    "copy": (lambda x: jnp.array(x, copy=True) + 1, X),
    "remat2": (jax.checkpoint(lambda x: jnp.sin(x) * x), X),
    "moves": (
        lambda x, y: (
            [
                x.T,
                x.reshape(2, 6),
                x[::-1, ::2],
                jnp.concatenate([x, y, np.ones((1, 4))]),
                jnp.stack([x, y], axis=1),
                x[:, None, :1] * y[..., None],
                lax.pad(x, 0.5, ((1, 2, 1), (-1, 0, 0))),
                *jnp.split(x, [1], axis=1),
                x.squeeze(),
                lax.rev(x, (0,)),
                jnp.broadcast_to(x[0], (2, 4)) + jnp.arange(4.0),
                *jnp.unstack(x, axis=1),
            ]
        ),
        X,
        Y,
    ),
    "gather": (
        lambda x, i: (
            [
                x[np.array([[2, 0], [1, 1]])],
                x[:, i],
                x[i, 1:3],
                jnp.take(x, i + 9, axis=1),
                x[i - 9, :2],
                jnp.take(x, np.array([1, 8]), axis=1),
                jnp.take_along_axis(x, jnp.argsort(np.arange(12.0).reshape(3, 4)[:, ::-1]), 1),
                jnp.diagonal(x),
                x[np.arange(3), np.array([1, 0, 2])],
                x[i * np.ones(2, int), np.array([1, 3])],
            ]
        ),
        X,
        PLACE,
    ),
    "batched_gather": (
        lambda x, i: jax.vmap(lambda row, j: lax.dynamic_slice(row, (j,), (2,)))(x, jnp.stack([i, i - 1, i + 4])),
        X,
        PLACE,
    ),
    "scatter": (
        lambda x, y, i: (
            [
                x.at[1].set(y[0]),
                x.at[np.array([0, 2, 0]), 1].add(y[:, 0]),
                x.at[:, i].set(y[:, 1]),
                x.at[i, 1:3].add(5.0),
                x.at[i + 9].set(1.0),
                x.at[7].add(y[0], mode="drop"),
                x.at[i * np.ones(3, int), np.array([0, 0, 3])].add(y[:, 2]),
            ]
        ),
        X,
        Y,
        PLACE,
    ),
    "dynamic_slice": (
        lambda x, i: [lax.dynamic_slice(x, (i - 1, i + 5), (2, 3)), lax.dynamic_slice(x, (1, 9), (2, 2))],
        X,
        PLACE,
    ),
    "dynamic_update_slice": (
        lambda x, y, i: [lax.dynamic_update_slice(x, y[:2, :2], (i, i)), lax.dynamic_update_slice(x, y[:1], (1, 0))],
        X,
        Y,
        PLACE,
    ),
    "dot_general": (
        lambda x, y: (
            [
                x @ y.T,
                x.T @ y,
                jnp.einsum("ij,ij->i", x, y),
                x @ np.ones(4),
                jnp.einsum("bij,bkj->bik", SPD * x[0, 0], SPD),
                (lambda a: a @ a.T)(jnp.zeros((9, 9)).at[np.tril_indices(9)].set(jnp.tile(x.ravel(), 4)[:45])),
            ]
        ),
        X,
        Y,
    ),
    "reductions": (
        lambda x: (
            [f(x, axis=axis) for f in (jnp.sum, jnp.max, jnp.min, jnp.prod) for axis in (0, 1, None)]
            + [
                jnp.any(x > 0.5, axis=0),
                jnp.all(x > -1, axis=1),
                jnp.argmax(x, axis=0),
                jnp.argmin(x, axis=1),
                jnp.sum(x[:, :1], 1),
            ]
        ),
        X,
    ),
    "long_sum": (jnp.sum, np.tile(X, (3, 2))),
    "cumulative": (
        lambda x: [jnp.cumsum(x, axis=1), jnp.cumprod(x, axis=0), lax.cummax(x, reverse=True), lax.cummin(x, axis=1)],
        X,
    ),
    "sort": (lambda x: [jnp.sort(x, axis=1), jnp.sort(x, axis=0), jnp.argsort(x, axis=1), jnp.argsort(-x, axis=0)], X),
    "triangular_solve": (
        lambda a, b: [
            lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=turned, unit_diagonal=unit)
            for left in (True, False)
            for lower in (True, False)
            for turned in (True, False)
            for unit in (True, False)
        ],
        LOWER + np.swapaxes(LOWER, 1, 2),
        SPD,
    ),
    "cholesky": (lax.linalg.cholesky, SPD),
    "eigh": (
        lambda a: [(s := jnp.linalg.eigh(a))[0], s[1] ** 2, jnp.einsum("bij,bj,bkj->bik", s[1], s[0], s[1])],
        SPD,
    ),
    "cond": (lambda x, i: lax.cond(x[0, 0] > i, lambda x: x * 2, lambda x: -x, x), X, PLACE),
    "switch": (
        lambda x, i: [lax.switch(i + n, [lambda x: x, lambda x: 2 * x, lambda x: x @ x.T @ x], x) for n in (-2, -1, 9)],
        X,
        PLACE,
    ),
    "while": (_while, VECTOR),
    "many_whiles": (
        jax.vmap(lambda y: lax.while_loop(lambda c: c[0] < 9, lambda c: (2 * c[0], c[1] + y), (jnp.abs(y[0]), y))),
        X,
    ),
    "fori_loop": (lambda x: lax.fori_loop(0, 20, lambda i, a: a.at[i % 3].add(i * a[(i + 1) % 3]) / (1 + i), x), X),
    "scan": (_scan(False), LONG, VECTOR),
    "scan_reverse": (_scan(True), LONG, VECTOR),
    "scan_short": (_scan(True), LONG[:5], VECTOR),
    "swap": (lambda x: lax.fori_loop(0, 11, lambda i, c: (c[1], c[0] + 0.1 * c[1]), (x[0], x[1])), X),
    "searchsorted": (
        lambda x, v: [jnp.searchsorted(jnp.sort(x), v), jnp.interp(v, jnp.arange(4.0), x)],
        VECTOR,
        np.array(0.3),
    ),
    "map": (lambda x: lax.map(lambda row: jnp.outer(row, row).sum(0), x), X),
}


def _values(values):
    return {
        name: np.concatenate([np.ravel(np.asarray(x, dtype=float)) for x in jax.tree.leaves(one)])
        for name, one in values.items()
    }


def _met(jaxpr, found):
    for one in jaxpr.eqns:
        found.add(one.primitive.name)
        for value in jax.tree.leaves(
            [*one.params.values()], is_leaf=lambda x: hasattr(x, "eqns") or hasattr(x, "jaxpr")
        ):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                _met(inner, found)
    return found


def test_every_primitive_is_that_of_jax():
    functions = {
        name: Function(lambda leaves, *given, call=call: call(*given), tuple(shaped(x.shape, x.dtype) for x in inputs))
        for name, (call, *inputs) in CASES.items()
    }
    written = write_module([], functions)
    data = {name: [np.ravel(x).tolist() for x in inputs] for name, (_, *inputs) in CASES.items()}
    call = """data => { const m = makeModule(); m.setup(); const found = {};
        for (const [name, inputs] of Object.entries(data)) {
            inputs.forEach((x, i) => m[name].inputs[i].set(x)); m[name].run(); found[name] = m[name].output; }
        return found; }"""
    told = answer_of(f"{runtime()};function makeModule(){{return {written.text}}}", call, data)
    known = _values(
        jax.jit(lambda: {name: call(*map(jnp.asarray, inputs)) for name, (call, *inputs) in CASES.items()})()
    )
    wrong = []
    for name, expected in known.items():
        found = np.array([float(x) for x in told[name]])
        assert found.shape == expected.shape, name
        bound = 2e-14 * np.nanmax(np.abs(expected)) if name != "erfc" else 1e-11 * np.abs(expected)  # of a far tail
        if not ((np.abs(found - expected) <= bound) | (np.isnan(found) & np.isnan(expected))).all():
            wrong.append((name, found, expected))
    assert not wrong
    traced = [jax.make_jaxpr(call)(*map(jnp.asarray, inputs)).jaxpr for call, *inputs in CASES.values()]
    met = set().union(*(_met(one, set()) for one in traced))
    assert set(RULES) - met == set()


def test_what_has_no_rule_is_refused_by_name():
    with pytest.raises(Unsupported, match="lgamma, which is not translated"):
        write_module([], {"f": Function(lambda leaves, x: lax.lgamma(x), (shaped((2,), float),))})
