"""Adapters for items of power-law random features (docs/theory/scaling.md)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dimfree.onepass.kinds.projection.model import model_behind, zero_start
from dimfree.onepass.kinds.projection.section.power_law import PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected import companion, exponents, mean_risk, phases
from dimfree.onepass.projected.measures import Drawn, Measures, drawn, equivalent, sums
from dimfree.onepass.projected.population import Population, every_mode, levels, power_law
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.readings.frontier import Frontier, lowest
from dimfree.reference.committee import run

Values = dict[str, Any]
_RUNS = 400


def transforms(inputs: Values) -> Values:
    """The companion transform and that of the signal, over all modes."""
    population = every_mode(inputs["alpha"], inputs["beta"], inputs["v"])
    z = np.array(inputs["z_real"]) + 1j * np.array(inputs["z_imag"])
    m = companion.anywhere(population, inputs["d"], z)
    s = companion.signal(population, z, m)
    return {"real": m.real, "imag": m.imag, "signal_real": s.real, "signal_imag": s.imag}


def floor(inputs: Values) -> Values:
    """Capacity and edges."""
    population, found = _population(inputs), []
    for d in inputs["d"]:
        kappa, Delta_W = companion.capacity(population, d)
        found.append((kappa, Delta_W / 2, *companion.edges(population, d, kappa)))
    return dict(zip(("kappa", "floor_risk", "lower_edge", "upper_edge"), zip(*found, strict=True), strict=True))


def forcing_kernel(inputs: Values) -> Values:
    """The two functions of the Volterra equation."""
    F, K = mean_risk.forcing_and_kernel(
        _equivalent(inputs), inputs["gamma"], inputs["batch"], np.array(inputs["steps"])
    )
    return {"F": F, "K": K}


def risk_equivalent(inputs: Values) -> Values:
    """The mean risk of the equivalent, and its chi."""
    chi = companion.stability(_population(inputs), inputs["d"], inputs["gamma"], inputs["batch"])
    return {"risk": _risks(_equivalent(inputs), inputs), "chi": chi}


def drawn_model(inputs: Values) -> Values:
    """One drawn projection in its eigenbasis."""
    found = _drawn(inputs)
    return {
        "eigenvalues": found.eigenvalues[:5],
        "smallest": found.eigenvalues[-1],
        "floor_risk": found.Delta_W / 2,
        "theta_norm2": found.theta @ found.theta,
        "explained": found.eigenvalues @ found.theta**2,
    }


def drawn_risk(inputs: Values) -> Values:
    """The exact mean for one drawn projection."""
    return {"risk": _risks(_drawn(inputs).measures, inputs)}


def drawn_schedule(inputs: Values) -> Values:
    """The same along a schedule, with one batch or one for every step."""
    n = inputs["steps"]
    gammas = inputs["gamma"] * rates(inputs["schedule"], n, inputs.get("decay", 0.2), inputs.get("power", 0.5))
    return {"risk": _stepwise(inputs, gammas)}


def drawn_momentum(inputs: Values) -> Values:
    """The same with momentum."""
    return {"risk": _stepwise(inputs, np.full(max(inputs["record"]), inputs["gamma"]))}


def stability(inputs: Values) -> Values:
    """Limits of stability, for one projection and in the equivalent."""
    one, population, gamma = _drawn(inputs).measures, _population(inputs), inputs["gamma"]
    return {
        "drawn": [mean_risk.critical_rate(one, batch) for batch in inputs["batch"]],
        "equivalent": [companion.critical_rate(population, inputs["d"], batch) for batch in inputs["batch"]],
        "chi_drawn": mean_risk.chi(one, gamma, 1),
        "chi_equivalent": companion.stability(population, inputs["d"], gamma, 1),
    }


def any_levels(inputs: Values) -> Values:
    """A spectrum of a few levels."""
    h, e, counts = (np.array(inputs[name], float) for name in ("eigenvalues", "energies", "multiplicities"))
    found = equivalent(levels(h, e, counts), inputs["d"])
    return {"floor_risk": found.Delta_W / 2, "risk": _risks(found, inputs)}


def phase_points(inputs: Values) -> Values:
    """Phases and their exponents."""
    found = [phases.phase(*point) for point in inputs["points"]]
    return {
        "phase": [one.name for one in found],
        "size_exponent": [one.size for one in found],
        "loss_exponent": [one.loss for one in found],
    }


def frontier(inputs: Values) -> Values:
    """The frontier of a list of sizes."""
    found = _frontier(inputs, np.array(inputs["sizes"], float))
    return {"risk": found.risk, "size": found.size, "samples": found.samples()}


def frontier_slopes(inputs: Values) -> Values:
    """Exponents measured over a range of compute."""
    found = _frontier(inputs, 2.0 ** np.arange(4, 34.5, 0.5).round(1))
    logs = np.log(found.compute)
    return {"loss": -np.polyfit(logs, np.log(found.risk), 1)[0], "size": np.polyfit(logs, np.log(found.size), 1)[0]}


def term_slopes(inputs: Values) -> Values:
    """Exponents of the terms of the risk one by one."""
    found, gamma = _equivalent(inputs), inputs["gamma"]

    def of(function: int, ends: list[float]) -> float:
        values = mean_risk.forcing_and_kernel(found, gamma, 1, np.array(ends))[function]
        values = values - (found.Delta_W if function == 0 else 0.0)
        return float(np.log(values[1] / values[0]) / np.log(ends[1] / ends[0]))

    sizes, wide = inputs["floor_between_d"], _population(inputs | {"v": inputs["v_of_floor"]})
    floors = [companion.capacity(wide, d)[1] for d in sizes]
    return {
        "forcing": of(0, inputs["forcing_between"]),
        "kernel": of(1, inputs["kernel_between"]),
        "floor": np.log(floors[1] / floors[0]) / np.log(sizes[1] / sizes[0]),
    }


def batches(inputs: Values) -> Values:
    """How many steps every batch needs to a target."""
    found, pairs = _equivalent(inputs), zip(inputs["batch"], inputs["gamma"], strict=True)
    return {"steps": [mean_risk.steps_to(found, gamma, batch, 0.0, inputs["target"]) for batch, gamma in pairs]}


def estimate(inputs: Values) -> Values:
    """Exponents of a spectrum and a target."""
    h, e = np.array(inputs["eigenvalues"]), np.array(inputs["energies"])
    return exponents.exponents(h, e, inputs["first"], inputs["last"])._asdict()


def sum_rules(inputs: Values) -> Values:
    """Integrals over the Gauss rules that are known exactly."""
    return dict(sums(_equivalent(inputs)))


def sgd(inputs: Values) -> Values:
    """The mean over runs of real SGD on genuine inputs."""
    v, d = inputs["v"], inputs["d"]
    problem = OnePassProblem(
        dimension=d,
        data=PowerLaw(alpha=inputs["alpha"], beta=inputs["beta"], inputs=v, noise=inputs["Delta"]),
        network=TwoLayer(width=1, activation="linear"),
        training=OnePass(learning_rate=inputs["gamma"], batch=inputs["batch"]),
    )
    model = model_behind(problem, _projection(inputs))
    times = jnp.asarray(inputs["steps"]) * model.time_step
    start = zero_start(problem, jax.random.key(0), vectors=True, nodes=False)
    return {"risk": run(VectorSGD(), model, start, times, _RUNS)["risk"].mean(axis=1)}


def _population(inputs: Values) -> Population:
    return power_law(inputs["alpha"], inputs["beta"], inputs["v"])


def _equivalent(inputs: Values) -> Measures:
    return equivalent(_population(inputs), inputs["d"])


def _drawn(inputs: Values) -> Drawn:
    j = np.arange(1.0, inputs["v"] + 1)
    return drawn(j ** (-2 * inputs["alpha"]), j ** -inputs["beta"], _projection(inputs))


def _projection(inputs: Values) -> Float[np.ndarray, "v d"]:
    v, d = inputs["v"], inputs["d"]
    return np.random.default_rng(inputs["seed"]).standard_normal((v, d)) / np.sqrt(d)


def _risks(measures: Measures, inputs: Values) -> Float[np.ndarray, " t"]:
    return mean_risk.mean_risks(measures, inputs["gamma"], inputs["batch"], inputs["Delta"], np.array(inputs["steps"]))


def _stepwise(inputs: Values, gammas: Float[np.ndarray, " r"]) -> Float[np.ndarray, " t"]:
    sizes = np.broadcast_to(np.array(inputs["batch"], float), gammas.shape)
    one, record = _drawn(inputs).measures, np.array(inputs["record"])
    return stepwise_risks(one, gammas, sizes, inputs["Delta"], record, inputs.get("momentum", 0.0))


def _frontier(inputs: Values, sizes: Float[np.ndarray, " d"]) -> Frontier:
    C, risks = np.array(inputs["C"], float), []
    for d in sizes:
        population = power_law(inputs["alpha"], inputs["beta"], inputs["v_per_d"] * d)
        gamma, steps = inputs["rate_times_trace"] / population.trace, C / (d * inputs["batch"])
        risk = mean_risk.mean_risks(equivalent(population, d), gamma, inputs["batch"], 0.0, steps)
        risks.append(np.where(steps >= 1, risk, np.nan))
    return lowest(sizes, np.array(risks), C)
