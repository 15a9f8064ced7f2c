"""The programs of the main descriptions are lowered for CUDA and TPU: they need nothing of a CPU, and no host inside a loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import dimfree as df
from dimfree.description.running import advanced, begun
from dimfree.programs.remembered import forget
from dimfree.programs.tracing import for_programs
from dimfree.setting import model_of, setting_of

SMALL = df.Problem(dimension=60, network=df.TwoLayer(width=2), data=df.Teacher(units=1), run=df.Run(until=1.0))
NAMED = {
    one.name: one
    for one in (
        df.experiments.VectorSGD(),
        df.experiments.OverlapChain(),
        df.theories.HighDimensional(),
        df.theories.Dimensionless(),
    )
}
HOST = ("callback", "infeed", "outfeed", "SendToHost", "RecvFromHost")


def lowered(platform: str, function, *args) -> str:
    """The text of a program for another device, which need not be there."""
    numbers, rest = eqx.partition(args, eqx.is_array)
    with for_programs():
        traced = jax.jit(lambda given: eqx.filter(function(*eqx.combine(given, rest)), eqx.is_array)).trace(numbers)
    return traced.lower(lowering_platforms=(platform,)).as_text()


@pytest.fixture(autouse=True)
def _nothing_traced_before():
    """What other tests traced outside a program checks its numbers through the host."""
    forget()


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("name", NAMED)
def test_a_run_is_lowered_without_the_host(name, platform):
    model = model_of(SMALL)
    one, numbers = NAMED[name].twin(model)
    key = jax.random.key(0)
    start = setting_of(SMALL).start_of(SMALL, key, NAMED[name].needs)
    state = begun(one, numbers, start, 2 if NAMED[name].stochastic else 1, key)
    text = lowered(platform, advanced, one, numbers, state, jnp.linspace(0.0, 1.0, 3))
    assert len(text) > 1000
    assert not [word for word in HOST if word in text]


def test_a_call_of_the_host_would_be_seen():
    def calls_home(x):
        return jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(ValueError, match="is different from the lowering platform cuda"):
        lowered("cuda", calls_home, jnp.ones(2))
