"""Clusters in the letters of their sheet (docs/theory/losses.md, section 3)."""

from collections.abc import Iterator
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.functions.activation import Polynomial
from dimfree.functions.sample_loss import ExponentialLoss
from dimfree.gaussian.any_loss.ladder import ROUGH, SCRAMBLES, apart, rung, spread
from dimfree.gaussian.loss_ladder import Averaged
from dimfree.gaussian.moments import GradientTerms
from dimfree.gaussian.outputs.averages import Driving as OutputsDriving
from dimfree.onepass.kinds.clusters.averages import Driving, Judged, driving, is_linear, judged
from dimfree.onepass.kinds.clusters.bayes import bayes_error
from dimfree.onepass.kinds.clusters.law import ClusterLaw, Mixture, OutputsLaw
from dimfree.onepass.kinds.clusters.outputs import outputs_driving, outputs_judged
from dimfree.onepass.kinds.clusters.points import MOST_NESTED, Rule, fixed_points, points_of
from dimfree.onepass.kinds.clusters.section import Clusters
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import rule_of
from dimfree.states.overlaps import Overlaps

_NODES, _FEWER = Rule(20), Rule(14)  # nodes for each panel, the second where panels are nested deepest
_TOGETHER = 200_000  # points of averages that are in memory together


class ClusterModel(DirectionsModel):
    """Inputs in clusters, labels of the cluster."""

    about: ClassVar[str] = "fresh samples of clusters"
    directions: int = eqx.field(static=True)  # k
    mixture: Mixture
    overlap: Float[Array, "k k"]
    bayes: Float[Array, ""]  # the lowest error that any rule has

    @property
    def units(self) -> int:
        """k, how many directions the means lie along."""
        return self.directions

    @property
    def any_loss(self) -> bool:
        """True: averages over preactivations work for every loss."""
        return True

    @property
    def roughness(self) -> float:
        """At fixed points the derivative of an activation that bends jumps as fields move."""
        return ROUGH if self._fields > MOST_NESTED and self.activation.kinks else 0.0

    @property
    def no_averages(self) -> str | None:
        """Say that batches with clipped norms, or squared errors without a mean, have no averages (sections 4 and 6)."""
        if self.clip_norm is not None and self.batch > 1:
            return f"training.clip norm with batch {self.batch} has no ode yet; use chain."
        if (
            isinstance(self.loss, ExponentialLoss)
            and isinstance(self.activation, Polynomial)
            and self.activation.degree > 1
        ):
            return (
                f"exponential loss with activation {self.activation.name}: E[e²] is or becomes infinite; use logistic."
            )
        return None

    @property
    def P(self) -> Float[Array, "k k"]:
        """Overlaps between the directions."""
        return self.overlap

    @property
    def law(self) -> ClusterLaw:
        """A cluster for every input."""
        return ClusterLaw(self.mixture) if self.outputs == 1 else OutputsLaw(self.mixture, self.outputs)

    def terms(self, state: Overlaps) -> GradientTerms:
        """Equation (3.2); J = D Omega^-1, of which only the mean of a step at finite d asks."""
        D, Var, Psia = self._driving(state)
        H, PsiM = D[:, : self.width], D[:, self.width :]
        J = jnp.linalg.lstsq(state.covariance(self.P), D.T)[0].T
        return GradientTerms(PsiM, H + H.T, Psia, J, jnp.zeros(()), Var)

    def variance(self, state: Overlaps) -> Float[Array, "p p"]:
        """Sum of pi_c v_c E_c[c cᵀ]."""
        return self._driving(state).Var

    def lengthened(self, state: Overlaps) -> Float[Array, "p p"]:
        """E[c cᵀ |x|²] with |x|² at the dimension of the model (equation 3.3)."""
        return self._driving(state, finite=True).Var

    def risk(self, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Float[Array, ""]:
        """E l(f, y) over labels as they are drawn."""
        return self._judged(state, bias).risk

    def _driving(self, state: Overlaps, *, finite: bool = False) -> Driving | OutputsDriving:
        return (driving if self.outputs == 1 else outputs_driving)(self, state, self._rule, finite=finite)

    def _judged(self, state: Overlaps, bias: Float[Array, " p"] | None) -> Judged:
        return (judged if self.outputs == 1 else outputs_judged)(self, state, bias, self._rule)

    def observables(self, overlaps: Overlaps, bias: Float[Array, "t r p"] | None = None) -> Observed:
        """Overlaps, risk and test error, and the error that no rule gets below."""
        shape = overlaps.Q.shape[:2]
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (overlaps, bias))
        together = max(
            1, min(256, flat[0].a.shape[0], _TOGETHER // points_of(self.activation, self._fields, self._rule))
        )
        risk, error = jax.lax.map(lambda now: self._judged(*now), flat, batch_size=together)
        seen = {"risk": risk.reshape(shape), "test_error": error.reshape(shape)}
        seen |= {"bayes_error": jnp.broadcast_to(self.bayes, shape)}
        seen |= {"Q": overlaps.Q, "M": overlaps.M, "a" if self.outputs == 1 else "A": overlaps.a}
        return seen | ({"bias": bias} if self.offsets and bias is not None else {})

    @property
    def _fields(self) -> int:
        """How many fields averages are taken over."""
        return 1 if self.outputs == 1 and is_linear(self) else self.width

    @property
    def _rule(self) -> Rule:
        """The rule by which averages are computed."""
        return _NODES if self._fields < MOST_NESTED else _FEWER

    @property
    def risk_seconds(self) -> float:
        """Count all points, for every cluster."""
        return self._seconds

    def seconds(self, *, variance_on: bool) -> float:
        """Drift and variance are averages at the same points."""
        return self._seconds

    @property
    def _seconds(self) -> float:
        points = points_of(self.activation, self._fields, self._rule) * self.mixture.weights.size
        return 1e-4 + 2e-8 * points * self.width * self.outputs

    def numbers(self) -> Iterator[tuple[str, float]]:
        """The places of the clusters, and their widths."""
        yield "data.means", float(np.max(np.abs(np.asarray(self.mixture.S))))
        yield "data.variances", float(np.max(np.asarray(self.mixture.v)))

    @property
    def averaged(self) -> Averaged:
        """Panels for few units, fixed points for many."""
        jumps = bool(self.loss.jumps) or self.clip_norm is not None
        points = fixed_points(self._fields, jumps=bool(self.loss.jumps))
        bent = jumps or bool(self.activation.kinks)
        return Averaged(rung(points), self._fields, points or self._rule.nodes, bent)

    def average_error(self, state: Overlaps) -> Float[Array, ""]:
        """The error, estimated with a finer rule or with independent fixed points."""
        rule, by = self._rule, driving if self.outputs == 1 else outputs_driving
        if self._fields <= MOST_NESTED:
            finer = rule._replace(nodes=rule.nodes + 4)
            return apart(by(self, state, rule), by(self, state, finer))
        found = [by(self, state, rule._replace(scramble=i)) for i in range(SCRAMBLES)]
        return spread(jax.tree.map(lambda *x: jnp.stack(x), *found))


def cluster_model(problem: OnePassProblem) -> ClusterModel:
    """The model of a problem on clusters."""
    data = problem.data
    assert isinstance(data, Clusters)
    classes = data.labels if problem.network.outputs == 1 else data.outputs
    numbers = (data.shares, data.coefficients, data.spreads, np.array(classes, dtype=float), data.flip)
    mixture = Mixture(*(jax.device_put(np.asarray(x, dtype=float)) for x in numbers))
    return ClusterModel(
        **rule_of(problem),
        directions=data.units,
        mixture=mixture,
        overlap=jax.device_put(data.teacher_overlap),
        bayes=jax.device_put(bayes_error(data, problem.dimension)),
    )
