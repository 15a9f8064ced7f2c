"""The setting of the lazy limit: gradient flow of a scaled two-layer network on a finite data set."""

from dimfree.lazy.problem import LazyProblem
from dimfree.setting import Setting, Variable

_ONE = ("time", "replica")

VARIABLES = {
    "risk": Variable(_ONE, "1", "half the mean square error on the held-out points"),
    "train_loss": Variable(_ONE, "1", "|g(X) - y|²/2, summed over the points"),
    "residual": Variable((*_ONE, "point"), "1", "g(X) - y on every point"),
    "residual_norm": Variable(_ONE, "1", "|g(X) - y|"),
    "movement": Variable(_ONE, "1", "distance of the weights from their start"),
    "relative_movement": Variable(_ONE, "1", "the same over the norm of the start"),
    "jacobian_change": Variable(_ONE, "1", "operator norm of J(t) - J(0) on the points"),
    "kernel_change": Variable(_ONE, "1", "|K(t) - K(0)|/|K(0)| of the tangent kernel, Frobenius norms"),
    "smallest_eigenvalue": Variable(_ONE, "1", "of the tangent kernel K = J J^T on the points"),
    "largest_eigenvalue": Variable(_ONE, "1", "of the same"),
}

SETTING = Setting(
    name="given points",
    problem=LazyProblem,
    model="dimfree.lazy.model:lazy_model",
    start="dimfree.lazy.model:the_key",
    figure="dimfree.lazy.figure:draw",
    template="dimfree.lazy:template.toml",
    variables=VARIABLES,
    simulation="network-flow",
    theory="linearised",
    descriptions={
        "network-flow": "dimfree.lazy.flow:NetworkFlow",
        "linearised": "dimfree.lazy.linear:Linearised",
        "infinite-width": "dimfree.lazy.linear:InfiniteWidth",
    },
    notes="dimfree.lazy.notes:remark",
)
