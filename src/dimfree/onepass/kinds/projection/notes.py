"""What `dimfree show` says about data behind a projection."""

from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.own import Projected
from dimfree.onepass.kinds.projection.section.power_law import PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.companion import capacity, critical_rate
from dimfree.onepass.projected.phases import phase


def said_of_projection(problem: OnePassProblem) -> str:
    """The phase, what no weights reach, up to which rate SGD is stable, and which rows and columns are left out."""
    data, d = problem.data, problem.dimension
    assert isinstance(data, ProjectedData)
    population, of = data.population(d), ""
    if isinstance(data, PowerLaw):
        found = phase(data.alpha, data.beta)
        of = f", phase {found.name} ({found.balance} as compute grows)"
    limit = critical_rate(population, d, problem.training.batch)
    said = (
        f"{d} random features of {population.inputs:.0f} inputs{of}; no weights have a risk below "
        f"{capacity(population, d)[1] / 2:.3g}, and SGD is stable up to learning_rate {limit:.3g}."
    )
    pool = data.inputs.pool if isinstance(data, Projected) else None
    return " ".join([said, *(pool.left_out() if pool is not None else ())])
