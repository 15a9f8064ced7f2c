"""The first two steps of one unit and one teacher, by quadrature (docs/theory/committee-dmft.md, section 5.5).

The second step is taken on the batch of the first one or on a fresh batch of the same size. Everything is an integral over h* and
the normals n_0 and n_1 of equation (6): nothing is drawn, so that labels with heavy tails do no harm.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.errors import RefusalError
from dimfree.gaussian.nodes import gauss_hermite


class TwoSteps(NamedTuple):
    """M and Q at times 0, 1 and 2."""

    M: tuple[float, float, float]
    Q: tuple[float, float, float]


def two_steps(model: CommitteeModel, start: CommitteeStart, *, reused: bool, nodes: int = 160) -> TwoSteps:
    """Two steps with full batches, without momentum, weight decay and label noise."""
    plain = not (float(model.beta) or float(model.lambda_) or float(model.Delta) or float(model.temperature))
    if (
        (model.width, model.units) != (1, 1)
        or not plain
        or model.spherical
        or model.labels.signs
        or model.train_a
        or model.offsets
    ):
        raise RefusalError(
            "two steps by quadrature are for one unit and one teacher without noise, decay, momentum and offsets."
        )
    model.check(start, 2)
    P = np.asarray(model.target.P)
    numbers = (start.along(P)[0, 0], start.rest(P)[0, 0], start.a[0])
    x, weight = gauss_hermite(nodes, 1)
    M, Q = _solved(model, jnp.asarray(numbers), jnp.asarray(x[:, 0]), jnp.asarray(weight), jnp.asarray(reused))
    root = float(P[0, 0]) ** 0.5
    return TwoSteps(tuple((root * M).tolist()), tuple(Q.tolist()))


@jax.jit
def _solved(
    model: CommitteeModel, begin: Float[Array, " 3"], x: Float[Array, " n"], weight: Float[Array, " n"], reused: Array
) -> tuple[Float[Array, " 3"], Float[Array, " 3"]]:
    alpha, eta, a = model.alpha, model.eta, begin[2]
    zeta, n0 = x[:, None], x[None, :]
    y = model.target(jnp.sqrt(model.target.P[0, 0]) * zeta[..., None])

    def force(h: Float[Array, "n n"]) -> Float[Array, "n n"]:
        return -model.loss.error(a * model.activation(h), y) * a * model.activation.derivative(h)

    def mean(values: Float[Array, "n n"]) -> Float[Array, ""]:
        return weight @ values @ weight

    m0, A0 = begin[0], begin[1]
    f0 = force(m0 * zeta + A0 * n0)
    size = jnp.sqrt(mean(f0**2))
    phi = f0 / size
    m1 = m0 - eta * alpha * mean(f0 * zeta)
    A1 = jnp.stack([A0 - eta * alpha * mean(f0 * n0), -eta * jnp.sqrt(alpha) * size])

    def over_n1(sums: Float[Array, " 5"], node: Float[Array, " 2"]) -> tuple[Float[Array, " 5"], None]:
        n1, share = node
        echo = jnp.where(reused, phi / jnp.sqrt(alpha), 0.0)
        f1 = force(m1 * zeta + A1[0] * n0 + A1[1] * (n1 + echo))
        seen = jnp.stack([mean(f1 * zeta), mean(f1 * n0), mean(f1) * n1, mean(f1 * phi), mean(f1**2)])
        return sums + share * seen, None

    (f_zeta, f_n0, f_n1, f_phi, f_f), _ = jax.lax.scan(over_n1, jnp.zeros(5), jnp.stack([x, weight], axis=1))
    along = jnp.where(reused, f_phi, 0.0)  # of a fresh batch nothing lies along the forces of the first one
    m2 = m1 - eta * alpha * f_zeta
    first = A1[0] - eta * alpha * f_n0
    second = A1[1] - eta * (alpha * f_n1 + jnp.sqrt(alpha) * along)
    new = eta**2 * alpha * (f_f - along**2)
    Q = jnp.stack([A0**2 + m0**2, A1 @ A1 + m1**2, first**2 + second**2 + new + m2**2])
    return jnp.stack([m0, m1, m2]), Q
