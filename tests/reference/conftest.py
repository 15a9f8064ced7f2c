"""`pytest tests/reference --reference DIR` runs the same adapters on any other folder with the same schema."""

from pathlib import Path

import pytest

# Kinds that take long; tests of their own subjects gate them.
HEAVY = {
    "structured_trajectory",
    "structured_power_trajectory",
    "structured_chain_moments",
    "structured_one_step_mean",
    "structured_dimensionless",
    "power_law_linear",
    "momentum_trajectory",
    "chain_moments",
    "pr",
    "radial_flow",
    "dfpde",
    "bmz",
    "dmft_paths",
    "network_paths",
    "network_sgd",
    "optimal_lambda",
    "mf_trajectory",
    "one_step_mean",
    "loss_rhs",
    "loss_step_mean",
    "loss_traj",
    "mixture_traj",
    "opt_risk",
    "bayes_error",
    "perceptron_curve",
    "robust_floor",
    "robust_curve",
    "scaling_frontier_slopes",
    "scaling_frontier_sizes",
    "scaling_frontier",
    "scaling_sgd",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reference", type=Path, default=None, help="another folder of reference files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "item" in metafunc.fixturenames:
        from dimfree.reference.check import items

        folder = metafunc.config.getoption("--reference")
        found = list(items(folder))
        first = {item.kind: item.name for item in reversed(found)}.values()  # of every kind; with a folder all of them
        gates = {item.name for item in found if item.name in first and item.kind not in HEAVY}
        later = [() if folder or item.name in gates else pytest.mark.slow for item in found]
        metafunc.parametrize(
            "item", [pytest.param(item, id=item.name, marks=mark) for item, mark in zip(found, later, strict=True)]
        )
