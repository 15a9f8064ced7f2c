"""Items and adapters for reference numbers of the distributional dynamics (docs/theory/mean-field.md, section i).

The file has one list per subject instead of a list of items; `items` gives it the shape of the others.
"""

import re
from collections.abc import Iterator
from math import inf
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.errors import ProblemError
from dimfree.functions import Activation, activation
from dimfree.functions.ramps import DIP_RAMP, RAMP, TRUNCATED_RELU
from dimfree.gallery.radial_laws.global_minimum import default_grid, global_minimum
from dimfree.gallery.solvable import linear_law, quadratic_variance
from dimfree.gaussian.directions import interaction, potential
from dimfree.onepass.fields.anisotropic import Neurons, anisotropic
from dimfree.onepass.fields.field import solve
from dimfree.onepass.fields.radial import quantile_radii, two_gaussians
from dimfree.questions.bounds.calculators import BOUNDS, barron_cosines, barron_gaussian

Values = dict[str, Any]

_ACTIVATIONS = {"MONO": RAMP, "NONMONO": DIP_RAMP, "TRELU": TRUNCATED_RELU}
# subject of the file -> kind of item, and the fields that are expected values
_SUBJECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "kernels": ("radial_kernel", ("V", "U")),
    "reduced": ("radial_flow", ("risk", "mean_r", "std_r", "risk0")),
    "opt_risk": ("radial_minimum", ("inf_risk",)),
    "aniso_relu": ("anisotropic_relu", ("risk", "means_a_b_r1_r2")),
    "noisy": ("noisy_model", ("mean", "var", "mean_inf", "var_inf", "F_t", "F_inf", "s_t", "s_inf")),
    "dfpde": ("dfpde", ("risk", "fourier", "mean_abs_u", "mean_s")),
    "bmz": ("bmz", ("risk", "components", "mean_a", "s_last")),
    "msp": ("msp", ("leap", "msp", "reachable_L1", "unreachable_supports_L1")),
}
# name in the file -> bound, and whether its terms are listed or added up
_BOUNDS = {
    "mmm19_fixed": ("fixed-coefficients", True),
    "mmm19_general": ("general-coefficients", True),
    "mmm19_noisy_general": ("noisy-general-coefficients", True),
    "mmn18": ("largest-distance", False),
    "veiga": ("high-dimensional", False),
    "mfode": ("mean-field", False),
    "hdmf": ("dimensionless", False),
    "dfpde": ("hypercube", True),
}
# The file does not write the inputs of its Barron norms: these were read off from its values. So they test nothing there but
# how the norm of the Gaussian depends on d, in files with another d.
_BARRON: dict[str, Values] = {
    "barron_gaussian": {"radius": 2.0, "width": 1.0},
    "barron_cosines": {"radius": 1.5, "amplitudes": [1.0, 0.5], "frequencies": [[1.0, 2.0], [0.0, 3.0]]},
}


def speaks_of(content: Values) -> bool:
    """Whether a file is about the subjects of this one."""
    return bool(content.keys() & (_SUBJECTS.keys() | {"bounds"}))


def items(content: Values) -> Iterator[tuple[str, str, Values, Values, float, float]]:
    """Name, kind, inputs, expected values, rtol and atol of everything in a file."""
    for subject, (kind, outputs) in _SUBJECTS.items():
        for number, entry in enumerate(content.get(subject, [])):
            expected = _flat({name: value for name, value in entry.items() if name in outputs})
            inputs = {name: value for name, value in entry.items() if name not in outputs}
            if "components" in expected:  # the number of degrees is an input, too
                inputs["degrees"] = np.shape(expected["components"])[-1]
            yield f"{subject}-{number}", kind, inputs, expected, entry.get("rtol", 0.0), entry.get("atol", 0.0)
    bounds = content.get("bounds", {})
    for name in (name for name in (*_BOUNDS, *_BARRON) if name in bounds):
        kind, more = "barron" if name in _BARRON else "bound", _BARRON.get(name, {})
        inputs = {"name": name, **more, **bounds["params"]}
        yield f"bounds-{name}", kind, inputs, {"value": bounds[name]}, bounds.get("rtol", 0.0), bounds.get("atol", 0.0)


def _flat(expected: Values) -> Values:
    """Tables along time, one for each time, as one list for each of their keys."""
    flat: Values = {}
    for name, value in expected.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            flat |= {f"{name}[{key}]": [row[key] for row in value] for key in value[0]}
        else:
            flat[name] = value
    return flat


def radial_kernel(inputs: Values) -> Values:
    """V(r) and U(r, r') of the two Gaussians."""
    sigma, Delta, r = _activation(inputs), inputs["Delta"], jnp.asarray(float(inputs["r"]))
    other = jnp.asarray(float(inputs["rp"]))
    V, U = jax.jit(lambda: (potential(sigma, Delta, r), interaction(sigma, Delta, r, other, float(inputs["d"]))))()
    return {"V": V, "U": U}


def radial_flow(inputs: Values) -> Values:
    """The risk and the moments of r along the reduced dynamics."""
    field = two_gaussians(_activation(inputs), inputs["Delta"], float(inputs["d"]))
    start = quantile_radii(inputs["kappa"], inputs["n_particles"], float(inputs["d_init"]))
    written = re.search(r"step ([\d.e-]+)", inputs.get("convention", ""))
    run = solve(field, start, _times(inputs), float(written[1]) if written else 0.005)
    r = np.asarray(run.particles)
    return {"risk": run.risk, "mean_r": r.mean(axis=1), "std_r": r.std(axis=1), "risk0": field.terms(start)[1]}


def radial_minimum(inputs: Values) -> Values:
    """The smallest risk on the grid that the note writes."""
    field = eqx.filter_jit(two_gaussians)(_activation(inputs), inputs["Delta"], float(inputs["d"]))
    pieces = re.findall(r"(linspace|geomspace)\(([\d.]+),([\d.]+),(\d+)\)", inputs.get("note", ""))
    radii = [getattr(np, rule)(float(low), float(high), int(count)) for rule, low, high, count in pieces]
    grid = np.concatenate(radii) if radii else default_grid()
    return {"inf_risk": global_minimum(field, grid).risk}


def anisotropic_relu(inputs: Values) -> Values:
    """ReLU neurons with second layer and offset, all trained, from the start that is written out."""
    pattern = r"a=([\d.]+)([+-][\d.]+)\(2u-1\), b=([\d.]+)([+-][\d.]+)\(2u-1\), r1=([\d.]+) sqrt.*r2=([\d.]+) sqrt"
    written = re.search(pattern, inputs["init"])
    if float(inputs["d"]) != inf or not written:
        raise ProblemError(
            f"the start {inputs['init']!r} at d = {inputs['d']} was given; the schema has linear starts of a and b at d = inf."
        )
    a, a_slope, b, b_slope, r1, r2 = map(float, written.groups())
    n, ratio = inputs["n_particles"], inputs["gamma_s0_over_d"]
    u = 2 * (jnp.arange(n) + 0.5) / n - 1
    start = Neurons(
        a + a_slope * u, b + b_slope * u, jnp.full(n, r1 * ratio**0.5), jnp.full(n, r2 * (1 - ratio) ** 0.5)
    )
    run = solve(
        anisotropic(activation("relu"), inputs["Delta"], train_a=True, train_b=True), start, _times(inputs), 0.01
    )
    final = run.particles
    means = [jnp.mean(x, axis=1) for x in (final.a, final.b, final.r1, final.r2)]
    return {"risk": run.risk, "means_a_b_r1_r2": jnp.stack(means, axis=1)}


def noisy_model(inputs: Values) -> Values:
    """The linear and the quadratic model at a time and for ever."""
    b, decay, beta = np.asarray(inputs["b"], dtype=float), inputs["lam"], inputs["beta"]
    if inputs["model"] == "linear":
        m0 = np.broadcast_to(np.asarray(inputs["m0"], dtype=float), b.shape)
        now, last = (linear_law(b, decay, beta, t, m0, inputs["c0"]) for t in (inputs["t"], inf))
        moments = {"mean": now.mean, "var": now.variance, "mean_inf": last.mean, "var_inf": last.variance}
        return {**moments, "F_t": now.free_energy, "F_inf": last.free_energy}
    s_t, s_inf = (quadratic_variance(float(b), inputs["D"], decay, beta, t, inputs["s0"]) for t in (inputs["t"], inf))
    return {"s_t": s_t, "s_inf": s_inf}


def bound(inputs: Values) -> Values:
    """A theorem's terms, or their sum."""
    name, listed = _BOUNDS[inputs["name"]]
    terms = BOUNDS[name]({letter: value for letter, value in inputs.items() if letter != "name"})
    return {"value": list(terms) if listed else sum(terms)}


def barron(inputs: Values) -> Values:
    """A Barron norm."""
    if inputs["name"] == "barron_gaussian":
        return {"value": barron_gaussian(inputs["d"], inputs["radius"], inputs["width"])}
    amplitudes, frequencies = (np.asarray(inputs[name], dtype=float) for name in ("amplitudes", "frequencies"))
    return {"value": barron_cosines(amplitudes, frequencies, inputs["radius"])}


def _activation(inputs: Values) -> Activation:
    name = inputs["act"]
    return _ACTIVATIONS[name] if name in _ACTIVATIONS else activation(name.lower())


def _times(inputs: Values) -> jnp.ndarray:
    return jnp.asarray(inputs["times"], dtype=float)
