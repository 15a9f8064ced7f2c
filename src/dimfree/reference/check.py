"""Checking reference files: one adapter per kind of item, one rule for agreement."""

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dimfree.errors import ProblemError, in_one_line, suggest, type_and_first_line
from dimfree.files import read_text
from dimfree.reference import (
    committee,
    committee_dmft,
    diffusion,
    distribution,
    dmft,
    hypercube,
    lazy,
    learning_curves,
    limits,
    losses,
    mean_field,
    mixtures,
    outputs,
    phase_retrieval,
    sample_losses,
    scaling,
    spectral,
    structured,
    two_rates,
)

Values = dict[str, Any]


class Item(NamedTuple):
    """One reference item as written in a file."""

    file: str
    id: str
    kind: str
    inputs: Values
    expected: Values
    rtol: float
    atol: float

    @property
    def name(self) -> str:
        """Its name in reports."""
        return f"{self.file}:{self.id}"


class Outcome(NamedTuple):
    """What checking an item gave; no problem means agreement."""

    name: str
    problem: str | None


ADAPTERS: dict[str, Callable[[Values], Values]] = {
    "kernel": committee.kernel,
    "ss_rhs_terms": committee.rhs_terms,
    "ss_rhs": committee.rhs,
    "one_step_mean": committee.one_step_mean,
    "ss_trajectory": committee.trajectory,
    "chain_moments": committee.chain_moments,
    "mf_trajectory": mean_field.mf_trajectory,
    "classify": limits.classify,
    "leap": limits.leap,
    "information_exponent": limits.information_exponent,
    "exit_formulas": limits.exit_formulas,
    "exit_quenched": limits.exit_quenched,
    "pr_second_moment": limits.pr_second_moment,
    "pr": phase_retrieval.pr,
    "pr_noise_cov": diffusion.pr_noise_cov,
    "dmft_square": dmft.square,
    "dmft_static": dmft.static,
    "dmft_stationary": dmft.vanilla_stationary,
    "dmft_paths": dmft.paths,
    "dmft_error": dmft.error,
    "radial_kernel": distribution.radial_kernel,
    "radial_flow": distribution.radial_flow,
    "radial_minimum": distribution.radial_minimum,
    "anisotropic_relu": distribution.anisotropic_relu,
    "noisy_model": distribution.noisy_model,
    "bound": distribution.bound,
    "barron": distribution.barron,
    "lazy_kernel": lazy.kernel,
    "lazy_linearised": lazy.flow,
    "dfpde": hypercube.dfpde,
    "msp": hypercube.msp,
    "bmz": two_rates.bmz,
    "spectral": spectral.spectral,
    "linear_estimator_overlap": spectral.linear_filter,
    "bayes_sign": learning_curves.bayes_sign,
    "erm_classification": learning_curves.erm_classification,
    "robust_regression": learning_curves.robust_regression,
    "max_margin": learning_curves.max_margin,
    "optimal_lambda": learning_curves.optimal_lambda,
    "ridge": learning_curves.ridge,
    "rademacher": learning_curves.rademacher,
    "rademacher_linear_finite": learning_curves.rademacher_linear_finite,
    "hermite_kappas": learning_curves.hermite_kappas,
    "structured_rhs": structured.rhs,
    "structured_trajectory": structured.trajectory,
    "structured_power_trajectory": structured.power_trajectory,
    "structured_one_step_mean": structured.one_step_mean,
    "structured_chain_moments": structured.chain_moments,
    "structured_dimensionless": structured.dimensionless,
    "features_covariance": structured.features_covariance,
    "spectrum_gauss": structured.spectrum_gauss,
    "spectrum_block_gauss": structured.spectrum_block_gauss,
    "linear_exact_risk": structured.linear_exact_risk,
    "linear_exact_risk_momentum": structured.linear_exact_risk,
    "linear_ode_risk": structured.linear_ode_risk,
    "linear_stationary": structured.linear_stationary,
    "power_law_linear": structured.power_law_linear,
    "momentum_rhs": structured.momentum_rhs,
    "momentum_trajectory": structured.momentum_trajectory,
    "loss_values": sample_losses.values,
    "loss_sgd_step": sample_losses.sgd_step,
    "mixture_rhs": mixtures.rhs,
    "mixture_step_mean": mixtures.step_mean,
    "mixture_traj": mixtures.trajectory,
    "softmax_rhs": outputs.rhs,
    "loss_rhs": losses.loss_rhs,
    "loss_step_mean": losses.loss_step_mean,
    "loss_traj": losses.loss_traj,
    "perceptron_curve": losses.perceptron_curve,
    "bayes_error": losses.bayes_error,
    "robust_floor": losses.robust_floor,
    "robust_curve": losses.robust_curve,
    "network_linear": committee_dmft.linear,
    "network_two_steps": committee_dmft.giant_steps,
    "network_fresh": committee_dmft.fresh,
    "network_paths": committee_dmft.paths,
    "network_sgd": committee_dmft.sgd,
    "network_risk": committee_dmft.risk_of,
    "scaling_companion": scaling.transforms,
    "scaling_floor": scaling.floor,
    "scaling_forcing_kernel": scaling.forcing_kernel,
    "scaling_risk_equivalent": scaling.risk_equivalent,
    "scaling_drawn_model": scaling.drawn_model,
    "scaling_drawn_risk": scaling.drawn_risk,
    "scaling_drawn_schedule": scaling.drawn_schedule,
    "scaling_drawn_momentum": scaling.drawn_momentum,
    "scaling_stability": scaling.stability,
    "scaling_levels": scaling.any_levels,
    "scaling_phases": scaling.phase_points,
    "scaling_frontier": scaling.frontier,
    "scaling_frontier_sizes": scaling.frontier,
    "scaling_frontier_slopes": scaling.frontier_slopes,
    "scaling_term_slopes": scaling.term_slopes,
    "scaling_batches": scaling.batches,
    "scaling_estimate": scaling.estimate,
    "scaling_sgd": scaling.sgd,
    "scaling_sum_rules": scaling.sum_rules,
}


# Subjects of reference files that dimfree does not build yet, by name: nothing is skipped in silence.
WAITING: dict[str, str] = {
    "another-schema": "a file of a subject that has no adapter",
}


def items(folder: Path | None = None) -> Iterator[Item]:
    """All items of the reference files in a folder; the shipped ones when none is given."""
    if folder is not None and not folder.is_dir():
        raise ProblemError(f"there is no folder {str(folder)!r} with reference files.")
    root = files("dimfree.reference").joinpath("data") if folder is None else folder
    for file in sorted(root.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".json"):
            content = _content(file)
            name = file.name.removesuffix(".json")
            try:
                listed = [Item(name, *fields) for fields in _listed(content)]
            except (KeyError, TypeError, ValueError, AttributeError) as failure:
                raise ProblemError(f"{str(file)!r} is not a reference file: {type_and_first_line(failure)}.") from None
            yield from listed


def _content(file: Traversable) -> Values:
    try:
        content = json.loads(read_text(file) if isinstance(file, Path) else file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as failure:
        raise ProblemError(f"{str(file)!r} is not a reference file: {in_one_line(failure)}.") from None
    if not isinstance(content, dict):
        raise ProblemError(f"{str(file)!r} is not a reference file: it holds a {type(content).__name__}, not a table.")
    return content


def _listed(content: Values) -> Iterator[tuple[str, str, Values, Values, float, float]]:
    """Id, kind, inputs, expected values and tolerances of everything in a file, whichever of the schemas it has."""
    if "items" in content:
        for item in content["items"]:
            yield str(item["id"]), str(item["kind"]), item["inputs"], item["expected"], item["rtol"], item["atol"]
    elif committee_dmft.speaks_of(content):
        yield from committee_dmft.items(content)
    elif any("solver" in case for case in content.get("cases", [])) or "functions" in content:
        yield from dmft.items(content)
    elif distribution.speaks_of(content):
        yield from distribution.items(content)
    elif learning_curves.speaks_of(content):
        yield from learning_curves.items(content)
    else:
        yield "whole-file", "another-schema", {}, {}, 0.0, 0.0


def check(item: Item) -> Outcome:
    """Compute the item's values and compare them with what is expected."""
    if item.kind not in ADAPTERS:
        raise ProblemError(
            f"{item.name} is of the kind {item.kind!r}, which has no adapter; {suggest(item.kind, ADAPTERS)}"
        )
    try:
        found = ADAPTERS[item.kind](item.inputs)
        complaints = list(_COMPARISONS.get(item.kind, _within_tolerance)(item, found))
    except Exception as failure:  # an adapter may raise anything over unchecked inputs
        return Outcome(item.name, f"its inputs or expected values cannot be used ({type_and_first_line(failure)})")
    return Outcome(item.name, "; ".join(complaints) or None)


def check_folder(folder: Path | None = None) -> list[Outcome]:
    """Check every item whose subject exists."""
    return [check(item) for item in items(folder) if item.kind in ADAPTERS]


def _within_tolerance(item: Item, found: Values) -> Iterator[str]:
    for name, expected in item.expected.items():
        if not _numeric(expected):
            if found[name] != expected:
                yield f"{name} is {found[name]}, expected {expected}"
            continue
        value, wanted = np.asarray(found[name], dtype=float), np.asarray(expected, dtype=float)
        if value.shape != wanted.shape:
            yield f"{name} has shape {value.shape}, expected {wanted.shape}"
            continue
        excess = np.abs(value - wanted) - (item.atol + item.rtol * np.abs(wanted))
        excess = np.where(np.isnan(value) & np.isnan(wanted), 0.0, excess)  # what is null in a file is nan
        if not (excess <= 0).all():
            worst = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), excess.shape)
            yield f"{name}{list(map(int, worst))} is {value[worst]:.12g}, expected {wanted[worst]:.12g}"


def _numeric(expected: Any) -> bool:
    """Whether a value is a number or an array of them; names and ragged lists are compared as they are."""
    try:
        np.asarray(expected, dtype=float)
    except ValueError:
        return False
    return True


def _z_scores(item: Item, found: Values) -> Iterator[str]:
    """Moments of two independent Monte-Carlo runs: |z| < 4 with both standard errors."""
    for name in ("mean", "var"):
        error = np.hypot(item.expected[f"{name}_se"], found[f"{name}_se"])
        z = (np.asarray(found[name]) - np.asarray(item.expected[name])) / error
        if not (np.abs(z) < 4).all():
            yield f"{name} is off by z = {np.round(z, 2).tolist()}"


def _within_errors(item: Item, found: Values) -> Iterator[str]:
    return dmft.within_errors(item.expected, found, item.atol)


def _within_network_errors(item: Item, found: Values) -> Iterator[str]:
    return committee_dmft.within_errors(item.expected, found, item.atol)


_COMPARISONS = {
    "chain_moments": _z_scores,
    "structured_chain_moments": _z_scores,
    "dmft_paths": _within_errors,
    "network_paths": _within_network_errors,
    "network_sgd": _within_network_errors,
}
