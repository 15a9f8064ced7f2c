"""What `dimfree show` says about clusters."""

from dimfree.onepass.kinds.clusters.bayes import bayes_error
from dimfree.onepass.kinds.clusters.section import Clusters
from dimfree.onepass.problem import OnePassProblem


def said_of_clusters(problem: OnePassProblem) -> str:
    """How many clusters there are, the best error, and whether the network can see the classes at all."""
    data = problem.data
    assert isinstance(data, Clusters)
    said = (
        f"{len(data.labels)} clusters along {data.units} direction{'s' if data.units > 1 else ''}; no rule has a test error "
        f"below {100 * bayes_error(data, problem.dimension):.3g} %."
    )
    return said
