"""Multi-pass SGD with the square loss, exactly and without sampling (docs/theory/dmft.md, sections 2 and 4).

Every average of the dynamical mean-field theory closes, for full batch, vanilla and persistent SGD at finite step. Row t of
all two-time functions follows from earlier rows, at a cost of O(t²): nothing is iterated.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dimfree.errors import RefusalError
from dimfree.functions.loss import Square
from dimfree.functions.multi_pass import MultiPassModel


class SquareSolution(NamedTuple):
    """Times 0 to T in steps; two-time functions have the later time first."""

    m: Float[Array, " n"]
    C: Float[Array, "n n"]  # full overlap, symmetric
    C12: Float[Array, "n n"]  # of two runs with the same data and start, other batches and thermal noise
    R: Float[Array, "n n"]  # R[t, s] = (1/N) tr dw(t)/dw(s+1), zero unless s < t
    K: Float[Array, "n n"]  # response of the force, zero unless s <= t
    M: Float[Array, "n n"]  # correlation of the force, symmetric
    train_loss: Float[Array, " n"]
    generalisation_error: Float[Array, " n"]
    lambda_hat: Float[Array, " n"]  # effective regularisation
    memory: Float[Array, "n n"]  # M_R of the continuous-time equations, zero unless s < t
    noise: Float[Array, "n n"]  # M_C of the continuous-time equations


class _Rows(NamedTuple):
    """What is known before the current time; later entries are zero, so that sums over the past need no masks."""

    m: Float[Array, " n"]
    rho: Float[Array, " n"]  # response to the start
    d: Float[Array, " n"]
    R: Float[Array, "n n"]
    C: Float[Array, "n n"]  # orthogonal to v, as C12; lower triangle
    C12: Float[Array, "n n"]
    K: Float[Array, "n n"]
    M: Float[Array, "n n"]  # lower triangle
    M12: Float[Array, "n n"]
    train_loss: Float[Array, " n"]


class _Now(NamedTuple):
    """What the responses at time t have collected; all of it is linear in them."""

    R: Float[Array, " n"]
    rho: Float[Array, ""]
    m: Float[Array, ""]
    forces: Float[Array, " n"]  # sum_r R(t, r) M(r, .)
    kept: Float[Array, " n"]  # sum_r R(t, r) P11(t - max(r, .)) M(r, .)


@eqx.filter_jit
def solve(model: MultiPassModel, steps: int) -> SquareSolution:
    """The trajectory of `steps` steps; two clusters or a linear teacher."""
    if not isinstance(model.loss, Square) or model.task not in ("two-clusters", "linear-teacher"):
        raise RefusalError(
            f"the exact solution needs the square loss with two clusters or a linear teacher, "
            f"not the {model.loss.name} loss with {model.task}; use the path solver."
        )
    n = steps + 1
    line, square = jnp.zeros(n), jnp.zeros((n, n))
    rows = _Rows(line, line.at[0].set(1.0), line, square, square, square, square, square, square, line)
    rows = jax.lax.fori_loop(0, n, lambda t, rows: _advance(model, t, rows), rows)
    C, C12 = (perp + rows.m[:, None] * rows.m for perp in (_both_triangles(rows.C), rows.C12))
    M = _both_triangles(rows.M)
    return SquareSolution(
        m=rows.m,
        C=C,
        C12=C12,
        R=rows.R,
        K=rows.K,
        M=M,
        train_loss=rows.train_loss,
        generalisation_error=model.generalisation_error(rows.m, jnp.diagonal(C)),
        lambda_hat=model.lambda_ + model.alpha * model.Delta * jnp.diagonal(rows.K),
        memory=-model.alpha * model.Delta * jnp.tril(rows.K, -1) / model.eta,
        noise=model.alpha * model.Delta * M,
    )


def _advance(model: MultiPassModel, t: Int[Array, ""], rows: _Rows) -> _Rows:
    """From what is known before time t, and the responses at t, to the responses at t + 1."""
    stays = model.p11(jnp.maximum(t - jnp.arange(len(rows.m)), 0))
    now = _present(model, t, rows, stays)
    rows = _with_kernels(model, t, _with_overlaps(model, t, rows, now), now, stays)
    shrink, pull = 1 - model.eta * model.lambda_, model.eta * model.alpha * model.Delta * rows.K[t]
    rho = shrink * now.rho - pull @ rows.rho  # (W1)
    R = (shrink * now.R - pull @ rows.R).at[t].set(1.0)  # (W2)
    # after the last time there is no next row
    return rows._replace(rho=rows.rho.at[t + 1].set(rho, mode="drop"), R=rows.R.at[t + 1].set(R, mode="drop"))


def _present(model: MultiPassModel, t: Int[Array, ""], rows: _Rows, stays: Float[Array, " n"]) -> _Now:
    """m(t) of (W3) and the forces so far; on the sphere, after projection: |w| is deterministic."""
    R, rho = rows.R[t], rows.rho[t]
    # M is symmetric, known by its lower triangle: r <= r' from rows, r > r' from columns
    diagonal, sooner = jnp.diagonal(rows.M), rows.M @ R
    later, later_kept = (one @ rows.M - one * diagonal for one in (R, R * stays))
    m = rho * model.m0 - model.eta * model.alpha * R @ rows.d
    now = _Now(R, rho, m, sooner + later, stays * sooner + later_kept)
    if not model.spherical:
        return now
    norm = m**2 + model.c0 * rho**2 + _kicks(model, now) @ R
    nu = jnp.where(t > 0, 1 / jnp.sqrt(norm), 1.0)
    return jax.tree.map(lambda one: nu * one, now)


def _kicks(model: MultiPassModel, now: _Now) -> Float[Array, " n"]:
    """sum_r R(t, r) [...] of (W4)."""
    return model.eta**2 * model.alpha * model.Delta * now.forces + 2 * model.temperature * model.eta * now.R


def _with_overlaps(model: MultiPassModel, t: Int[Array, ""], rows: _Rows, now: _Now) -> _Rows:
    """m(t), C(t, .) and C12(t, .)."""
    R, rho, m = rows.R.at[t].set(now.R), rows.rho.at[t].set(now.rho), rows.m.at[t].set(now.m)
    start, M12 = model.c0 * now.rho * rho, model.eta**2 * model.alpha * model.Delta * now.R @ rows.M12
    C, C12 = start + R @ _kicks(model, now), start + R @ M12  # (W4)
    return rows._replace(R=R, rho=rho, m=m, C=rows.C.at[t].set(C), C12=_with_row(rows.C12, t, C12))


def _with_kernels(model: MultiPassModel, t: Int[Array, ""], rows: _Rows, now: _Now, stays: Float[Array, " n"]) -> _Rows:
    """K(t, .), d(t), M(t, .), M12(t, .) and the training loss."""
    a, b, kick, R = model.gradient_scale, model.b, model.Delta * model.eta, now.R
    row = (-a * kick * (R * stays) @ rows.K).at[t].set(a * b)
    K = rows.K.at[t].set(row)  # (S1)
    Q = _errors(model, jnp.zeros_like(R).at[t].set(1.0), rows.m, rows.C[t])
    F, M12 = K @ Q, K @ _errors(model, row, rows.m, row @ rows.C12)  # (S2), and section 4.2
    equal_time = b * Q[t] - 2 * kick * (R * stays) @ F + kick**2 * now.kept @ R  # (S4)
    M = (a * (stays * F - kick * now.kept)).at[t].set(a**2 * equal_time)  # (S3)
    return rows._replace(
        K=K,
        d=rows.d.at[t].set(-jnp.sum(row) if model.has_teacher else row @ (rows.m - 1)),
        M=rows.M.at[t].set(M),
        M12=_with_row(rows.M12, t, M12),
        train_loss=rows.train_loss.at[t].set(0.5 * (Q[t] - 2 * kick * R @ F + kick**2 * now.forces @ R)),
    )


def _errors(
    model: MultiPassModel, k: Float[Array, " n"], m: Float[Array, " n"], kC: Float[Array, " n"]
) -> Float[Array, " n"]:
    """k Q for weights k of times, given k C_perp; Q is the correlation of residuals that never met their batches."""
    overlap = kC if model.has_teacher else kC + (k @ m) * m
    return (k @ (1 - m)) * (1 - m) + model.Delta * overlap + model.label_noise * jnp.sum(k)


def _with_row(matrix: Float[Array, "n n"], t: Int[Array, ""], row: Float[Array, " n"]) -> Float[Array, "n n"]:
    """A symmetric matrix with its row and column t."""
    return matrix.at[t].set(row).at[:, t].set(row)


def _both_triangles(lower: Float[Array, "n n"]) -> Float[Array, "n n"]:
    return lower + jnp.tril(lower, -1).T
