"""What is observed of networks with several outputs that learn classes of a teacher (docs/theory/losses.md, section 1.2)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.outputs.ladder import outputs_bayes, outputs_judged
from dimfree.states.overlaps import Overlaps


def outputs_observables(task: Task, overlaps: Overlaps, bias: Float[Array, "t r p"] | None) -> Observed:
    """Overlaps, second layer, risk and errors; offsets where there are any."""
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (overlaps, bias))
    found = jax.lax.map(lambda now: outputs_judged(task, *now), flat)
    times = overlaps.Q.shape[:2]
    seen = {name: values.reshape(times) for name, values in found._asdict().items()}
    seen |= {"bayes_error": jnp.broadcast_to(outputs_bayes(task), times)}
    seen |= {"Q": overlaps.Q, "M": overlaps.M, "A": overlaps.a}
    return seen | ({} if bias is None else {"bias": bias})
