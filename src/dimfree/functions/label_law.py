"""How a label comes about, given the teacher's output f*: values with noise, classes +1 and -1, or one of several classes.

docs/theory/losses.md, section 0. Each law needs one random number per label beside f*, which `hidden` draws. Delta is the
variance of Gaussian noise, and the squared scale of Student noise.
"""

from abc import abstractmethod
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Key

from dimfree.random_numbers import normals, student, uniforms

Source = Literal["normal", "uniform", "other"]  # standard normals, numbers from [0, 1), or others


class LabelLaw(eqx.Module):
    """The law of a label y given f*."""

    signs: ClassVar[bool] = False  # whether labels are +1 and -1
    source: ClassVar[Source] = "normal"  # of hidden numbers

    def variance(self, Delta: Float[Array, ""]) -> Float[Array, ""]:
        """Of the noise on values."""
        return Delta

    @abstractmethod
    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Draw the other random number that each label depends on."""

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

    source: ClassVar[Source] = "other"
    degrees: Float[Array, ""]  # of freedom

    def variance(self, Delta: Float[Array, ""]) -> Float[Array, ""]:
        """Infinite for two degrees or fewer."""
        return jnp.where(self.degrees > 2, Delta * self.degrees / jnp.maximum(self.degrees - 2, 1e-300), jnp.inf)

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
    source: ClassVar[Source] = "uniform"

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
        """The probability of +1, computed without overflow."""
        return jax.nn.sigmoid(self.slope * f_star)


class OutputClasses(LabelLaw):
    """The number of a class, 0, 1, ..., of as many as the teacher has outputs, which lie along the last axis of f*."""

    @abstractmethod
    def chances(self, f_star: Float[Array, "... c"]) -> Float[Array, "... c"]:
        """The probability of every class."""

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Uniform numbers, against which probabilities are held."""
        return uniforms(key, count)

    def label(
        self, f_star: Float[Array, "... c"], hidden: Float[Array, "..."], Delta: Float[Array, ""]
    ) -> Float[Array, "..."]:
        """The class into whose share of [0, 1) the uniform number falls."""
        ends = jnp.cumsum(self.chances(f_star), axis=-1)[..., :-1]
        return jnp.sum(hidden[..., None] >= ends, axis=-1).astype(float)


class Argmax(OutputClasses):
    """The class of the largest output, with probability flip one of the others, all of them equally likely."""

    flip: Float[Array, ""]

    def chances(self, f_star: Float[Array, "... c"]) -> Float[Array, "... c"]:
        """1 - flip for the largest output."""
        count = f_star.shape[-1]
        largest = jnp.argmax(f_star, axis=-1)[..., None] == jnp.arange(count)
        return jnp.where(largest, 1 - self.flip, self.flip / (count - 1))


class SoftmaxClasses(OutputClasses):
    """P(y = c) proportional to exp(slope f*_c)."""

    slope: Float[Array, ""]

    def chances(self, f_star: Float[Array, "... c"]) -> Float[Array, "... c"]:
        """The probability of every class, computed without overflow."""
        return jax.nn.softmax(self.slope * f_star)
