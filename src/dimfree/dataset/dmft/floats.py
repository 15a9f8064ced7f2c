"""The numbers of a multi-pass model for code that runs outside jit."""

from typing import NamedTuple

from dimfree.dataset.multi_pass_model import MultiPassModel


class Floats(NamedTuple):
    """The numbers of a model, as Python floats."""

    alpha: float
    Delta: float
    lambda_: float
    eta: float
    b: float
    temperature: float
    c0: float
    m0: float
    start_norm: float
    rho0: float
    seen_slope: float
    seen_noise: float
    gradient_scale: float
    enter: float
    leave: float

    @classmethod
    def of(cls, model: MultiPassModel) -> "Floats":
        """Read them off once; every use of a jax scalar costs more than the step it is for."""
        return cls(**{name: float(getattr(model, name)) for name in cls._fields})
