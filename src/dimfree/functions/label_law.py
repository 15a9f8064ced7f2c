"""How a label comes about, given the teacher's output f*: values with noise, or classes +1 and -1.

docs/theory/losses.md, section 0. Each law needs one random number per label beside f*, which `hidden` draws. Delta is the
variance of Gaussian noise, and the squared scale of Student noise.
"""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Key

from dimfree.random_numbers import normals, student, uniforms


class LabelLaw(eqx.Module):
    """The law of a label y given f*."""

    signs: ClassVar[bool] = False  # whether labels are +1 and -1

    @abstractmethod
    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """What else labels depend on: a number for each."""

    @abstractmethod
    def label(
        self, f_star: Float[Array, "..."], hidden: Float[Array, "..."], Delta: Float[Array, ""]
    ) -> Float[Array, "..."]:
        """The labels."""


class GaussianValues(LabelLaw):
    """y = f* + sqrt(Delta) z."""

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Standard normals."""
        return normals(key, count)

    def label(
        self, f_star: Float[Array, "..."], hidden: Float[Array, "..."], Delta: Float[Array, ""]
    ) -> Float[Array, "..."]:
        """Values and their noise."""
        return f_star + jnp.sqrt(Delta) * hidden


class StudentValues(LabelLaw):
    """y = f* + sqrt(Delta) times a Student number."""

    degrees: Float[Array, ""]  # of freedom

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Student numbers of scale one."""
        return student(key, self.degrees, count)

    def label(
        self, f_star: Float[Array, "..."], hidden: Float[Array, "..."], Delta: Float[Array, ""]
    ) -> Float[Array, "..."]:
        """Values and their noise."""
        return f_star + jnp.sqrt(Delta) * hidden


class Classes(LabelLaw):
    """y = +1 with a probability that depends on f*, else -1."""

    signs: ClassVar[bool] = True

    @abstractmethod
    def P_plus(self, f_star: Float[Array, "..."], Delta: Float[Array, ""]) -> Float[Array, "..."]:
        """The probability of +1."""

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Uniform numbers, against which probabilities are held."""
        return uniforms(key, count)

    def label(
        self, f_star: Float[Array, "..."], hidden: Float[Array, "..."], Delta: Float[Array, ""]
    ) -> Float[Array, "..."]:
        """+1 where the uniform number is below the probability."""
        return jnp.where(hidden < self.P_plus(f_star, Delta), 1.0, -1.0)


class Signs(Classes):
    """y = sign(f* + sqrt(Delta) z), the wrong one with probability flip; Delta above 0 is a probit label."""

    flip: Float[Array, ""]
    blurred: bool = eqx.field(static=True)  # whether Delta is above 0

    def P_plus(self, f_star: Float[Array, "..."], Delta: Float[Array, ""]) -> Float[Array, "..."]:
        """flip + (1 - 2 flip) Phi(f*/sqrt(Delta))."""
        right = ndtr(f_star / jnp.sqrt(Delta)) if self.blurred else 0.5 * (1 + jnp.sign(f_star))
        return self.flip + (1 - 2 * self.flip) * right


class LogisticClasses(Classes):
    """P(y = 1) = 1/(1 + exp(-slope f*))."""

    slope: Float[Array, ""]

    def P_plus(self, f_star: Float[Array, "..."], Delta: Float[Array, ""]) -> Float[Array, "..."]:
        """Without overflow."""
        return jax.nn.sigmoid(self.slope * f_star)
