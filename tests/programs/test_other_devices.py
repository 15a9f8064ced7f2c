"""The programs of the main descriptions are lowered for CUDA and TPU: they need nothing of a CPU, and no host inside a loop.

They are traced in a process of their own, because other tests leave threads that make programs, which may take minutes.
"""

import json
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import dimfree as df
from dimfree.description.running import advanced, begun
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
PLATFORMS = ("cuda", "tpu")
HOST = ("callback", "infeed", "outfeed", "SendToHost", "RecvFromHost")


def lowered(platform: str, function, *args) -> str:
    """The text of a program for another device, which need not be there."""
    numbers, rest = eqx.partition(args, eqx.is_array)
    with for_programs():
        whole = jax.jit(lambda given: eqx.filter(function(*eqx.combine(given, rest)), eqx.is_array))
        return jax.export.export(whole, platforms=(platform,))(numbers).mlir_module()


def seen(name: str, platform: str) -> tuple[int, list[str]]:
    """The length of a run's program, and what it asks of the host."""
    model = model_of(SMALL)
    one, numbers = NAMED[name].twin(model)
    key = jax.random.key(0)
    start = setting_of(SMALL).start_of(SMALL, key, NAMED[name].needs)
    state = begun(one, numbers, start, 2 if NAMED[name].stochastic else 1, key)
    text = lowered(platform, advanced, one, numbers, state, jnp.linspace(0.0, 1.0, 3))
    return len(text), [word for word in HOST if word in text]


@pytest.mark.slow
def test_runs_are_lowered_without_the_host():
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == len(NAMED) * len(PLATFORMS)
    assert all(length > 1000 for length, _ in found.values())
    assert {name: words for name, (_, words) in found.items() if words} == {}


def test_a_call_of_the_host_would_be_seen():
    def calls_home(x):
        return jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(ValueError, match="is different from the lowering platform cuda"):
        lowered("cuda", calls_home, jnp.ones(2))


if __name__ == "__main__":
    print(json.dumps({f"{name} {platform}": seen(name, platform) for name in NAMED for platform in PLATFORMS}))
