"""The setting of one-pass SGD: fresh samples, two-layer networks."""

from dimfree.onepass.problem import OnePassProblem
from dimfree.setting import Setting, Variable

_UNIT = ("time", "replica", "unit")

VARIABLES = {
    "risk": Variable(
        ("time", "replica"),
        "1",
        "population risk E[(f* - f)²]/2 without the noise floor; of other losses E l(f, y)",
    ),
    "test_error": Variable(
        ("time", "replica"),
        "1",
        "how often the sign of f, or the largest output, is not that of the label as drawn; f = 0 counts half",
        share=True,
    ),
    "clean_error": Variable(
        ("time", "replica"),
        "1",
        "how often the sign of f, or the largest output, is not that of the teacher, without flips and noise",
        share=True,
    ),
    "bayes_error": Variable(("time", "replica"), "1", "the lowest test error that any rule has", share=True),
    "components": Variable(
        ("time", "replica", "degree"),
        "1",
        "the risk degree by degree, for a target that is a polynomial of one direction",
    ),
    "Q": Variable((*_UNIT, "unit_"), "1", "overlaps between students, W Wᵀ/d; with a covariance W Sigma Wᵀ/d"),
    "M": Variable(
        (*_UNIT, "teacher"), "1", "overlaps between students and teachers, W W*ᵀ/d; with a covariance W Sigma W*ᵀ/d"
    ),
    "Q_plain": Variable(
        (*_UNIT, "unit_"), "1", "Euclidean overlaps between students, where Q and M are those of preactivations"
    ),
    "Q_block": Variable(
        ("time", "replica", "block", "unit", "unit_"), "1", "Euclidean overlaps between students for every eigenvalue"
    ),
    "M_block": Variable(
        ("time", "replica", "block", "unit", "teacher"), "1", "Euclidean overlaps with teachers for every eigenvalue"
    ),
    "quadrature_error": Variable(
        ("time", "replica"),
        "1",
        "estimated relative error of the nodes that stand for very many eigenvalues in equations",
    ),
    "risk_if_gaussian": Variable(
        ("time", "replica"),
        "1",
        "beside a risk on rows: that of Gaussian inputs of their covariance, for the same network",
    ),
    "a": Variable(_UNIT, "1", "second layer in the canonical scaling"),
    "A": Variable(
        ("time", "replica", "output", "unit"), "1", "second layer of several outputs in the canonical scaling"
    ),
    "Q_diagonal": Variable(_UNIT, "1", "squared norms of the students, where Q is not known or too large"),
    "bias": Variable(_UNIT, "1", "offsets b of the neurons"),
    "r1": Variable(_UNIT, "1", "norms of the first layer in the coordinates that tell classes apart"),
    "r2": Variable(_UNIT, "1", "norms of the first layer in all other coordinates"),
    "risk_error": Variable(("time", "replica"), "1", "standard error of a risk that is an average over test inputs"),
    "fourier": Variable(
        ("time", "replica", "support"), "1", "Fourier coefficients of f, in the order of data.coefficients"
    ),
    "u_mean": Variable(
        ("time", "replica", "coordinate"),
        "1",
        "mean over neurons of the size of w_i, over sqrt(d), for coordinates of labels",
    ),
    "s_mean": Variable(("time", "replica"), "1", "mean over neurons of the norm of all other weights, over sqrt(d)"),
    "a_mean": Variable(("time", "replica"), "1", "mean over neurons of the size of the second layer"),
    "mass": Variable(_UNIT, "1", "the share of the neurons that a particle stands for"),
}

SETTING = Setting(
    name="fresh samples",
    problem=OnePassProblem,
    model="dimfree.onepass.model:model",
    start="dimfree.onepass.start:shared_start",
    lacks="dimfree.onepass.start:why_no_start",
    figure="dimfree.onepass.figure:draw",
    scene="dimfree.onepass.scene:draw_scene",
    notes="dimfree.onepass.notes:remark",
    scales="dimfree.onepass.inputs.spectrum:levels_of",
    recipe="dimfree.onepass.recipe:recipe",
    template="dimfree.onepass:template.toml",
    variables=VARIABLES,
    simulation="sgd",
    theory="ode",
    descriptions={
        "sgd": "dimfree.onepass.real.vectors:VectorSGD",
        "sgd-eigenbasis": "dimfree.onepass.real.projected:EigenbasisSGD",
        "projected-rows": "dimfree.onepass.real.projected:ProjectedRows",
        "rows": "dimfree.onepass.real.rows:RowsSGD",
        "chain": "dimfree.onepass.real.chain:OverlapChain",
        "binned-chain": "dimfree.onepass.binned_chain:BinnedChain",
        "ode": "dimfree.onepass.limits.ode:HighDimensional",
        "gradient-flow": "dimfree.onepass.limits.ode:GradientFlow",
        "mean-field": "dimfree.onepass.limits.wide:MeanField",
        "dimensionless": "dimfree.onepass.limits.wide:Dimensionless",
        "linear-mean": "dimfree.onepass.limits.linear:LinearNetwork",
        "projected-mean": "dimfree.onepass.limits.projected:ProjectedMean",
        "equivalent": "dimfree.onepass.limits.projected:Equivalent",
        "diffusion": "dimfree.onepass.limits.diffusion:Diffusion",
        "pde": "dimfree.onepass.limits.pde:DistributionalDynamics",
        "pde-own-start": "dimfree.onepass.limits.pde:OwnStart",
    },
)
