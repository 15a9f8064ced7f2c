"""A network of p units and its training on a data set, in the letters of docs/theory/committee-dmft.md, section 1.

    F = (1/p) sum_i a_i sigma(h_i),   h_i = w_i.x/sqrt(d) + b_i,   n = alpha d samples
    v <- beta v - eta [lambda w + g sum_mu s_mu l'(F, y) (a/p) sigma'(h) x_mu/sqrt(d)] + sqrt(2 temperature eta) noise
    w <- w + v

The loss is summed over the samples, not averaged. The second layer moves at eta eta_a/d, offsets b at eta/d.
"""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Float64, Key

from dimfree.dataset.committee.protocol import IN_GROUPS, Protocol, check_protocol
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.revisited import RevisitedModel
from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation, Polynomial
from dimfree.functions.label_law import LabelLaw
from dimfree.functions.sample_loss import SampleLoss, SquareLoss
from dimfree.functions.schedule import Schedule
from dimfree.functions.target import Target

_LINEAR = (0.0, 1.0)


class Link(eqx.Module):
    """f* is any function of the teachers' fields, which lie along its last axis; no average over it is known."""

    function: Callable[[Array], Array] = eqx.field(static=True)
    P: Float[Array, "k k"]

    def __call__(self, teacher: Float[Array, "... k"]) -> Float[Array, "..."]:
        """The noiseless label."""
        return self.function(teacher)

    @property
    def units(self) -> int:
        """How many directions the label depends on."""
        return self.P.shape[0]


class CommitteeModel(RevisitedModel):
    """Structure (one trace each) and numbers (a pytree)."""

    about: ClassVar[str] = "a data set with a two-layer network"
    width: int = eqx.field(static=True)  # p
    d: int = eqx.field(static=True)  # of simulations
    protocol: Protocol = eqx.field(static=True)
    train_a: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)
    offsets: bool = eqx.field(static=True)  # whether a b is not zero, or may become so
    spherical: bool = eqx.field(static=True)  # every |w_i| as at the start after every step
    rescaled: bool = eqx.field(static=True)  # the gradient of a batch is divided by b
    activation: Activation
    target: Target | Link
    labels: LabelLaw
    loss: SampleLoss
    schedule: Schedule
    alpha: Float[Array, ""]
    eta: Float[Array, ""]
    Delta: Float[Array, ""]
    lambda_: Float[Array, ""]
    eta_a: Float[Array, ""]
    lambda_a: Float[Array, ""]
    b: Float[Array, ""]
    tau: Float[Array, ""]  # mean time outside of the batch, where batches are persistent
    beta: Float[Array, ""]
    temperature: Float[Array, ""]

    @property
    def units(self) -> int:
        """k, the number of teacher directions."""
        return self.target.units

    @property
    def dimension(self) -> Float[Array, ""]:
        """That of simulations, as a number."""
        return jnp.asarray(float(self.d))

    @property
    def linear(self) -> bool:
        """Whether every average closes: linear units, square loss of values, batches that are chains of two states (4)."""
        units = isinstance(self.activation, Polynomial) and self.activation.coefficients == _LINEAR
        return (
            units
            and self.square
            and not isinstance(self.target, Link)
            and not (self.spherical or self.offsets)
            and self.protocol not in IN_GROUPS
        )

    @property
    def smooth(self) -> bool:
        """Whether forces jump nowhere, so that they have a response (3.1)."""
        return self.loss.continuous and not self.activation.kinks

    @property
    def square(self) -> bool:
        """Whether it is the square loss of values."""
        return isinstance(self.loss, SquareLoss) and not self.labels.signs

    @property
    def noise_variance(self) -> Float[Array, ""]:
        """Of labels that are values: all of the noise that the square loss sees."""
        return self.labels.variance(self.Delta)

    def rates(self, steps: int) -> Float64[np.ndarray, " steps"]:
        """eta at every step."""
        return float(self.eta) * np.asarray(self.schedule(jnp.arange(steps) * self.eta))

    def output(self, a: Float[Array, " p"], sigma: Float[Array, "p ..."]) -> Float[Array, "..."]:
        """F from the values of the units."""
        return jnp.tensordot(a / self.width, sigma, axes=1)

    def draw_labels(
        self, teacher: Float[Array, "n k"], noise: Float[Array, " n"], key: Key[Array, ""]
    ) -> Float[Array, " n"]:
        """Labels from the fields of the teachers; standard normals are the noise where the law can take it from them."""
        match self.labels.source:
            case "normal":
                hidden = noise
            case "uniform":
                hidden = ndtr(noise)
            case _:
                hidden = self.labels.hidden(key, len(noise))
        return self.labels.label(self.target(teacher), hidden, self.Delta)

    def check(self, start: CommitteeStart, steps: int) -> None:
        """Refuse starts, momenta and batches that make no sense for so many steps."""
        if start.M.shape != (self.width, self.target.units) or start.a.shape != (self.width,):
            raise ProblemError(
                f"M has shape {start.M.shape} and a {len(start.a)} entries, but there are {self.width} units and "
                f"{self.target.units} teachers; give one row of M and one entry of a per unit."
            )
        if not 0 <= float(self.beta) < 1:
            raise ProblemError(f"beta is {float(self.beta):g}, it must be at least 0 and below 1.")
        check_protocol(self.protocol, float(self.eta), float(self.b), float(self.tau), steps)
        start.rest(np.asarray(self.target.P))

    @property
    def gradient_scale(self) -> float:
        """g of equation (1)."""
        return 1 / float(self.b) if self.rescaled else 1.0

    @property
    def enter(self) -> float:
        """P(0 -> 1) in one step: b where batches are drawn anew at every step."""
        return float(self.eta / self.tau) if self.protocol == "persistent" else float(self.b)

    @property
    def leave(self) -> float:
        """P(1 -> 0) in one step."""
        return self.enter * (1 - float(self.b)) / float(self.b)
