"""Starts: drawn as vectors or as overlaps they have one law; explicit ones are met exactly; files are checked."""

from functools import lru_cache
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.sections import GaussianStart, OverlapStart, SphereStart, TwoLayer, WeightsStart
from dimfree.onepass.start import Start, _draw, draw_start, embed, shared_start, why_no_start, wishart
from dimfree.problem import Problem
from stages import gating

P = ((1.0, 0.5), (0.5, 1.2))
DRAWS, SCALE = 5000, 0.7


def problem_with(start, dimension: int, width: int = 4) -> Problem:
    return Problem(dimension=dimension, data=Teacher(overlap=P), network=TwoLayer(width=width), start=start)


def drawn(problem: Problem, seed: int, vectors: bool) -> Start:
    keys = jax.random.split(jax.random.key(seed), DRAWS)
    return jax.jit(jax.vmap(lambda key: draw_start(problem, key, vectors=vectors)))(keys)


def named(start: Start) -> dict[str, np.ndarray]:
    Q, M = np.asarray(start.overlaps.Q), np.asarray(start.overlaps.M)
    return {
        "Q_11": Q[:, 0, 0],
        "Q_12": Q[:, 0, 1],
        "Q_34": Q[:, 2, 3],
        "M_11": M[:, 0, 0],
        "M_42": M[:, 3, 1],
        "M_11 M_12": M[:, 0, 0] * M[:, 0, 1],
        "Q_12 M_11 M_21": Q[:, 0, 1] * M[:, 0, 0] * M[:, 1, 0],
        "Q_12 Q_23 Q_31": Q[:, 0, 1] * Q[:, 1, 2] * Q[:, 2, 0],
        "Q_11 M_11²": Q[:, 0, 0] * M[:, 0, 0] ** 2,
        "det Q": np.linalg.det(Q),
    }


@lru_cache(maxsize=8)
def starts(kind: str, dimension: int, vectors: bool) -> Start:
    law = {"gaussian": GaussianStart(scale=SCALE), "sphere": SphereStart(scale=SCALE)}[kind]
    return drawn(problem_with(law, dimension), 10 * dimension + vectors, vectors)


KINDS = list(product(["gaussian", "sphere"], [20, 5]))


@pytest.mark.parametrize(("kind", "dimension"), gating(KINDS, [("gaussian", 5), ("sphere", 20)]))
def test_overlaps_have_the_law_of_vectors(assert_same_law, kind, dimension):
    assert_same_law(named(starts(kind, dimension, True)), named(starts(kind, dimension, False)))


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("dimension", gating([20, 5], [5]))
def test_first_moments_of_a_gaussian_start(dimension, vectors):
    law = named(starts("gaussian", dimension, vectors))
    exact = {
        "Q_11": (SCALE**2, 2 * SCALE**4 / dimension),
        "Q_12": (0.0, SCALE**4 / dimension),
        "M_11": (0.0, SCALE**2 / dimension),
        "M_42": (0.0, SCALE**2 * 1.2 / dimension),
    }
    for name, (mean, variance) in exact.items():
        x = law[name]
        fourth = np.mean((x - x.mean()) ** 4)
        assert abs(x.mean() - mean) < 4.5 * np.sqrt(variance / DRAWS), name
        assert abs(x.var() - variance) < 4.5 * np.sqrt((fourth - variance**2) / DRAWS), name
    assert abs(law["M_11 M_12"].mean() - 0.5 * SCALE**2 / dimension) < 4.5 * law["M_11 M_12"].std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("vectors", [True, False])
def test_rows_on_the_sphere_have_one_norm(vectors):
    Q = starts("sphere", 20, vectors).overlaps.Q
    np.testing.assert_allclose(np.diagonal(Q, axis1=1, axis2=2), SCALE**2, rtol=1e-12)


@pytest.mark.parametrize("kind", gating(["gaussian", "sphere"], ["sphere"]))
def test_drawn_vectors_have_the_measured_overlaps_and_the_asked_teacher(kind):
    W, overlaps = np.asarray(starts(kind, 20, True).weights), starts(kind, 20, True).overlaps
    Omega = W @ np.swapaxes(W, 1, 2) / 20
    np.testing.assert_allclose(Omega, overlaps.covariance(jnp.asarray(P)), rtol=0, atol=1e-12)
    assert starts(kind, 20, False).weights is None


def test_equal_keys_give_equal_starts():
    problem = problem_with(GaussianStart(), 5)
    one, same, other = (draw_start(problem, jax.random.key(seed), vectors=False).overlaps.Q for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_overlap_space_does_not_know_the_dimension():
    Q = draw_start(problem_with(GaussianStart(), 10**9), jax.random.key(0), vectors=False).overlaps.Q
    np.testing.assert_allclose(Q, np.eye(4), atol=5 * np.sqrt(2e-9))


@pytest.mark.parametrize("freedom", gating([2, 3], [2]))
def test_wishart_mean(freedom):
    keys = jax.random.split(jax.random.key(freedom), DRAWS)
    S = np.asarray(jax.jit(jax.vmap(lambda key: wishart(key, 3, freedom)))(keys))
    error = np.sqrt(freedom * (1 + np.eye(3)) / DRAWS)
    assert (np.abs(S.mean(axis=0) - freedom * np.eye(3)) / error).max() < 4.5
    assert (np.linalg.matrix_rank(S[:50], tol=1e-9) == min(3, freedom)).all()


@pytest.mark.parametrize(("dimension", "rank"), [(40, 40), (40, 2), (5, 5)])
def test_explicit_overlaps_are_met_exactly(dimension, rank):
    rest = np.random.default_rng(0).normal(size=(4, rank)) @ np.eye(rank, dimension) / np.sqrt(rank)
    teachers = np.linalg.cholesky(np.array(P)) @ np.eye(2, dimension)
    start = OverlapStart(Q=(rest @ rest.T).tolist(), M=(rest @ teachers.T).tolist())
    problem = problem_with(start, dimension)
    given = draw_start(problem, jax.random.key(0), vectors=True)
    np.testing.assert_array_equal(given.overlaps.Q, start.Q)
    np.testing.assert_array_equal(given.overlaps.M, start.M)
    assert given.weights.shape == (6, dimension)
    np.testing.assert_array_equal(given.weights, embed(given.overlaps, problem))
    Omega = np.asarray(given.overlaps.covariance(jnp.asarray(P)))
    np.testing.assert_allclose(given.weights @ given.weights.T / dimension, Omega, rtol=0, atol=1e-10)


@pytest.fixture
def file_problem(tmp_path) -> Problem:
    return problem_with(WeightsStart(file=tmp_path / "weights.npz"), 7, width=3)


def good_arrays() -> dict[str, np.ndarray]:
    teachers = np.sqrt(7) * np.linalg.cholesky(np.array(P)) @ np.eye(2, 7)
    return {"W": np.random.default_rng(0).normal(size=(3, 7)), "Wstar": teachers}


def test_weights_from_a_file(file_problem):
    arrays = good_arrays()
    np.savez(file_problem.start.file, **arrays)
    start = draw_start(file_problem, jax.random.key(0), vectors=True)
    np.testing.assert_array_equal(start.weights, np.concatenate(list(arrays.values())))
    np.testing.assert_allclose(start.overlaps.Q, arrays["W"] @ arrays["W"].T / 7, rtol=1e-13)
    np.testing.assert_allclose(start.overlaps.M, arrays["W"] @ arrays["Wstar"].T / 7, rtol=1e-13)


def complaint(problem: Problem) -> str:
    with pytest.raises(ProblemError) as caught:
        draw_start(problem, jax.random.key(0), vectors=True)
    assert len(str(caught.value).splitlines()) == 1
    assert "weights.npz" in str(caught.value)
    return str(caught.value)


def test_missing_file_of_weights(file_problem):
    assert complaint(file_problem).endswith("which does not exist.")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"W": None}, "has no array 'W'; it needs W and Wstar."),
        ({"Wstar": None}, "has no array 'Wstar'; it needs W and Wstar."),
        ({"W": np.ones((3, 8))}, "has shape (3, 8); this problem needs (3, 7)."),
        ({"Wstar": np.ones((7, 2))}, "has shape (7, 2); this problem needs (2, 7)."),
        ({"W": np.full((3, 7), np.nan)}, "has entries that are not finite."),
        (
            {"Wstar": np.sqrt(7) * np.eye(2, 7)},
            "has overlaps [[1.0, 0.0], [0.0, 1.0]], but data.overlap says [[1.0, 0.5],",
        ),
        ({"W": np.array("text")}, "is not a readable .npz archive"),
    ],
)
def test_weights_that_do_not_fit_the_problem(file_problem, change, expected):
    arrays = {name: array for name, array in (good_arrays() | change).items() if array is not None}
    np.savez(file_problem.start.file, **arrays)
    assert expected in complaint(file_problem)


NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (), }".ljust(127) + b"\n" + bytes(8)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"not an archive", id="text"),
        pytest.param(b"", id="empty"),
        pytest.param(NPY, id="npy"),
        pytest.param(b"PK\x03\x04 torn", id="torn"),
    ],
)
def test_files_that_are_no_archives(file_problem, content):
    file_problem.start.file.write_bytes(content)
    assert "which is not a readable .npz archive" in complaint(file_problem)


@pytest.mark.parametrize("kind", ["gaussian", "sphere"])
def test_a_start_without_a_teacher_is_vectors_and_norms(kind):
    problem = Problem(data=TwoGaussians(), dimension=12, network=TwoLayer(width=500, bias_start=0.4)).replace(
        **{"start.kind": kind, "start.scale": SCALE}
    )
    start = draw_start(problem, jax.random.key(0), vectors=False)
    assert start.weights.shape == (500, 12)
    np.testing.assert_allclose(start.norms, np.sum(np.asarray(start.weights) ** 2, axis=1) / 12, rtol=1e-12)
    np.testing.assert_array_equal(start.bias, np.full(500, 0.4))
    if kind == "sphere":
        np.testing.assert_allclose(start.norms, SCALE**2, rtol=1e-12)
    else:
        assert float(start.scale) == SCALE
        assert abs(float(jnp.mean(start.norms)) - SCALE**2) < 4.5 * SCALE**2 * np.sqrt(2 / 12 / 500)


def test_weights_of_two_gaussians_from_a_file_need_no_teacher(tmp_path):
    W = np.random.default_rng(0).normal(size=(3, 7))
    np.savez(tmp_path / "weights.npz", W=W)
    start = WeightsStart(file=tmp_path / "weights.npz")
    problem = Problem(data=TwoGaussians(), dimension=7, network=TwoLayer(width=3), start=start)
    np.testing.assert_array_equal(draw_start(problem, jax.random.key(0), vectors=True).weights, W)
    np.savez(tmp_path / "weights.npz", V=W)
    assert complaint(problem).endswith("has no array 'W'; it needs W.")


def test_a_shared_start_has_vectors_while_these_are_small():
    key, small, large = jax.random.key(0), Problem(), Problem(dimension=10**8)
    assert shared_start(small, key, frozenset()).weights is not None
    assert shared_start(large, key, frozenset({"pairs"})).weights is None


def test_pairs_of_very_many_units_are_not_to_be_had():
    wide = Problem(network=TwoLayer(width=5000))
    assert "lower network.width to 3000" in str(why_no_start(wide, frozenset({"pairs"})))
    assert why_no_start(wide, frozenset()) is None
    assert why_no_start(wide.replace(**{"data.kind": "two-gaussians"}), frozenset({"vectors"})) is None


@pytest.mark.parametrize(("width", "units", "dimension"), [(4, 2, 300), (3, 1, 17), (5, 5, 64)])
def test_a_start_at_any_dimension_has_the_bits_of_the_compiled_draw(width, units, dimension):
    one = Problem(
        dimension=dimension, data=Teacher(units=units), network=TwoLayer(width=width), start=GaussianStart(scale=SCALE)
    )
    key, sizes = jax.random.key(dimension), (width, units, dimension)
    compiled = _draw(key, jnp.eye(units), jnp.asarray(SCALE), sizes, False)
    np.testing.assert_array_equal(draw_start(one, key, vectors=True).weights, compiled)


def test_a_start_leaves_out_vectors_that_are_not_needed():
    start = draw_start(Problem(dimension=300), jax.random.key(0), vectors=True)
    assert start.only(frozenset({"vectors"})).weights is start.weights
    slim = start.only(frozenset({"pairs"}))
    assert slim.weights is None
    assert slim.overlaps is start.overlaps
