"""Sentences of the site with measured numbers, and where the numbers are read from; docs/make_numbers.py writes them."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Sentence(NamedTuple):
    """Words of a page with a place for each number, and the numbers in what the files hold."""

    page: str  # below docs
    words: str
    numbers: Callable[[dict[str, Any]], tuple[float, ...]]


def benchmark(*names: str) -> Callable[[dict[str, Any]], tuple[float, ...]]:
    """What benchmarks/results.json holds under these names."""
    return lambda found: tuple(found["results"][name]["ratio"] for name in names)


def claim(figure: str, *statements: str, times: float = 1) -> Callable[[dict[str, Any]], tuple[float, ...]]:
    """The values of these claims of a gallery record, times a number: 100 for per cents, -1 for falls."""
    return lambda found: tuple(times * value(found, figure, statement) for statement in statements)


def value(found: dict[str, Any], figure: str, statement: str) -> float:
    """The value of a claim; where several have one statement, that of the first."""
    return float(next(one["value"] for one in found["claims"][figure] if one["statement"] == statement))


def _accuracy(found: dict[str, Any]) -> tuple[float, ...]:
    statement = "largest difference of any observable at any time, in combined standard errors"
    return (
        max(value(found, figure, statement) for figure in ("mixture-vanilla", "mixture-persistent", "three-clusters")),
    )


def _data_sets(found: dict[str, Any]) -> tuple[float, ...]:
    names = ("part of the persistent runs that end at |m| > 0.97", "the same with vanilla batches")
    return claim("sign-retrieval", *names, "the same with the full batch", times=12)(found)


def _below(found: dict[str, Any]) -> tuple[float, ...]:
    names = (f"ode over exact mean at a = {a}, ruled by noise, largest d" for a in ("1.5", "2"))
    return tuple(100 * (1 - value(found, "power-law", name)) for name in names)


def _cubic(found: dict[str, Any]) -> tuple[float, ...]:
    one = found["spectral"].sel(samples=4.0)
    measured = one["measured"]
    error = float(measured.std("seed", ddof=1)) / measured.sizes["seed"] ** 0.5
    return float(measured.mean("seed")), error, float(one["predicted"])


def _huber(found: dict[str, Any]) -> tuple[float, ...]:
    student, gaussian = (
        value(found, "heavy-tails", f"{noise}: floor of the square loss over Huber's")
        for noise in ("Student 3", "Gaussian")
    )
    return student, 1 / gaussian


def _kernels(found: dict[str, Any]) -> tuple[float, ...]:
    at = found["kernels"].sel(samples=100).mean("seed")
    return float(at["network"]), float(at["kernel"])


def _single_starts(found: dict[str, Any]) -> tuple[float, ...]:
    networks = found["own_rows"]["ratios"]["digits, one scale"]
    late, early = networks["erf 2/2, 0.5"][-1], networks["ReLU 2/2, 0.5"][0]
    return late["lowest"], late["highest"], early["lowest"], early["highest"]


def _limits(found: dict[str, Any]) -> tuple[float, ...]:
    """Those of rows and of Gaussian inputs with one scale for all, and with a scale for each pixel."""
    return tuple(one["value"] for one in found["claims"]["digits"][-4:])


_OVER_SQUARE = tuple(f"rhs_any_loss_{name}" for name in ("1_1", "2_1", "relu_2_1", "4_4", "relu_4_4"))
_STEPS = tuple(f"steps until the risk is below 0.01 with momentum {beta}" for beta in ("0.8", "0", "0.9"))
_SIZES = tuple(f"best size at C = {compute}" for compute in ("1000", "10000", "100000", "1e+06"))

SENTENCES = (
    Sentence(
        "howto/plan.md",
        "takes {:.1f} GB beyond the process",
        lambda found: (found["plan_memory"]["bytes_beyond_the_process"] / 1e9,),
    ),
    Sentence("scaling.md", "{:.0f} times as fast at d = 1024", benchmark("eigenbasis_over_genuine")),
    Sentence("scaling.md", "{:.1g} CPU seconds at v = 10⁹", benchmark("equivalent_1e9_inputs")),
    Sentence("schedules.md", "gradient over value: a factor of about {:.0f}", benchmark("schedule_gradient")),
    Sentence(
        "losses.md",
        "takes {:.0f} times as long with one unit, {:.0f} (erf) to {:.0f} times (ReLU) with two, and with four units and "
        "four teachers {:.0f} times (erf) or {:.0f} times (ReLU, whose closed form is slow).",
        benchmark(*_OVER_SQUARE),
    ),
    Sentence(
        "losses.md",
        "at most {:.2f} times the CPU time in `sgd`, `chain` and `ode`",
        lambda found: (max(one["ratio"] for one in found["same_speed"].values()),),
    ),
    Sentence(
        "data-sets.md",
        "no observable of any gallery figure is more than {:.1f} standard errors away",
        _accuracy,
    ),
    Sentence(
        "data-sets.md", "recovers {:.0f} by t = 210 (|m| > 0.97), vanilla SGD {:.0f}, full batch {:.0f};", _data_sets
    ),
    Sentence(
        "data-sets.md",
        "(squared distance about {:.1f})",
        claim("sign-retrieval", "mean squared distance of two persistent runs, largest"),
    ),
    Sentence(
        "data-sets.md",
        "N = 1000: {:.1f} standard errors at most)",
        claim(
            "sign-retrieval",
            "theory at early times: largest difference of overlap and loss, in combined standard errors",
        ),
    ),
    Sentence(
        "hypercube.md",
        "at t = 50, and within {:.2f} of `pde-own-start`",
        claim("staircase", "largest distance of the mean risk R of SGD from DF dynamics from a start"),
    ),
    Sentence(
        "lazy.md",
        "(slopes −{:.2f} and −{:.2f})",
        claim(
            "lazy-to-rich",
            "slope of the movement in gamma, from gamma N = 100 on",
            "slope of the distance to the linearised flow",
            times=-1,
        ),
    ),
    Sentence(
        "lazy.md",
        "has an error of {:.1g}, the kernel of infinite width, stopped at its best, {:.1g},",
        _kernels,
    ),
    Sentence(
        "lazy.md",
        "grow like d^{:.1f} from d = 10 to 28",
        claim("kernels-lose", "points that the kernel needs grow like d^x, x"),
    ),
    Sentence(
        "learning-curves.md",
        "On these features R²π/2 is {:.2f}",
        claim("covariate-logistic", "linear part of the labels, R² pi/2"),
    ),
    Sentence(
        "networks-on-data.md",
        "|M(2)| = {:.4f} at α = 3",
        claim("reuse-batches", "|M(2)| with He3 on a reused batch, by quadrature"),
    ),
    Sentence(
        "networks-on-data.md",
        "takes {:.0f} steps instead of {:.0f}; with 0.9 it takes {:.0f}",
        claim("momentum-on-data", *_STEPS),
    ),
    Sentence("spectral.md", "4 d: {:.3f} ± {:.3f} against {:.3f}", _cubic),
    Sentence("time-scales.md", "| 0 | ε | {:.3f} |", claim("time-scales", "degree 0 is learned at eps^x, x")),
    Sentence(
        "time-scales.md",
        "| {:.3f} after the log; t₁/√ε grows by {:.3f} per",
        claim(
            "time-scales",
            "degree 1 at eps^x log(1/eps), x",
            "its time over sqrt(eps) grows per log(1/eps) by 1/(4 sigma_1 |phi_1|) = 0.5",
        ),
    ),
    Sentence(
        "time-scales.md",
        "k = 2: {:.3f} between the two smallest ε",
        claim("time-scales", "degree 2 at eps^x, x between the two smallest eps"),
    ),
    Sentence(
        "your-data.md",
        "the erf ratios of single starts range from {:.2f} to {:.2f}, and those of a ReLU network *at its start* from {:.2f} "
        "to {:.2f}.",
        _single_starts,
    ),
    Sentence(
        "your-data.md",
        'these two are {:.2f} and {:.2f} with `scale = "common"`, but {:.2f} and {:.2f} with',
        _limits,
    ),
    Sentence(
        "gallery.md",
        "R = {:.2f}, from κ = 0.4 R = {:.4f} |",
        claim("kappa-dichotomy", "risk R of the PDE at d = 320, t = 10 from kappa = 0.1", "the same from kappa = 0.4"),
    ),
    Sentence(
        "gallery.md",
        "from R = {:.2f} to inf R",
        claim("truncated-relu", "largest risk R of a start, which must be below 1"),
    ),
    Sentence(
        "gallery.md",
        "(`noisy-sgd` measures {:.2f} of it)",
        claim("noisy-sgd", "N (R_N of noisy SGD minus R of Gibbs law), over that of independent neurons of this law"),
    ),
    Sentence(
        "gallery.md",
        "ends {:.1f} times lower with Huber's loss than with the square one, under Gaussian noise {:.1f} times higher",
        _huber,
    ),
    Sentence(
        "gallery.md",
        "{:.0f} steps become {:.0f} with momentum 0.8",
        claim("momentum-on-data", _STEPS[1], _STEPS[0]),
    ),
    Sentence(
        "gallery.md",
        "without the {:.0f} % of the teacher's variance",
        claim("hidden-manifold", "share of the teacher's variance that no student sees", times=100),
    ),
    Sentence("gallery.md", "stays {:.0f} % (a = 1.5) and {:.0f} % (a = 2) below the exact mean", _below),
    Sentence(
        "gallery.md",
        "p is {:.2f} at 10⁶ and {:.1f} only at 10¹⁸",
        claim("scaling-phases", "p in phase IVa at C = 1e6, asymptotically 0.5", "p in phase IVa at C = 1e18"),
    ),
    Sentence("gallery.md", "the best size is {:.0f}, {:.0f}, {:.0f}, {:.0f} at C", claim("scaling-digits", *_SIZES)),
    Sentence(
        "gallery.md",
        "growing like C^{:.2f} in II",
        claim("scaling-chinchilla", "II: exponent of samples per parameter"),
    ),
    Sentence(
        "gallery.md",
        "({:.1f} % at d = 100, {:.1f} % at 400)",
        claim("momentum", *(f"deviation of beta = 0.9 at t = 0.5, d = {d}" for d in (100, 400)), times=100),
    ),
)
