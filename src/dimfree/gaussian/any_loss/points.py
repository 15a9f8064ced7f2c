"""Points of the preactivations and their weights: nested panels while fields are few, fixed Sobol points above.

docs/theory/losses.md, section 2. Fields are u = L x with L the Cholesky factor of their covariance: teachers first, then
students, at last the direction of the teacher that is integrated out. Coordinates are integrated from the last to the first;
along each the panels are cut where activations bend, where labels change, and along the last student where the error does.

Fixed points without panels are numbers of single precision, which rounds a thousand times less than so many points are wrong,
in a fifth of the time.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.label_law import Classes, LogisticClasses, Signs
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.levels import ROUNDED, shifts
from dimfree.gaussian.any_loss.panels import crossings, panels
from dimfree.gaussian.any_loss.posterior import (
    Posterior,
    along_last,
    is_sign_of_direction,
    shear_of,
    sheared_overlaps,
)
from dimfree.gaussian.any_loss.preimages import limits, preimages, standardised
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.points import in_single_precision, normal_points
from dimfree.states.overlaps import Overlaps, factor

_TURNS = 2.5  # a field within which smooth activations turn
_SHORT = (-2.5, 0.0, 2.5)  # cuts of every coordinate, in standard deviations
_ENDS = (-5.0, 0.0, 5.0)  # of the last student, between which a jump is crossed
_CLIPPED = 4  # places along a line at which a gradient reaches its largest norm


class Rule(eqx.Module):
    """How averages are computed: `nodes` for each panel, and `sobol` fixed points in the place of nested panels."""

    nodes: int = eqx.field(static=True)
    sobol: int = eqx.field(default=0, static=True)
    all_fields: bool = eqx.field(default=False, static=True)  # whether no direction is integrated out


class Points(NamedTuple):
    """Points with weights: students, what the network makes of them, and what is known of the teacher there.

    Arrays broadcast to (points, nodes of the last student); those of several units are one array where all have the same points.
    """

    weights: Float[Array, "b n"]
    students: list[Float[Array, "b m"]] | Float[Array, "p b n"]
    values: list[Float[Array, "b m"]] | Float[Array, "p b n"]  # sigma
    slopes: list[Float[Array, "b m"]] | Float[Array, "p b n"]  # sigma'
    f: Float[Array, "b n"]
    teachers: (
        list[Float[Array, "b 1"]] | Float[Array, "r b 1"]
    )  # but for the last one, where it is integrated out, and sheared
    right: Float[
        Array, "b n"
    ]  # the probability that f* > 0 (with its noise, where that is Gaussian and integrated out)
    last: Float[Array, "b n"]  # E[lambda*_k 1(f* > 0)]
    mean_last: Float[Array, "b n"]  # E[lambda*_k]
    f_star: Float[Array, "b 1"] | None  # where no direction is integrated out
    length: Float[Array, "b n"]  # uᵀ Omega^-1 u, meaningful where no direction is integrated out


Sums = Any  # a tree of arrays


class _Walk(NamedTuple):
    """Points so far: coordinates x, the fields of them, and their weights."""

    x: Float[Array, "b j"]
    weights: Float[Array, " b"]


class Averaging:
    """One task at one state: fields in their order, and where their panels are cut."""

    def __init__(self, task: Task, state: Overlaps, rule: Rule, test: bool) -> None:
        """With `test`, panels are cut where the output changes its sign, too."""
        self.task, self.rule, self.test = task, rule, test
        self.integrated = is_sign_of_direction(task) and not rule.all_fields
        self.p, self.k = state.a.shape[0], task.units
        self.explicit = self.k - 1 if self.integrated else self.k
        self.shear = shear_of(task) if self.integrated else None
        M, P = sheared_overlaps(state.M, task.target.P, self.shear)
        rank = jnp.abs(state.a)
        if self.integrated:  # the student that says most of the label is the last one, whose panels follow the label
            rank = jnp.abs(state.M[:, -1]) / jnp.sqrt(jnp.maximum(jnp.diagonal(state.Q), 1e-300))
        self.order = jnp.argsort(rank) if not rule.sobol else jnp.arange(self.p)
        self.a = state.a[self.order]
        Q, M = state.Q[self.order][:, self.order], M[self.order]
        E = self.explicit
        self.taught = factor(P, self.k)[:E, :E]  # constant along a solution: XLA computes what follows from it once
        top = jnp.concatenate([P[:E, :E], M[:, :E].T, P[:E, E:]], axis=1)
        middle = jnp.concatenate([M[:, :E], Q, M[:, E:]], axis=1)
        bottom = jnp.concatenate([P[E:, :E], M[:, E:].T, P[E:, E:]], axis=1)
        self.L = factor(jnp.concatenate([top, middle, bottom]), self.p + self.k)
        self.dimension = self.explicit + self.p  # of what is left to integrate
        if rule.sobol and not self.cut:
            single = in_single_precision((task, self.shear, self.a, self.taught, self.L))
            self.task, self.shear, self.a, self.taught, self.L = single

    @property
    def sampled_fields(self) -> int:
        """Over how many coordinates fixed points are spread: where an integrand jumps, the last student has its panels."""
        return self.dimension - self.cut

    @property
    def cut(self) -> bool:
        """Whether an integrand jumps along the last student."""
        return self.test or bool(self.task.loss.jumps) or self.task.norm is not None

    def sums(self, terms: Callable[[Points], Sums], points: Float[Array, "b j"] | None = None) -> Sums:
        """The sum of `terms`, which are weighted sums over points; the outermost coordinate of many is a loop."""
        rule, n = self.rule, self.dimension
        if rule.sobol:
            return jax.tree.map(lambda x: x.astype(jnp.float64), terms(self._sampled(points)))
        begin = _Walk(jnp.zeros((1, 0)), jnp.ones(1))
        if n == 1:
            return terms(self._finished(begin))
        first = self._step(begin)
        if n == 2:
            return terms(self._finished(first))

        def one(at: tuple[Array, Array]) -> Sums:
            walk = _Walk(at[0][None], at[1][None])
            for _ in range(n - 2):
                walk = self._step(walk)
            return terms(self._finished(walk))

        return jax.tree.map(lambda x: jnp.sum(x, axis=0), jax.lax.map(one, (first.x, first.weights)))

    def _sampled(self, points: Float[Array, "b j"] | None) -> Points:
        """Fixed points, others if they are given."""
        x = jnp.asarray(normal_points(self.sampled_fields, self.rule.sobol)) if points is None else points
        weights = jnp.full(x.shape[0], 1 / x.shape[0])
        if self.cut:
            return self._finished(_Walk(x, weights))
        x, weights = in_single_precision((x, weights))
        return self._everywhere(x, weights[:, None])

    def _everywhere(self, x: Float[Array, "b n"], weights: Float[Array, "b 1"]) -> Points:
        """Points that are given in full, units side by side."""
        E, sigma, walk = self.explicit, self.task.activation, _Walk(x, weights[:, 0])
        students = (self.L[E : self.dimension, : self.dimension] @ x.T)[..., None]
        values, slopes = sigma.with_derivative(students)
        f = (self.a / self.p @ values[..., 0])[:, None]
        teachers = self._teachers(walk)
        right, last, mean, f_star = self._taught(walk, teachers, (x @ self.L[-1, : self.dimension])[:, None])
        length = jnp.sum(x**2, axis=1)[:, None]
        return Points(weights, students, values, slopes, f, teachers.T[..., None], right, last, mean, f_star, length)

    def _step(self, walk: _Walk) -> _Walk:
        x, w = panels(self._cuts(walk), self.rule.nodes)
        count = x.shape[1]
        before = jnp.repeat(walk.x, count, axis=0)
        return _Walk(jnp.concatenate([before, x.reshape(-1, 1)], axis=1), (walk.weights[:, None] * w).reshape(-1))

    def _finished(self, walk: _Walk) -> Points:
        return self._points(walk, *panels(self._cuts(walk), self.rule.nodes))

    def _mean(self, walk: _Walk) -> Float[Array, "b 1"]:
        """Of the next field, given those before."""
        j = walk.x.shape[1]
        return (walk.x @ self.L[j, :j])[:, None]

    def _fields(self, walk: _Walk) -> Float[Array, "b j"]:
        j = walk.x.shape[1]
        return walk.x @ self.L[:j, :j].T

    def _teachers(self, walk: _Walk) -> Float[Array, "b k"]:
        """All fields of explicit directions."""
        return walk.x[:, : self.explicit] @ self.taught.T

    def _posterior(self, walk: _Walk) -> Posterior:
        return Posterior(self.task, self._teachers(walk), self.shear)

    def _cuts(self, walk: _Walk) -> Float[Array, "b m"]:
        """Of the next coordinate."""
        j, count = walk.x.shape[1], walk.x.shape[0]
        mean, scale = self._mean(walk), self.L[j, j]
        if j < self.explicit:
            cuts = [self._teacher_cuts(walk, mean, scale)]
            if j == self.dimension - 2:
                cuts += self._layers(walk)
            return jnp.concatenate(cuts, axis=1)
        sigma, student = self.task.activation, j - self.explicit
        cuts = [_bends(sigma, mean, scale)]
        own = self._fields(walk)[:, self.explicit :]
        rest = sigma(own) @ self.a[:student] if student else jnp.zeros(count)
        if (levels := self._levels(walk)) is not None:
            wanted, later = self.p * levels - rest[:, None], self.a[student + 1 :]
            if self.rule.sobol or student == self.p - 1:
                cuts.append(preimages(sigma, wanted / self.a[-1], mean, scale))
            else:  # where the students after this one begin or cease to reach the level
                for ends in product(limits(sigma), repeat=later.size):
                    reached = later @ jnp.asarray(ends)
                    cuts.append(preimages(sigma, (wanted - reached) / self.a[student], mean, scale))
                if student == self.p - 2:
                    cuts += [self._meetings(walk, rest, levels)] if self.integrated else []
                    cuts += self._layers(walk)
        if student == self.p - 1:
            cuts += self._last_cuts(walk, rest)
        return jnp.concatenate(cuts, axis=1)

    def _layers(self, walk: _Walk) -> list[Float[Array, "b m"]]:
        """Along the last coordinate but one: where the last student, at its mean and at both ends, reaches a level.

        A student that the fields before it nearly determine makes a steep layer of a jump.
        """
        if not (levels := shifts(self.task, self.test)):
            return []
        count, places = walk.x.shape[0], [jnp.stack(x) for x in zip(*product(levels, _ENDS), strict=True)]
        shift, end = (jnp.tile(x, count)[:, None] for x in places)  # every point has a line for each of them
        walk = jax.tree.map(lambda x: jnp.repeat(x, len(places[0]), axis=0), walk)
        j, k, sigma = walk.x.shape[1], self.explicit, self.task.activation
        known = self._fields(walk)
        own = known[:, k:]
        rest = (sigma(own) @ self.a[: own.shape[1]])[:, None] if own.shape[1] else jnp.zeros((walk.x.shape[0], 1))
        means = [(walk.x @ self.L[i, :j])[:, None] for i in (j, j + 1)]

        def gap(x: Array) -> Array:
            field, last = means[0] + self.L[j, j] * x, means[1] + self.L[j + 1, j] * x + self.L[j + 1, j + 1] * end
            reached = rest + self.a[-1] * sigma(last)
            if j >= k:
                return reached + self.a[-2] * sigma(field) - self.p * shift
            base = 0.0 if isinstance(self.task.labels, Classes) else along_last(self.task.target, known, field)
            return reached - self.p * (base + shift)

        return [crossings(gap, walk.x.shape[0], 1).reshape(count, -1)]

    def _meetings(self, walk: _Walk, rest: Float[Array, " b"], levels: Float[Array, "b q"]) -> Float[Array, "b m"]:
        """Where, along the last student but one, a jump of the error meets a boundary of the label."""
        edges = self._posterior(walk).edges
        count, times = walk.x.shape[0], edges.shape[1] * levels.shape[1]
        edge = jnp.repeat(edges, levels.shape[1], axis=1).reshape(-1, 1)  # every point has a line for each pair
        level = jnp.tile(levels, (1, edges.shape[1])).reshape(-1, 1)
        at, rest = (jnp.repeat(x, times, axis=0) for x in (walk.x, rest[:, None]))
        j, sigma = at.shape[1], self.task.activation
        label = (at @ self.L[-1, :j])[:, None]
        means = [(at @ self.L[i, :j])[:, None] for i in (j, j + 1)]

        def gap(x: Array) -> Array:
            last = (edge - label - self.L[-1, j] * x) / _not_zero(self.L[-1, j + 1])
            fields = means[0] + self.L[j, j] * x, means[1] + self.L[j + 1, j] * x + self.L[j + 1, j + 1] * last
            reached = self.a[-2] * sigma(fields[0]) + self.a[-1] * sigma(fields[1])
            return rest + reached - self.p * level

        return crossings(gap, at.shape[0], 2).reshape(count, -1)

    def _last_cuts(self, walk: _Walk, rest: Float[Array, " b"]) -> list[Float[Array, "b m"]]:
        """Where the law of the label changes along the last student, and where gradients reach their largest norm."""
        found, j = [], walk.x.shape[1]
        if self.integrated:
            edges = self._posterior(walk).layer(self.L[-1, -1])
            known = walk.x @ self.L[-1, :j]
            found.append((edges - known[:, None]) / _not_zero(self.L[-1, j]))
        if self.task.norm is not None:
            mean, scale, sigma = self._mean(walk), self.L[j, j], self.task.activation
            others = jnp.sum((self.a[:-1] * sigma.derivative(self._fields(walk)[:, self.explicit :])) ** 2, axis=1)

            def excess(x: Array, y: float) -> Array:
                field = mean + scale * x
                f = (rest[:, None] + self.a[-1] * sigma(field)) / self.p
                length = jnp.sqrt(others[:, None] + (self.a[-1] * sigma.derivative(field)) ** 2)
                assert self.task.norm is not None
                return jnp.abs(self.task.loss.error(f, jnp.asarray(y))) * length - self.p * self.task.norm

            found += [crossings(lambda x, y=y: excess(x, y), walk.x.shape[0], _CLIPPED) for y in (1.0, -1.0)]  # type: ignore[misc]
        return found

    def _teacher_cuts(self, walk: _Walk, mean: Float[Array, "b 1"], scale: Float[Array, ""]) -> Float[Array, "b m"]:
        target, count = self.task.target, walk.x.shape[0]
        cuts = [_bends(target.activation if isinstance(target, Committee) else None, mean, scale)]
        if walk.x.shape[1] == self.k - 1 and isinstance(self.task.labels, Classes):
            before = self._fields(walk)
            line = lambda x, level: along_last(target, before, mean + scale * x) - level  # noqa: E731
            cuts += [crossings(partial(line, level=level), count, 2) for level in self._label_levels()]
        return jnp.concatenate(cuts, axis=1)

    def _label_levels(self) -> list[Array]:
        """Values of f* around which classes change."""
        match self.task.labels:
            case Signs(blurred=False):
                return [jnp.zeros(())]
            case Signs():
                width = ROUNDED * jnp.sqrt(self.task.Delta)
            case LogisticClasses(slope=slope):
                width = 2 * ROUNDED / slope
            case _:
                return []
        return [-width, jnp.zeros(()), width]

    def _levels(self, walk: _Walk) -> Float[Array, "b q"] | None:
        """Outputs at which the error jumps or bends, or changes its sign for a test."""
        count, places = walk.x.shape[0], shifts(self.task, self.test)
        if not places:
            return None
        if isinstance(self.task.labels, Classes):
            return jnp.broadcast_to(jnp.stack(places), (count, len(places)))
        return self.task.target(self._fields(walk)[:, : self.k])[:, None] + jnp.stack(places)

    def _points(self, walk: _Walk, x: Float[Array, "b n"], w: Float[Array, "#b n"]) -> Points:
        task, E, j = self.task, self.explicit, walk.x.shape[1]
        before, taught = self._fields(walk), self._teachers(walk)
        teachers = [taught[:, i, None] for i in range(E)]
        students = [before[:, i, None] for i in range(E, j)] + [self._mean(walk) + self.L[j, j] * x]
        sigma = task.activation
        values, slopes = (list(each) for each in zip(*map(sigma.with_derivative, students), strict=True))
        f = sum((self.a[i] / self.p * value for i, value in enumerate(values)), jnp.zeros_like(x))
        length = jnp.sum(walk.x**2, axis=1)[:, None] + x**2
        mu = (walk.x @ self.L[-1, :j])[:, None] + self.L[-1, j] * x
        right, last, mean, f_star = self._taught(walk, taught, mu)
        return Points(
            walk.weights[:, None] * w, students, values, slopes, f, teachers, right, last, mean, f_star, length
        )

    def _taught(
        self, walk: _Walk, teachers: Float[Array, "b k"], mu: Float[Array, "b n"]
    ) -> tuple[Float[Array, "b n"], Float[Array, "b n"], Float[Array, "b n"], Float[Array, "b 1"] | None]:
        """What is known of the teacher: `right`, `last`, `mean_last` and `f_star` of points; mu as the last row of L says."""
        if self.integrated:
            return *self._posterior(walk)(mu, self.L[-1, -1]), mu, None
        f_star = self.task.target(teachers)[:, None]
        right, own = 0.5 * (1 + jnp.sign(f_star)) + 0 * mu, teachers[:, -1:] + 0 * mu
        return right, own * right, own, f_star


def _bends(sigma: Activation | None, mean: Float[Array, "b 1"], scale: Float[Array, ""]) -> Float[Array, "b m"]:
    """Where an activation bends, or where a smooth one saturates, and panels that are short wherever that is."""
    places = jnp.asarray(sigma.kinks if sigma is not None and sigma.kinks else (-_TURNS, 0.0, _TURNS), dtype=float)
    short = jnp.broadcast_to(jnp.asarray(_SHORT), (mean.shape[0], len(_SHORT)))
    bends = jnp.broadcast_to(places, (mean.shape[0], places.size))
    return jnp.concatenate([short, standardised(bends, mean, scale)], axis=1)


def _not_zero(x: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.where(x == 0, jnp.nan, x)
