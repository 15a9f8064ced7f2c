"""Distributional dynamics: the limit of many neurons and small steps (docs/theory/mean-field.md, sections a to c and f).

The law of the neurons is a cloud of particles that starts from the law of the start, or from the neurons of the network. The
equations are those of the dimension d of the problem; conventions are converted in fields/*_forms.py, where the forms of a
particle stand:

- two Gaussians: the norm r of a neuron where only the first layer of sigma(<w, x>) is trained on isotropic data, with noise if
  asked for; (a, b, r1, r2) otherwise;
- the hypercube: (a, b, u, s), at infinite dimension;
- labels from a teacher: (M, r) with exact pair kernels where only the first layer is trained, functions are erf or polynomials
  and directions at most two; (a, b, s, r) on nodes of the teacher's span otherwise.

A schedule is only a change of time: the flow depends on the learning rate through its integral alone.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from dimfree.description import Cost, Evolution, Observed, Values
from dimfree.functions.schedule import Constant
from dimfree.onepass.fields.field import Descent, advance, begin
from dimfree.onepass.fields.form import Form, Kept
from dimfree.onepass.fields.langevin import stirred
from dimfree.onepass.limits.scope import square_only
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import DimensionFreeModel, OnePassModel
from dimfree.onepass.sections import GaussianStart
from dimfree.onepass.start import Start
from dimfree.problem import Problem

_FINER = 10  # noisy steps are of first order, and need this many times more of them


class Underway(eqx.Module):
    """The particles at a time of the clock, what they keep, the randomness that is left, and whether the risk always fell."""

    descent: Descent
    kept: Kept
    key: Key[Array, ""]
    falls: Bool[Array, ""]


class DistributionalDynamics(Evolution[OnePassModel, Start, Underway]):
    """Many neurons as a flow of their law; `own_start` begins with the network's neurons instead of the law of the start.

    The law is carried by at most `particles` particles. `step` is the largest step of the solver, by default 0.02 on two
    Gaussians and 0.1 elsewhere.
    """

    name: ClassVar[str] = "pde"
    summary: ClassVar[str] = "mean-field limit: the law of many neurons, at the dimension of the problem"
    cites: ClassVar[tuple[str, ...]] = ("mei2018", "mei2019", "abbe2022")
    models: ClassVar[type[OnePassModel]] = OnePassModel  # type: ignore[type-abstract]  # any of them
    chunk: ClassVar[int] = 16
    stochastic: ClassVar[bool] = True  # particles are stirred where weights have noise
    particles: int = eqx.field(default=400, static=True)
    step: float | None = eqx.field(default=None, static=True)
    own_start: bool = eqx.field(default=False, static=True)

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Vectors, if it starts from the neurons of the drawn network."""
        return frozenset({"vectors"} if self.own_start else ())

    def replicas(self, model: OnePassModel, asked: int) -> int:
        """There is one cloud of particles, and so one replica."""
        return 1

    def refuses(self, problem: Problem, model: OnePassModel) -> str | None:
        """Refuse what the equations are not derived for."""
        assert isinstance(problem, OnePassProblem)
        if why := square_only(problem, model) or _rule_refusal(model) or self._start_refusal(problem):
            return why
        if model.form is None:
            return f"it is not derived for {problem.unusual or model.about}; use {model.instead_of_pde}."
        return model.form.refuses(problem, model)

    def cost(self, problem: Problem, model: OnePassModel) -> Cost:
        """Count four evaluations per step, and one at every saved time."""
        assert isinstance(problem, OnePassProblem)
        count = self._count(problem, model)
        passed = float(model.schedule.elapsed(jax.device_put(problem.run.until)))
        steps = passed / self._longest(model) + len(problem.times)
        calls = (1 if model.noisy else 4) * steps + len(problem.times)
        return Cost(5.0 + calls * form_of(model).seconds(model, count), steps, 8.0 * 8 * count * len(problem.times))

    def accuracy(self, problem: Problem, model: OnePassModel) -> float:
        """Allow for finite width, for the fluctuations of SGD, and for the draw of the start unless it is the network's."""
        assert isinstance(problem, OnePassProblem)
        return form_of(model).accuracy(problem, model, self.own_start)

    def leaves_open(self, problem: Problem, model: OnePassModel) -> str:
        """The accuracy depends on the width."""
        return f"at width {model.width}"

    def warns(self, problem: Problem, model: OnePassModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Say what the dynamics cannot learn."""
        assert isinstance(problem, OnePassProblem)
        return form_of(model).warns(problem, model, seen, self.own_start)

    def begin(self, model: OnePassModel, start: Start, replicas: int, key: Key[Array, ""]) -> Underway:
        """The law of the start, or the measured parameters of the network."""
        return _begun(self, model, start, key)

    def advance(self, model: OnePassModel, state: Underway, times: Float[Array, " t"]) -> tuple[Underway, Observed]:
        """The particles at the readings of the clock, from where they are."""
        form = form_of(model)
        field, clock, step = form.field(model, state.kept), model.schedule.elapsed(times), self._longest(model)
        if model.noisy:
            (last, key), run = stirred(*form.bath(model, field), (state.descent, state.key), clock, jnp.asarray(step))
            risk, falls = field.inner.canonical * run.risk, jnp.all(jnp.isfinite(run.risk))
        else:
            last, run = advance(field, state.descent, clock, jnp.asarray(step))
            key, risk, falls = state.key, run.risk - jax.vmap(field.paid)(run.particles), jnp.all(run.falls)
        seen = {"risk": risk, **form.observe(model, state.kept, run.particles)}
        observed = {name: x[:, None] for name, x in seen.items()}  # one replica
        return Underway(last, state.kept, key, state.falls & falls), observed

    def failure(self, model: OnePassModel, state: Underway) -> str | None:
        """Why the flow is wrong: the risk must fall along it, and rises if steps are too large."""
        if bool(state.falls):
            return None
        return (
            f"pde: the risk rose along the flow, so steps of {self._longest(model):g} are too large; "
            "give it a smaller `step`."
        )

    def _longest(self, model: OnePassModel) -> float:
        return (self.step or form_of(model).step) / (_FINER if model.noisy else 1)

    def _count(self, problem: OnePassProblem, model: OnePassModel) -> int:
        return model.width if self.own_start else form_of(model).size(model, problem.network.alike, self.particles)

    def _start_refusal(self, problem: OnePassProblem) -> str | None:
        """Refuse starts whose law is not known."""
        if self.own_start:
            return None
        if not isinstance(problem.start, GaussianStart):
            return (
                f"it starts from the law of Gaussian weights, and start.kind is {problem.start.kind!r}; set start.kind = "
                "'gaussian', or start from the neurons of the network with DistributionalDynamics(own_start=True)."
            )
        given = problem.network.second_layer_start
        others = given == "uniform" or (isinstance(given, tuple) and len(set(given)) > 1)
        if problem.data.units and others and problem.network.width > 1:
            return (
                "it starts from a second layer of one value or of two signs, and network.second_layer_start lists others; "
                "start from the neurons of the network with DistributionalDynamics(own_start=True)."
            )
        return None


@eqx.filter_jit
def _begun(one: DistributionalDynamics, model: OnePassModel, start: Start, key: Key[Array, ""]) -> Underway:
    """One program, which other numbers do not compile again."""
    form = form_of(model)
    particles, kept = form.own(model, start) if one.own_start else form.law(model, start, one.particles)
    return Underway(begin(particles), kept, key, jnp.asarray(True))


def form_of(model: OnePassModel) -> Form[Any]:
    """Which numbers a particle has."""
    found = model.form
    assert found is not None, "a model without a form is refused"
    return found


def _rule_refusal(model: OnePassModel) -> str | None:
    """Why this training rule has another flow, in one sentence."""
    if model.spherical:
        return "it is derived for weights whose norms are free; set training.spherical = false, or use ode."
    uneven = not (model.all_scheduled or isinstance(model.schedule, Constant))
    if uneven and (model.noisy or float(model.omega) or float(model.omega_a)):
        return (
            "it is derived for a schedule that scales the whole step, decay and noise too; set training.scheduled = "
            "'everything', or leave out training.schedule."
        )
    if model.train_a and float(model.omega_a) and not float(model.eta_a):
        return (
            "nothing falls along a second layer that decays and does not learn; set training.second_layer_rate above 0, or "
            "training.second_layer_decay = 0."
        )
    return None


class OwnStart(DistributionalDynamics):
    """The same on the hypercube from the network's own (a, u, s), so that a gap to SGD cannot come from u = 0 at the start."""

    name: ClassVar[str] = "pde-own-start"
    summary: ClassVar[str] = "the same on the hypercube, from the weights that the network really starts with"
    models: ClassVar[type[OnePassModel]] = DimensionFreeModel  # type: ignore[type-abstract]  # any of them
    own_start: bool = eqx.field(default=True, static=True)
