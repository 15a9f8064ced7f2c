"""SGD in a noisy quadratic bowl: a setting of dimfree in one file, brought by another package."""

from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
from pydantic import NonNegativeFloat, PositiveFloat

import dimfree as df
from dimfree.drawing import draw_account, legend_label, looks


class Bowl(df.extend.Section):
    """The loss curvature |w|²/2 per coordinate, seen with gradient noise of variance `noise`."""

    title: ClassVar[str] = "[data]"
    kind: Literal["bowl"] = "bowl"
    curvature: PositiveFloat = 2.0
    noise: NonNegativeFloat = 0.1


class Rolling(df.extend.Section):
    """w <- w - learning_rate (curvature w + noise)."""

    title: ClassVar[str] = "[training]"
    kind: Literal["rolling"] = "rolling"
    learning_rate: PositiveFloat = 0.01


class BowlProblem(df.Problem):
    """Everything that decides how SGD rolls down; `time_step` says what one step is worth."""

    time_units: ClassVar[str] = "steps * learning_rate"
    dimension: int = 200
    data: Bowl = Bowl()
    training: Rolling = Rolling()
    run: df.Run = df.Run(until=2.0, replicas=16, points=21, spacing="linear")

    @property
    def time_step(self) -> float:
        return self.training.learning_rate


class BowlModel(df.extend.Model):
    """The problem in letters: what is static decides of the compilation, what is an array can be changed and differentiated."""

    about: ClassVar[str] = "a bowl"
    dimension: int
    k: jax.Array
    Delta: jax.Array
    eta: jax.Array


def bowl_model(problem: BowlProblem) -> BowlModel:
    numbers = (problem.data.curvature, problem.data.noise, problem.training.learning_rate)
    return BowlModel(problem.dimension, *(jnp.asarray(number) for number in numbers))


def bowl_start(problem: BowlProblem, key: jax.Array, needs: frozenset[str]) -> jax.Array:
    """One start for all descriptions; `needs` is what they ask of it."""
    return jax.random.normal(key, (problem.dimension,))


class Ball(df.extend.Evolution[BowlModel, jax.Array, tuple[jax.Array, jax.Array, jax.Array]]):
    """The real thing: many balls that start together."""

    name: ClassVar[str] = "ball"
    summary: ClassVar[str] = "real noisy descent in a bowl"
    cites: ClassVar[tuple[str, ...]] = ()
    models: ClassVar[type[df.extend.Model]] = BowlModel
    real: ClassVar[bool] = True  # theories are measured against it
    stochastic: ClassVar[bool] = True  # it has as many replicas as the run asks for
    scatters: ClassVar[bool] = True

    def cost(self, problem, model):
        steps = problem.steps(problem.run.until)
        return df.extend.Cost(seconds=1.0 + 1e-8 * steps * model.dimension, steps=steps, memory=1e6)

    def begin(self, model, start, replicas, key):
        return jnp.broadcast_to(start, (replicas, *start.shape)), jnp.zeros((), int), key

    def advance(self, model, state, times):
        def step(number, balls):
            noise = jax.random.normal(jax.random.fold_in(state[2], number), balls.shape)
            return balls - model.eta * (model.k * balls + jnp.sqrt(model.Delta) * noise)

        def to_time(now, time):
            balls, done = now
            due = jnp.rint(time / model.eta).astype(int)
            balls = jax.lax.fori_loop(done, due, step, balls)
            return (balls, due), model.k * jnp.mean(balls**2, axis=1) / 2

        (balls, done), risk = jax.lax.scan(to_time, state[:2], times)
        return (balls, done, state[2]), {"risk": risk}


class SmallSteps(df.extend.Evolution[BowlModel, jax.Array, jax.Array]):
    """The limit of small steps, with an observable that dimfree does not know."""

    name: ClassVar[str] = "small-steps"
    summary: ClassVar[str] = "the bowl in continuous time"
    cites: ClassVar[tuple[str, ...]] = ()
    models: ClassVar[type[df.extend.Model]] = BowlModel
    variables: ClassVar[dict[str, df.extend.Variable]] = {
        "temperature": df.extend.Variable(
            ("time", "replica"), "1", "noise of the steps, learning rate times variance over 2"
        ),
    }

    def refuses(self, problem, model):
        if problem.training.learning_rate * problem.data.curvature < 1:
            return None
        return "steps of learning_rate * curvature >= 1 are not small; lower training.learning_rate."

    def cost(self, problem, model):
        return df.extend.Cost(seconds=0.5, steps=1, memory=1e5)

    def begin(self, model, start, replicas, key):
        return jnp.mean(start**2)

    def advance(self, model, state, times):
        kept = jnp.exp(-2 * model.k * times)[:, None]
        heat = model.eta * model.Delta / 2
        risk = model.k / 2 * (kept * state + heat / model.k * (1 - kept))
        return state, {"risk": risk, "temperature": heat * jnp.ones_like(kept)}


def draw(figure, problem, accounts):
    """The figure of a comparison: experiments as markers, theories as lines."""
    axes, shown = figure.subplots(), looks(accounts)
    for title, data in accounts.items():
        draw_account(axes, shown[title], data["time"].values, data["risk"].values, legend_label(title, data))
    axes.set(xlabel="time", ylabel="height in the bowl", yscale="log", title=f"curvature {problem.data.curvature:g}")
    axes.legend(frameon=False)


SETTING = df.extend.Setting(
    name="a bowl",
    problem=BowlProblem,
    model="dimfree_bowl:bowl_model",
    start="dimfree_bowl:bowl_start",
    figure="dimfree_bowl:draw",
    template="""# A ball in a bowl.
[data]
kind = "bowl"
curvature = 2.0   # of the loss
noise = 0.1       # variance of the gradient
""",
    descriptions={"ball": "dimfree_bowl:Ball", "small-steps": "dimfree_bowl:SmallSteps"},
    simulation="ball",
    theory="small-steps",
)
