"""The real thing: gradient flow of every weight of the network, by an adaptive solver with the exact gradient.

In the problem's time s = gamma² N t the flow theta' = -gamma J^T (g - y) of docs/theory/mean-field.md, equation (h.1), is
d theta/ds = -J^T (g - y)/(gamma N). At gamma = 1/N this is n times the mean-field flow of the same section, whose loss is a mean.
What is integrated is the displacement u = gamma sqrt(N) (theta - theta_0), du/ds = -J^T (g - y)/sqrt(N): at a large gamma the
weights hardly move, and an error that is small beside them would not be small beside their motion.
"""

from typing import ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from dimfree.description import Cost, Evolution, Observed
from dimfree.lazy.model import LazyModel
from dimfree.lazy.network import Weights, output, paired, pulled_back
from dimfree.lazy.observe import Errors, Features, features, network_errors
from dimfree.problem import Problem

_MOST_STEPS = 500_000


class Networks(eqx.Module):
    """All replicas: their starts, their displacements u, and whether the solver succeeded."""

    start: Weights
    u: Weights
    time: Float[Array, ""]
    alive: Bool[Array, ""]


class NetworkFlow(Evolution[LazyModel, Key[Array, ""], Networks]):
    """Gradient flow of the network itself; replicas are networks of independent starts on the one data set."""

    name: ClassVar[str] = "network-flow"
    experiment: ClassVar[str] = "gradient flow"
    summary: ClassVar[str] = "real gradient flow of a two-layer network on given points, all weights moving"
    cites: ClassVar[tuple[str, ...]] = ("chizat2019",)
    models: ClassVar[type[LazyModel]] = LazyModel
    real: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True
    chunk: ClassVar[int] = 8
    rtol: float = 1e-9
    atol: float = 1e-11

    def cost(self, problem: Problem, model: LazyModel) -> Cost:
        """Evaluations of the gradient, whose number is a guess from typical runs, and Gram matrices at the saved times."""
        n, d = model.X.shape
        evaluations = 13 * (150 + 0.5 * n * problem.run.until**0.5)
        gradient = 1e-5 + 1.2e-9 * n * model.width * (d + 10)
        looks = len(problem.times) * (1e-4 + 3e-9 * n**3 + 4e-9 * n**2 * (model.width + d))
        memory = 8.0 * (4 * problem.run.replicas * model.width * (d + 1) + 20 * n * (n + model.width))
        return Cost(6.0 + problem.run.replicas * (evaluations * gradient + looks), evaluations, memory)

    def begin(self, model: LazyModel, start: Key[Array, ""], replicas: int, key: Key[Array, ""]) -> Networks:
        """Every replica has a network of its own."""
        drawn = starts(model, start, replicas)
        return Networks(drawn, jax.tree.map(jnp.zeros_like, drawn), jnp.zeros(()), jnp.asarray(True))

    def advance(self, model: LazyModel, state: Networks, times: Float[Array, " t"]) -> tuple[Networks, Observed]:
        """Advance one network after another, each with its own steps."""

        def one(pair: tuple[Weights, Weights]) -> tuple[Weights, Bool[Array, ""], Errors, Features]:
            start, u = pair
            last, alive, at_times = self._integrated(model, start, u, state.time, times)
            # one time after another: batched eigenvalues wait for threads of the pool they run on, possibly for ever
            seen = jax.lax.map(lambda u: self._seen(model, displaced(model, start, u), start), at_times)
            return last, alive, *seen

        u, alive, *observed = jax.lax.map(one, (state.start, state.u))
        by_time = {name: jnp.moveaxis(values, 0, 1) for part in observed for name, values in part._asdict().items()}
        return Networks(state.start, u, times[-1], state.alive & jnp.all(alive)), by_time

    def failure(self, model: LazyModel, state: Networks) -> str | None:
        """A sentence, if the solver gave up."""
        if state.alive:
            return None
        return (
            f"gradient flow could not be integrated to t = {float(state.time):.3g} within its tolerance (rtol = {self.rtol:g}) "
            f"in {_MOST_STEPS} steps; stop earlier with run.until, or raise rtol."
        )

    def _seen(self, model: LazyModel, theta: Weights, start: Weights) -> tuple[Errors, Features]:
        return network_errors(model, theta, start), features(model, theta, start)

    def _integrated(
        self, model: LazyModel, start: Weights, u: Weights, now: Float[Array, ""], times: Float[Array, " t"]
    ) -> tuple[Weights, Bool[Array, ""], Weights]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, u, args: _velocity(args[0], args[1], u)),
            diffrax.Tsit5() if self.rtol > 1e-7 else diffrax.Dopri8(),
            t0=now,
            t1=times[-1],
            dt0=None,
            y0=u,
            args=(model, start),
            saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True))),
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol),
            max_steps=_MOST_STEPS,
            throw=False,
        )
        at_times, last = solution.ys
        return jax.tree.map(lambda x: x[0], last), solution.result == diffrax.RESULTS.successful, at_times


def starts(model: LazyModel, start: Key[Array, ""], replicas: int) -> Weights:
    """The networks of all replicas; number r does not depend on how many there are."""
    keys = jax.vmap(lambda r: jax.random.fold_in(start, r))(jnp.arange(replicas))
    return jax.vmap(lambda key: paired(model.shape, model.width, model.X.shape[1], key))(keys)


def displaced(model: LazyModel, start: Weights, u: Weights) -> Weights:
    """theta = theta_0 + u/(gamma sqrt(N))."""
    return jax.tree.map(lambda weights, moved: weights + moved / jnp.sqrt(model.clock), start, u)


@eqx.filter_jit
def _velocity(model: LazyModel, start: Weights, u: Weights) -> Weights:
    """du/ds, as a program of its own: a solver asks for it in several places."""
    theta = displaced(model, start, u)
    e = model.gamma * output(model.shape, theta, model.X) - model.y
    return jax.tree.map(lambda x: -x / model.width**0.5, pulled_back(model.shape, theta, model.X, e))
