"""The page's start.js draws the very start of `dimfree compare`."""

import jax
import numpy as np
import pytest
from in_node import answered

import dimfree as df
from dimfree.comparison.run import starts_of
from dimfree.registry import description, setting_of

_STARTS = "(script, cases) => cases.map(([recipe, numbers]) => script.startOf(recipe, numbers))"


def problem(**changes: object) -> df.Problem:
    return df.Problem().replace(**{"dimension": 30, **changes})


def recipe(one: df.Problem) -> dict[str, object]:
    made = setting_of(one).recipe_of(one)
    assert isinstance(made, dict), made
    return made


def flat(one: df.Problem) -> dict[str, np.ndarray]:
    """The start of Python, as the page has it."""
    (start,) = starts_of(one, (description("ode"),))
    if hasattr(start.measured, "Omega"):
        return {"Omega": start.blocks.Omega, "a": start.blocks.a, "bias": start.bias}
    return {"Q": start.overlaps.Q, "M": start.overlaps.M, "a": start.overlaps.a, "bias": start.bias}


def agree(one: df.Problem, seen: dict[str, list[float]]) -> None:
    for name, values in flat(one).items():
        np.testing.assert_allclose(seen[name], np.ravel(values), rtol=1e-12, atol=1e-12, err_msg=f"{name} of {one!r}")


def test_starts_are_those_of_compare():
    """One structure with other numbers, given overlaps, and a recipe at the numbers of another problem."""
    base = problem()
    moved = [
        {"run.seed": 1},
        {"run.seed": 2**32 + 5, "start.scale": 0.3},
        {"run.seed": 2**53 - 1, "network.second_layer_start": 0.5},
    ]
    given = problem(start={"kind": "overlaps", "Q": np.eye(4).tolist(), "M": [[0.1, 0.2]] * 4})
    leaning = problem(**{"data.overlap": [[1.0, 0.3], [0.3, 2.0]]})
    cases = [
        (base, {}),
        *((base, numbers) for numbers in moved),
        (problem(**{"network.scaling": "sqrt", "network.second_layer_start": "signs"}), {}),
        (given, {}),
        (leaning, {}),
    ]
    seen = answered("start.js", _STARTS, [(recipe(one), numbers) for one, numbers in cases])
    for (one, numbers), found in zip(cases, seen, strict=True):
        agree(one.replace(**numbers) if numbers else one, found)


@pytest.mark.slow
def test_starts_of_other_sizes_are_those_of_compare():
    cases = [
        problem(dimension=d, **{"start.kind": kind, "network.width": p, "data.units": k, "run.seed": seed})
        for d, p, k, kind, seed in [
            (10, 4, 2, "gaussian", 0),
            (10, 4, 2, "sphere", 7),
            (2, 3, 2, "gaussian", 3),
            (100, 1, 1, "sphere", 11),
            (1000, 8, 3, "gaussian", 123456),
            (10000, 4, 2, "gaussian", 5),
            (10000, 4, 2, "sphere", 6),
        ]
    ]
    levels = {"kind": "levels", "values": [0.5, 2.0], "shares": [0.5, 0.5]}
    structured = [problem(**{"data.covariance": levels, "start.kind": kind}) for kind in ("gaussian", "sphere")]
    everything = [*cases, *structured]
    seen = answered("start.js", _STARTS, [(recipe(one), {}) for one in everything])
    for one, found in zip(everything, seen, strict=True):
        agree(one, found)
    wide = problem(dimension=10000, **{"run.seed": 9})
    (moved,) = answered("start.js", _STARTS, [(recipe(problem()), {"dimension": 10000, "run.seed": 9})])
    agree(wide, moved)


def test_normals_are_those_of_jax_far_into_the_tails():
    """All three polynomials of the inverse error function are met: w = -log(1 - u²) below 6.25, below 16, and above."""
    key = jax.random.fold_in(jax.random.key(3), 0)
    expected = np.asarray(jax.random.normal(key, (2_000,)))
    seen = answered("start.js", "(script, seed) => script.normals(script.startKey(seed), 2000)", 3)
    np.testing.assert_allclose(seen, expected, rtol=1e-13, atol=1e-15)
    u = np.array([1e-9, 0.3, 0.9978, 0.99905, 0.9990, 1 - 5e-8, 1 - 6e-8, 1 - 1e-12, 1 - 2.0**-53])
    found = answered("start.js", "(script, u) => u.map(script.erfInv)", [*u, *-u])
    np.testing.assert_allclose(found, jax.lax.erf_inv(np.concatenate([u, -u])), rtol=1e-13)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run.starts": 4}, "run.starts = 4"),
        ({"dimension": 10_000_000}, "lower the dimension"),
        ({"network.width": 4000}, "lower network.width"),
        ({"run.seed": 2**60}, "choose one up to 2**53"),
        ({"data": {"kind": "two-gaussians"}}, "data.kind = 'two-gaussians'"),
        ({"data.covariance": {"kind": "power", "exponent": 1.0}, "data.directions": {"power": 2.0}}, "use the server"),
    ],
)
def test_starts_that_a_page_cannot_draw_are_refused_in_a_sentence(changes: dict[str, object], words: str):
    one = df.Problem(**changes) if "data" in changes else problem(**changes)
    told = setting_of(one).recipe_of(one)
    assert isinstance(told, str)
    assert told.endswith(".")
    assert words in told


def test_a_setting_without_a_recipe_says_so():
    lazy = next(one for one in df.settings() if not one.recipe)
    assert "use the server" in str(lazy.recipe_of(lazy.problem()))


def test_a_dimension_that_is_too_large_is_refused_in_the_page():
    told = answered(
        "start.js",
        "(script, recipe) => { try { script.startOf(recipe, {dimension: 1e9}) } catch (error) { return error.message } }",
        recipe(problem()),
    )
    assert told == "a page draws starts of at most 5,000,000 weights; lower the dimension."
