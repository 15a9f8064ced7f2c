"""The model of training many times on one data set (docs/theory/dmft.md, section 1).

    x = c v/sqrt(N) + sqrt(Delta) z,   h = w.x/sqrt(N),   m = w.v/N,   C = w.w/N,   M = alpha N samples
    w(t+1) = w(t) - eta [lambda w(t) + a sum_mu s_mu(t) Lambda'(y_mu, h_mu(t)) x_mu/sqrt(N)] + sqrt(2 temperature eta) noise

The loss is summed over the samples, not averaged. Teachers have c = 0, Delta = 1 and zeta = z.v/sqrt(N).
Losses of real labels depend on the residual y - h only.
"""

from math import isfinite

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import erf, erfc
from jaxtyping import Array, Float, Int

from dimfree.dataset.outliers import OutlierLaw, drawn, mixture
from dimfree.errors import ProblemError, suggest
from dimfree.functions.convex import Loss

MIXTURES = ("two-clusters", "three-clusters")
TEACHERS = ("linear-teacher", "sign-teacher", "phase-retrieval")
TASKS = MIXTURES + TEACHERS


class MultiPassModel(eqx.Module):
    """Static structure (one trace each) and numbers (a pytree); `multi_pass_model` makes checked ones."""

    task: str = eqx.field(static=True)
    spherical: bool = eqx.field(static=True)  # whether |w|² is reset to its start after every step
    rescaled: bool = eqx.field(static=True)  # whether the gradient of a batch is divided by b
    loss: Loss
    outliers: OutlierLaw | None  # outliers among the labels of a linear teacher
    alpha: Float[Array, ""]
    Delta: Float[Array, ""]
    lambda_: Float[Array, ""]
    eta: Float[Array, ""]
    b: Float[Array, ""]
    tau: Float[Array, ""]  # mean time outside of the batch; 0 stands for vanilla SGD
    temperature: Float[Array, ""]
    c0: Float[Array, ""]  # |w_perp(0)|²/N
    m0: Float[Array, ""]
    L: Float[Array, ""]
    rho0: Float[Array, ""]
    kappa_L: Float[Array, ""]
    label_noise: Float[Array, ""]  # a variance

    @property
    def has_teacher(self) -> bool:
        """Whether labels are made from zeta, the projection of the input on the teacher."""
        return self.task in TEACHERS

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, so that samples are classified rightly or wrongly."""
        return self.task not in ("linear-teacher", "phase-retrieval")

    @property
    def seen_slope(self) -> Float[Array, ""]:
        """E[y zeta] of a linear teacher: the slope of labels that the square loss sees."""
        return mixture(self.label_noise, self.outliers).moments(jnp.ones_like(self.label_noise))[0]

    @property
    def seen_noise(self) -> Float[Array, ""]:
        """The variance of y around that slope, which the square loss sees as noise."""
        if self.outliers is None:
            return self.label_noise
        slope, power = mixture(self.label_noise, self.outliers).moments(jnp.ones_like(self.label_noise))
        return power - slope**2

    @property
    def start_norm(self) -> Float[Array, ""]:
        """C(0,0) = |w(0)|²/N, which the sphere keeps (section 1.3)."""
        return self.c0 + self.m0**2

    @property
    def gradient_scale(self) -> Float[Array, ""]:
        """a of equation (1)."""
        return 1 / self.b if self.rescaled else jnp.ones_like(self.b)

    @property
    def enter(self) -> Float[Array, ""]:
        """P(0 -> 1) in one step; vanilla SGD is the chain with tau = eta/b."""
        return jnp.where(self.tau > 0, self.eta / jnp.where(self.tau > 0, self.tau, 1.0), self.b)

    @property
    def leave(self) -> Float[Array, ""]:
        """P(1 -> 0) in one step."""
        return self.enter * (1 - self.b) / self.b

    @property
    def kappa(self) -> Float[Array, ""]:
        """The correlation of a sample's membership between two steps, equation (2)."""
        return 1 - self.enter / self.b

    def p11(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        """P(s(t+n) = 1 | s(t) = 1), equation (2)."""
        return self.b + (1 - self.b) * self.kappa**n

    def label(
        self, c: Float[Array, "..."], zeta: Float[Array, "..."], noise: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """The label that the loss gets: y, or y up to its sign for phase retrieval; noise is standard normal."""
        seen = drawn(zeta, noise, self.label_noise, self.outliers)
        match self.task:
            case "two-clusters":
                return c
            case "three-clusters":
                return jnp.where(c == 0, -1.0, 1.0)
            case "sign-teacher":
                return jnp.where(seen < 0, -1.0, 1.0)
            case _:
                return seen

    def value(self, y: Float[Array, "..."], h: Float[Array, "..."]) -> Float[Array, "..."]:
        """Lambda(y, h)."""
        if self.task == "phase-retrieval":
            return self.kappa_L * (y**2 - h**2) ** 2
        return self.loss(self._margin(y, h))

    def force(self, y: Float[Array, "..."], h: Float[Array, "..."]) -> Float[Array, "..."]:
        """Lambda'(y, h), the derivative in h."""
        match self.task:
            case "phase-retrieval":
                return 4 * self.kappa_L * h * (h**2 - y**2)
            case "three-clusters":
                return 2 * y * h * self.loss.derivative(self._margin(y, h))
            case "linear-teacher":
                return self.loss.derivative(self._margin(y, h))
            case _:
                return y * self.loss.derivative(self._margin(y, h))

    def curvature(self, y: Float[Array, "..."], h: Float[Array, "..."]) -> Float[Array, "..."]:
        """Lambda''(y, h), the second derivative in h."""
        if self.task == "phase-retrieval":
            return 4 * self.kappa_L * (3 * h**2 - y**2)
        u = self._margin(y, h)
        if self.task == "three-clusters":
            return 2 * y * self.loss.derivative(u) + 4 * h**2 * self.loss.second_derivative(u)
        return self.loss.second_derivative(u)

    def _margin(self, y: Float[Array, "..."], h: Float[Array, "..."]) -> Float[Array, "..."]:
        """The u of ell(u); for the linear teacher 1 - u is the residual y - h."""
        match self.task:
            case "three-clusters":
                return y * (h**2 - self.L**2)
            case "linear-teacher":
                return 1 - y + h
            case _:
                return y * h

    def accuracy(self, y: Float[Array, "..."], h: Float[Array, "..."]) -> Float[Array, "..."]:
        """Which samples are classified correctly, as 0 and 1; for labels +-1."""
        return jnp.where(self._margin(y, h) > 0, 1.0, 0.0)

    def generalisation_error(self, m: Float[Array, "..."], C: Float[Array, "..."]) -> Float[Array, "..."]:
        """Section 2.2: misclassified fraction, or for regression the mean loss, on fresh noiseless samples."""
        match self.task:
            case "two-clusters":
                return 0.5 * erfc(_cosine(m, C) / jnp.sqrt(2 * self.Delta))
            case "three-clusters":
                spread = jnp.sqrt(2 * self.Delta * C)
                missed = erf((self.L - m) / spread) + erf((self.L + m) / spread)
                return self.rho0 * erfc(self.L / spread) + 0.5 * (1 - self.rho0) * missed
            case "linear-teacher":
                return 0.5 * (1 - 2 * m + C)
            case "sign-teacher":
                return jnp.arccos(jnp.clip(_cosine(m, C), -1.0, 1.0)) / jnp.pi
            case _:
                return self.kappa_L * (3 - 2 * (C + 2 * m**2) + 3 * C**2)


def _cosine(m: Float[Array, "..."], C: Float[Array, "..."]) -> Float[Array, "..."]:
    """m/sqrt(C), and 0 for weights that are all zero."""
    return jnp.where(C > 0, m / jnp.sqrt(jnp.where(C > 0, C, 1.0)), 0.0)


def multi_pass_model(
    task: str,
    loss: Loss,
    *,
    alpha: float,
    eta: float,
    Delta: float = 1.0,
    lambda_: float = 0.0,
    b: float = 1.0,
    tau: float | None = None,
    rescaled: bool = False,
    spherical: bool = False,
    temperature: float = 0.0,
    c0: float = 1.0,
    m0: float = 0.0,
    L: float = 0.7,
    rho0: float = 0.5,
    kappa_L: float = 0.25,
    label_noise: float = 0.0,
    outliers: OutlierLaw | None = None,
) -> MultiPassModel:
    """A model whose numbers make sense; b = 1 is full batch, no tau (or 0) is vanilla SGD."""
    if task not in TASKS:
        raise ProblemError(f"there is no task {task!r}; {suggest(task, TASKS)}")
    if task == "linear-teacher" and not loss.of_residual:
        raise ProblemError(
            f"a linear teacher gives real labels, for which the {loss.name} loss has no meaning; "
            "set loss = 'square', 'huber' or 'absolute'."
        )
    if task in TEACHERS and Delta != 1.0:
        raise ProblemError(f"Delta is {Delta:g}, but inputs of a teacher are standard normal; leave Delta at 1.")
    if label_noise and task in MIXTURES:
        raise ProblemError(f"label_noise is {label_noise:g}, but labels of {task} are noiseless; set it to 0.")
    positive = {"alpha": alpha, "eta": eta, "Delta": Delta, "kappa_L": kappa_L}
    not_negative = {"lambda": lambda_, "temperature": temperature, "c0": c0, "label_noise": label_noise, "L": L}
    for name, number in (positive | not_negative | {"m0": m0}).items():
        if not isfinite(number) or (name != "m0" and number < 0) or (name in positive and number == 0):
            wanted = "positive" if name in positive else "finite" if name == "m0" else "zero or positive"
            raise ProblemError(f"{name} is {number:g}, it must be a {wanted} number.")
    if not 0 <= rho0 <= 1:
        raise ProblemError(f"rho0 is {rho0:g}, but it is the fraction of samples in the middle cluster; choose 0 to 1.")
    if spherical and c0 == m0 == 0:
        raise ProblemError("c0 and m0 are 0, but weights of norm zero have no sphere to stay on; raise c0 or m0.")
    check_batches(eta, b, tau)
    numbers = (alpha, Delta, lambda_, eta, b, tau or 0.0, temperature, c0, m0, L, rho0, kappa_L, label_noise)
    arrays = (jnp.asarray(number, dtype=float) for number in numbers)
    return MultiPassModel(task, spherical, rescaled, loss, outliers, *arrays)


def check_batches(eta: float, b: float, tau: float | None) -> None:
    """Refuse batches that are no fraction, and persistence whose probabilities exceed one (section 1.2)."""
    if not 0 < b <= 1:
        raise ProblemError(f"the batch fraction b is {b:g}, it must lie in (0, 1]; b = 1 is full batch.")
    if not tau:
        return
    shortest = max(eta, eta * (1 - b) / b)
    if not tau >= shortest * (1 - 1e-12):
        raise ProblemError(
            f"with b = {b:g} and eta = {eta:g} a persistence time tau of {tau:g} needs probabilities above one; "
            f"choose tau >= {shortest:g}, or none for vanilla SGD."
        )
