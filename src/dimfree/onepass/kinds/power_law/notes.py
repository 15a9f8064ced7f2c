"""What `dimfree show` says about power laws behind a projection."""

from dimfree.onepass.kinds.power_law.section import PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.companion import capacity, critical_rate
from dimfree.onepass.projected.phases import phase
from dimfree.onepass.projected.population import power_law


def said_of_power_law(problem: OnePassProblem) -> str:
    """The phase, what no weights reach, and up to which rate SGD is stable."""
    data, d = problem.data, problem.dimension
    assert isinstance(data, PowerLaw)
    population, found = power_law(data.alpha, data.beta, data.inputs_of(d)), phase(data.alpha, data.beta)
    limit = critical_rate(population, d, problem.training.batch)
    return (
        f"{d} random features of {population.inputs:.0f} inputs, phase {found.name} ({found.balance} as compute grows); no "
        f"weights have a risk below {capacity(population, d)[1] / 2:.3g}, and SGD is stable up to learning_rate {limit:.3g}."
    )
