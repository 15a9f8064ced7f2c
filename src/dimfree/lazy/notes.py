"""What `dimfree show` says about a scaled network: where its output scale lies between the mean-field and the lazy one."""

from dimfree.lazy.problem import LazyProblem


def remark(problem: LazyProblem) -> str:
    """The output scale in both units."""
    gamma, N = problem.network.gamma, problem.network.width
    return (
        f"The output scale {gamma:.3g} is {gamma * N:.3g}/width (mean-field: 1/width) and {gamma * N**0.5:.3g}/sqrt(width) "
        "(lazy: 1/sqrt(width)); the larger it is, the less the weights have to move."
    )
