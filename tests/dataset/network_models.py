"""Networks on data sets for tests: starts, and models whose other numbers are plain."""

import jax.numpy as jnp
import numpy as np

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.functions.label_law import GaussianValues
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import SquareLoss
from dimfree.functions.schedule import Constant
from dimfree.functions.target import Committee

TWO = CommitteeStart(np.array([[0.2, 0.1], [-0.1, 0.3]]), np.array([[1.0, 0.2], [0.2, 0.8]]), np.array([1.0, -0.6]))
BROKEN = CommitteeStart(np.array([[0.4, 0.1], [0.1, 0.3]]), np.array([[1.0, 0.1], [0.1, 0.8]]), np.ones(2))
ONE = CommitteeStart(np.array([[0.3]]), np.array([[1.0]]), np.ones(1))
CORRELATED = [[1.0, 0.3], [0.3, 1.2]]


def model(start=TWO, *, units="linear", taught=None, P=None, schedule=None, **changes):
    """A network whose teacher has as many units as the start knows."""
    p, k = start.M.shape
    structure = {
        "protocol": "vanilla",
        "train_a": False,
        "train_b": False,
        "offsets": False,
        "spherical": False,
        "rescaled": False,
        "d": 200,
    }
    numbers = dict.fromkeys(("Delta", "lambda_", "eta_a", "lambda_a", "tau", "beta", "temperature"), 0.0)
    numbers |= {"alpha": 2.0, "eta": 0.3, "b": 1.0}
    structure |= {name: value for name, value in changes.items() if name in structure}
    numbers |= {name: value for name, value in changes.items() if name in numbers}
    assert {*changes} <= {*structure, *numbers}
    return CommitteeModel(
        width=p,
        activation=activation(units),
        target=Committee(activation(taught or units), jnp.ones(k), jnp.asarray(np.eye(k) if P is None else P)),
        labels=GaussianValues(),
        loss=SquareLoss(),
        schedule=schedule or Constant(),
        **structure,
        **{name: jnp.asarray(value) for name, value in numbers.items()},
    )


def rms(values):
    return float(np.sqrt(np.mean(values**2)))
