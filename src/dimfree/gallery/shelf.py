"""All figures by name; an entry is imported when it is asked for."""

import importlib
from typing import TYPE_CHECKING, Any

from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from dimfree.gallery.entry import Entry

_ENTRIES = {
    "classical-k2": "dimfree.gallery.classical:ClassicalK2",
    "classical-k5": "dimfree.gallery.classical:ClassicalK5",
    "high-dimensional": "dimfree.gallery.high_dimensional:HighDimensionalRegime",
    "regimes": "dimfree.gallery.regimes:Regimes",
    "wide-networks": "dimfree.gallery.wide_networks:WideNetworks",
    "mean-field-density": "dimfree.gallery.mean_field_density:MeanFieldDensity",
    "noise-matters": "dimfree.gallery.noise_matters:NoiseMatters",
    "width-matters": "dimfree.gallery.width_matters:WidthMatters",
    "information-exponent": "dimfree.gallery.information_exponent:InformationExponent",
    "mixture-vanilla": "dimfree.gallery.mixtures:MixtureVanilla",
    "mixture-persistent": "dimfree.gallery.mixtures:MixturePersistent",
    "three-clusters": "dimfree.gallery.mixtures:ThreeClustersEntry",
    "effective-temperature": "dimfree.gallery.temperatures:EffectiveTemperatureEntry",
    "temperature-persistent": "dimfree.gallery.temperatures:TemperaturePersistent",
    "dmft-vs-size": "dimfree.gallery.dmft_vs_size:DMFTVersusSize",
    "sign-retrieval": "dimfree.gallery.sign_retrieval:SignRetrieval",
    "gaussian-histogram": "dimfree.gallery.gaussian_histogram:GaussianHistogram",
    "gaussian-relu": "dimfree.gallery.gaussian_relu:GaussianReLU",
    "kappa-dichotomy": "dimfree.gallery.kappa_dichotomy:KappaDichotomy",
    "risk-vs-delta": "dimfree.gallery.risk_vs_delta:RiskVersusDelta",
    "four-dynamics": "dimfree.gallery.four_dynamics:FourDynamics",
    "dimension-free": "dimfree.gallery.dimension_free:DimensionFree",
    "noisy-sgd": "dimfree.gallery.noisy_sgd:NoisySGD",
    "truncated-relu": "dimfree.gallery.truncated_relu:TruncatedReLU",
    "lazy-to-rich": "dimfree.gallery.lazy_to_rich:LazyToRich",
    "kernels-lose": "dimfree.gallery.kernels_lose:KernelsLose",
    "staircase": "dimfree.gallery.staircase:StaircaseEntry",
    "not-a-staircase": "dimfree.gallery.not_a_staircase:NotAStaircase",
    "time-scales": "dimfree.gallery.time_scales:TimeScales",
    "quartic": "dimfree.gallery.quartic:Quartic",
    "spectral-vs-sgd": "dimfree.gallery.spectral_vs_sgd:SpectralVersusSGD",
    "perceptron": "dimfree.gallery.perceptron:Perceptron",
    "double-descent": "dimfree.gallery.double_descent:DoubleDescent",
    "covariate-ridge": "dimfree.gallery.covariate_digits:CovariateRidge",
    "covariate-logistic": "dimfree.gallery.covariate_digits:CovariateLogistic",
    "optimal-schedule": "dimfree.gallery.optimal_schedule:OptimalSchedule",
    "schedule-quenched": "dimfree.gallery.schedule_quenched:ScheduleQuenched",
    "batch-is-rate": "dimfree.gallery.batch_is_rate:BatchIsRate",
    "hidden-manifold": "dimfree.gallery.hidden_manifold:HiddenManifoldEntry",
    "digits": "dimfree.gallery.digits:Digits",
    "power-law": "dimfree.gallery.power_law:PowerLaw",
    "plateau-spectrum": "dimfree.gallery.plateau_spectrum:PlateauSpectrum",
    "momentum": "dimfree.gallery.momentum:Momentum",
}


def names() -> tuple[str, ...]:
    """The figures that can be reproduced; importing nothing heavy."""
    return tuple(_ENTRIES)


def entry(name: str) -> "Entry[Any]":
    """The figure of this name."""
    if name not in _ENTRIES:
        raise ProblemError(f"there is no figure {name!r}; {suggest(name, names())}")
    module, _, cls = _ENTRIES[name].partition(":")
    found: Entry[Any] = getattr(importlib.import_module(module), cls)()
    return found
