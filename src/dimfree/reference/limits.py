"""Adapters for regimes, leaps, information exponents and exit times of the committee sheet, sections 4, 6 and 7."""

from typing import Any

import equinox as eqx

from dimfree.functions.leap import coordinate_leap, subspace_leap
from dimfree.gaussian.links import information_exponent as exponent_of
from dimfree.questions.escape.sphere import escape_time, hermite_drift
from dimfree.questions.exit_times import formulas as exit_times
from dimfree.questions.regimes import formulas as regimes
from dimfree.reference.expression import expression

Values = dict[str, Any]


def classify(inputs: Values) -> Values:
    """The regime of single triples, and of exponents."""
    found = [regimes.classify(*case) for case in inputs["cases_d_p_gamma_p0_gamma0"]]
    columns = {name: [getattr(regime, name) for regime in found] for name in regimes.Regime._fields}
    return columns | {"exponent_label": [regimes.classify_exponents(*pair) for pair in inputs["exponents_kappa_delta"]]}


def leap(inputs: Values) -> Values:
    """Coordinate and subspace leaps of sums of Hermite products with coefficients one."""
    subspace = [subspace_leap(case) for case in inputs["subspace_cases"]]
    return {
        "leap": [coordinate_leap(case).leap for case in inputs["coordinate_cases"]],
        "subspace_leap": [one.leap for one in subspace],
        "subspace_sequence": [list(one.sequence) for one in subspace],
    }


def information_exponent(inputs: Values) -> Values:
    """Information exponents of written links, drifts and escape times of Hermite links."""
    return {
        "exponent": [exponent_of(expression(written)) for written in inputs["links"]],
        "hek_drift": [float(eqx.filter_jit(hermite_drift)(*case)) for case in inputs["hek_m_ell_gamma_Delta"]],
        "escape_time": [escape_time(*case) for case in inputs["escape_m0_m1_ell"]],
    }


def exit_formulas(inputs: Values) -> Values:
    """Annealed, conditional, quenched (width 1) and logistic exit times."""
    cases, starts = inputs["cases_T_gamma_p_Delta_d"], inputs["mu0_tau0"]
    T, gamma, _, Delta, _ = inputs["p1_case"]
    return {
        "rate_c": [exit_times.escape_rate(gamma, p, Delta) for _, gamma, p, Delta, _ in cases],
        "annealed": [exit_times.annealed(*case) for case in cases],
        "given": [exit_times.given(*start, *case) for start, case in zip(starts, cases, strict=True)],
        "quenched_p1": exit_times.quenched(*inputs["p1_case"]).value,
        "exact_logistic_p1": exit_times.logistic(inputs["p1_s0"], T, gamma, Delta),
    }


def exit_quenched(inputs: Values) -> Values:
    """The quenched exit time by Monte Carlo; the standard error is of this run."""
    found = exit_times.quenched(*(inputs[name] for name in ("T", "gamma", "p", "Delta", "d")))
    return {"value": found.value, "stderr": found.standard_error}


def pr_second_moment(inputs: Values) -> Values:
    """E[mu(t)] in the linear regime of the diffusion."""
    cases = inputs["mu0_gamma_p_Delta_t"]
    return {"mu": [exit_times.second_moment(mu_0, t, gamma, p, Delta) for mu_0, gamma, p, Delta, t in cases]}
