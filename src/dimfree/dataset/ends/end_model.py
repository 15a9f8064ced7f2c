"""The model of where training ends: a task for the theory, from Gaussian covariates, random features or a table."""

from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from dimfree.arrays import read_archive
from dimfree.dataset.ends.covariates import Covariates as Spectrum
from dimfree.dataset.ends.covariates import from_matrices, from_spectrum
from dimfree.dataset.ends.random_features import features
from dimfree.dataset.ends.source import FeatureSource, GaussianSource, Source
from dimfree.dataset.ends.table import estimated, pool_of
from dimfree.dataset.ends.task import Task
from dimfree.dataset.features import Covariates, Outliers, RandomFeatures, Table
from dimfree.dataset.outliers import OutlierLaw
from dimfree.description import Model
from dimfree.errors import ProblemError
from dimfree.functions.convex import Loss
from dimfree.functions.features import feature
from dimfree.functions.loss import loss
from dimfree.gaussian.linear_part import linear_part

if TYPE_CHECKING:
    from dimfree.dataset.problem import MultiPass

Featured = Covariates | RandomFeatures | Table
_MATRICES = ("Psi", "Phi", "Omega", "theta")


class EndModel(Model):
    """Training on a data set: the task of its learning curve, if one is known, and the source of data for experiments."""

    about: ClassVar[str] = "features with a covariance, of which the end alone is known"
    dimension: int = eqx.field(static=True)
    descends: bool = eqx.field(static=True)  # whether training ends at the minimum: full batch and no noise
    task: Task | None
    source: Source


def covariates_model(data: Featured, training: "MultiPass", dimension: int) -> EndModel:
    """Structure and numbers of a problem whose samples have features."""
    source: Source
    ell = loss(training.loss, training.width)
    labels = ("linear" if ell.of_residual else "sign") if isinstance(data, Table) else data.labels
    _check_loss(labels, ell)
    match data:
        case Covariates():
            covariates, source = _gaussian(data, dimension)
        case RandomFeatures():
            sigma = feature(data.activation)
            covariates = features(sigma).limit(jnp.asarray(data.per_input))
            source = FeatureSource(sigma, linear_part(sigma).kappa0, jnp.asarray(data.per_input))
        case Table():
            pool = pool_of(data, dimension, labels == "linear")
            covariates, source = estimated(pool, labels), pool
    noise = 0.0 if isinstance(data, Table) else data.noise
    numbers = (data.samples, training.weight_decay, noise)
    alpha, lambda_, Delta = (jnp.asarray(number, dtype=float) for number in numbers)
    law = None if isinstance(data, Table) else outlier_law(data.outliers)
    task = None if training.spherical else Task(labels, ell, covariates, alpha, lambda_, Delta, law)
    return EndModel(dimension, descends(training), task, source)


def outlier_law(given: Outliers | None) -> OutlierLaw | None:
    """In numbers."""
    if given is None:
        return None
    return OutlierLaw(*(jnp.asarray(number, dtype=float) for number in (given.fraction, given.slope, given.variance)))


def descends(training: "MultiPass") -> bool:
    """Whether training ends at the minimum of its cost."""
    return training.batch_fraction == 1 and training.temperature == 0


def _check_loss(labels: str, ell: Loss) -> None:
    if labels == "linear" and not ell.of_residual:
        raise ProblemError(
            f"linear labels are real numbers, for which the {ell.name} loss has no meaning; "
            "set training.loss = 'square', 'huber' or 'absolute'."
        )


def _gaussian(data: Covariates, dimension: int) -> tuple[Spectrum, GaussianSource]:
    if data.file is None:
        omega, theta = np.array(data.spectrum), np.array(data.teacher)
        phi2 = omega**2 * theta**2 / len(omega)
        rho = float(np.mean(omega * theta**2)) + data.unexplained
        made = from_spectrum(omega, phi2, rho)
        return made, GaussianSource(made.omega, jnp.asarray(theta), made.rho)
    arrays = read_archive(data.file, _MATRICES, "[data]")
    found = from_matrices(*(arrays[name] for name in _MATRICES))
    d = len(found.omega)
    if d != dimension:
        raise ProblemError(f"the file {str(data.file)!r} is about {d} features; set dimension = {d}.")
    seen = np.asarray(found.omega) > 0
    theta = np.sqrt(d * np.asarray(found.phi2), where=seen, out=np.zeros(d)) / np.where(seen, found.omega, 1.0)
    return found, GaussianSource(found.omega, jnp.asarray(theta), found.rho)
