"""The law of neurons that learn a few directions: against real SGD, against other limits, and between its two forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from teacher_flows import ALL, KEY, OWN, PDE, STAIRCASE, TEACHER, average, seen, started, whole_steps

import dimfree as df
from dimfree.onepass.fields.teacher_forms import CloudForm, SubspaceForm
from dimfree.onepass.kinds.gaussians.form import AnisotropicForm, RadialForm
from dimfree.onepass.limits.pde import DistributionalDynamics, form_of


@pytest.mark.parametrize(
    ("problem", "changes", "form"),
    [
        (TEACHER, {}, CloudForm),
        (TEACHER, {"network.second_layer": "trained"}, SubspaceForm),
        (TEACHER, {"network.bias_start": 0.1}, SubspaceForm),
        (TEACHER, {"network.activation": "relu"}, SubspaceForm),
        (TEACHER, {"data.activation": "tanh"}, SubspaceForm),
        (TEACHER, {"data.units": 3, "data.overlap": "orthonormal"}, SubspaceForm),
        (STAIRCASE, {"network.second_layer": "fixed", "network.activation": "erf"}, CloudForm),
        (df.Problem(data=df.TwoGaussians()), {}, RadialForm),
        (df.Problem(data=df.TwoGaussians()), {"data.signal": 20}, AnisotropicForm),
    ],
)
def test_a_particle_has_as_few_numbers_as_the_problem_allows(problem, changes, form):
    assert isinstance(form_of(df.extend.model(problem.replace(**changes) if changes else problem)), form)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "second_layer"), [(1, 1.0), (2, "signs"), (3, 1.0)])
def test_particles_have_the_moments_of_the_start(k, second_layer):
    overlap = np.array([[1.0, 0.4, 0.1], [0.4, 2.0, 0.0], [0.1, 0.0, 0.7]])[:k, :k]
    changes = {"data.units": k, "data.overlap": overlap.tolist(), "start.scale": 0.7, "network.width": 6}
    problem = TEACHER.replace(**changes, **{"network.second_layer_start": second_layer, "network.bias_start": 0.3})
    found = {name: x[0, 0] for name, x in seen(DistributionalDynamics(), problem, [0.0]).items() if name != "risk"}
    mass, d = found["mass"], problem.dimension
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(mass @ found["M"], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("n,nk,nl->kl", mass, found["M"], found["M"]), 0.49 / d * overlap, atol=1e-12)
    assert mass @ found["Q_diagonal"] == pytest.approx(0.49, rel=1e-9)
    assert mass @ found["Q_diagonal"] ** 2 == pytest.approx(0.49**2 * (1 + 2 / d), rel=1e-6)
    assert mass @ found["a"] == pytest.approx(0.0 if second_layer == "signs" else 1.0, abs=1e-12)
    assert mass @ found["a"] ** 2 == pytest.approx(1.0)
    np.testing.assert_array_equal(found["bias"], 0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="cloud", marks=pytest.mark.slow),
        pytest.param({"network.second_layer": "trained", "training.second_layer_rate": 2.0}, id="subspace"),
    ],
)
def test_from_one_start_it_is_the_mean_field_closure(changes):
    """Its own neurons in the field of their law: the particles of `mean-field` without the interaction of a unit with itself."""
    problem = TEACHER.replace(
        **changes, **{"network.width": 40, "training.weight_decay": 0.1, "training.second_layer_decay": 0.3}
    )
    times, (m, start) = jnp.asarray([0.5, 2.0]), started(problem)
    other = eqx.filter_jit(df.theories.MeanField(self_term=False).run)(m, start, times, KEY)
    found = seen(DistributionalDynamics(own_start=True, step=0.05), problem, times)
    for name in ("risk", "M", "Q_diagonal", "a"):
        np.testing.assert_allclose(found[name], other[name], rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"network.second_layer": "trained"}], ids=["cloud", "subspace"])
def test_wide_mean_field_networks_scatter_around_it(changes):
    problem, times = TEACHER.replace(**changes, **{"network.width": 300}), jnp.asarray([0.5, 2.0])
    one = eqx.filter_jit(df.theories.MeanField(self_term=False).run)
    starts = [df.extend.draw_start(problem, jax.random.key(seed), vectors=True) for seed in range(12)]
    risks = np.stack([one(df.extend.model(problem), start, times, KEY)["risk"][:, 0] for start in starts])
    z = (risks.mean(axis=0) - seen(PDE, problem, times)["risk"][:, 0]) / (risks.std(axis=0, ddof=1) / np.sqrt(12))
    assert np.abs(z).max() < 4
    assert (risks.std(axis=0) < 0.03 * risks.mean(axis=0)).all(), "long error bars must not make this true"


@pytest.mark.slow
def test_finite_networks_are_off_like_one_over_width():
    """Gradient flow of p neurons, without the noise of steps, from the same start."""
    gaps, errors, flow, starts = [], [], eqx.filter_jit(df.theories.GradientFlow().run), 24
    for width in (32, 128):
        problem, times, each = TEACHER.replace(**{"network.width": width}), jnp.asarray([1.0, 3.0]), []
        for seed in range(starts):
            m, start = started(problem, seed)
            each.append(flow(m, start, times, KEY)["risk"][:, 0] - seen(OWN, problem, times, seed)["risk"][:, 0])
        gaps.append(np.mean(each, axis=0))
        errors.append(np.std(each, axis=0, ddof=1) / np.sqrt(starts) / gaps[-1])
    assert (gaps[1] > 0).all(), "directions of a finite number of neurons add to the risk"
    slopes, error = np.log(gaps[0] / gaps[1]) / np.log(4), np.hypot(*errors) / np.log(4)
    assert (np.abs(slopes - 1) < 3 * error + 0.1).all(), slopes  # the next order is 1/p smaller, of the size of a tenth
    assert (error < 0.15).all(), "long error bars must not make this true"


@pytest.mark.parametrize(
    ("problem", "times"),
    [
        pytest.param(TEACHER, [0.0, 1.0, 3.0], id="teacher", marks=pytest.mark.slow),
        pytest.param(STAIRCASE, [0.0, 1.0, 2.0], id="staircase", marks=pytest.mark.slow),
        pytest.param(STAIRCASE.replace(**ALL), [0.0, 1.0, 2.0], id="offsets", marks=pytest.mark.slow),
        pytest.param(
            TEACHER.replace(
                **{
                    "network.second_layer": "trained",
                    "training.weight_decay": 0.2,
                    "training.scheduled": "everything",
                    "training.schedule": {"kind": "power", "scale": 2.0},
                }
            ),
            [0.0, 1.0, 3.0],
            id="decay and schedule",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_follows_real_sgd(problem, times):
    """Width 1000, from the same neurons: means over them within error bars, the risk up to 1/p and the noise of steps."""
    times, replicas = whole_steps(problem, times), 16
    real, limit = seen(df.experiments.VectorSGD(), problem, times, replicas=replicas), seen(OWN, problem, times)
    for name in limit.keys() & {"M", "a", "bias"}:
        runs, law = average(real, name)[1:], average(limit, name)[1:, 0]
        error = runs.std(axis=1, ddof=1) / np.sqrt(replicas)
        assert (np.abs(runs.mean(axis=1) - law) < 4 * error + 1e-3).all(), name
    runs = real["risk"][1:]
    error = runs.std(axis=1, ddof=1) / np.sqrt(replicas)
    assert (np.abs(runs.mean(axis=1) - limit["risk"][1:, 0]) < 4 * error + 0.01 * limit["risk"][1:, 0]).all()
    assert limit["risk"][-1, 0] < 0.7 * limit["risk"][0, 0], "something must be learned"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        (TEACHER, {}),
        pytest.param(TEACHER, {"data.units": 2, "data.overlap": [[1.0, 0.3], [0.3, 2.0]]}, marks=pytest.mark.slow),
        pytest.param(
            STAIRCASE, {"network.second_layer": "fixed", "network.activation": "square"}, marks=pytest.mark.slow
        ),
    ],
)
def test_two_forms_are_one(problem, changes):
    """Pairs of neurons, and nodes in the teacher's span, for which the offset is too small to matter."""
    changed = problem.replace(**changes, **{"training.weight_decay": 0.1, "training.scheduled": "everything"})
    cloud, nodes = (
        seen(PDE, one, [0.0, 1.0, 2.0]) for one in (changed, changed.replace(**{"network.bias_start": 1e-10}))
    )
    assert "bias" in nodes
    for name in cloud:
        np.testing.assert_allclose(nodes[name], cloud[name], rtol=1e-7, atol=1e-8, err_msg=name)
