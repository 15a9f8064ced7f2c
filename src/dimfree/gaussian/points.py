"""Fixed points for Gaussian averages: scrambled Sobol points mapped to standard normals.

The points depend on nothing but their dimension, their number and the index of the scrambling. A right-hand side that
averages over them is therefore a deterministic, smooth function of the state, as adaptive solvers need, and two
scramblings give independent unbiased estimates, from which an error bar follows.
"""

from functools import lru_cache
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from dimfree.programs.compiled import kept_numbers

_SEED = 20230808
Numbers = TypeVar("Numbers")
_BITS = 30  # resolution of the Sobol generator: its coordinates are multiples of 2^-30


@lru_cache(maxsize=32)
def normal_points(dimension: int, count: int, scramble: int = 0) -> Float[np.ndarray, "count dimension"]:
    """Return `count` (a power of two) points in `dimension` directions; mirror images are left to the caller."""
    if count < 1 or count & (count - 1):
        raise ValueError(f"count was {count}; expected a power of two, for which Sobol points are balanced.")
    points = _sobol_normals(dimension, count, scramble)
    points.setflags(write=False)
    return points


@kept_numbers
def _sobol_normals(dimension: int, count: int, scramble: int) -> Float[np.ndarray, "count dimension"]:
    from scipy.stats import qmc  # the slowest import of all

    sampler = qmc.Sobol(dimension, scramble=True, bits=_BITS, rng=np.random.default_rng((_SEED, scramble)))
    uniform = sampler.random_base2(count.bit_length() - 1) + 0.5 ** (_BITS + 1)  # cell centres: never 0 or 1
    points: Float[np.ndarray, "count dimension"] = ndtri(uniform)
    return points


def in_single_precision(numbers: Numbers) -> Numbers:
    """A tree with its arrays in single precision, which rounds far less than points are wrong."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, numbers)
