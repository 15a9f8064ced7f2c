"""A scaling law from a table of the user's own, as a command: what is left out, exponents with errors, and an answer."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.errors import ProblemError
from dimfree.onepass.projected.estimate import estimate
from dimfree.questions.scaling.theory import Law
from dimfree.questions.scaling.warnings import said_of_rows
from stages import gating

TABLES = [(1500, 50, "npy"), (20_000, 300, "npy"), (20_000, 300, "csv")]


def own_table(folder, rows, columns, ending="npy"):
    """A power law in a rotated basis, with a few NaN (empty cells of a .csv) and three constant columns."""
    rng, j = np.random.default_rng(0), np.arange(1.0, columns + 1)
    z = rng.standard_normal((rows, columns)) * j**-0.8
    y = z @ j**-0.7 + 0.1 * rng.standard_normal(rows)
    X = z @ np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    X[:, [7, columns // 2, columns - 1]] = 3.0
    X[rng.integers(rows, size=4), rng.integers(columns, size=4)] = np.nan
    files = folder / f"X.{ending}", folder / f"y.{ending}"
    for file, array in zip(files, (X, y[:, None]), strict=True):
        if ending == "npy":
            np.save(file, array)
            continue
        names = [f"{file.stem}{k}" for k in range(array.shape[1])]
        rows_of = [",".join("" if np.isnan(x) else f"{x:.7g}" for x in row) for row in array]
        file.write_text("\n".join([",".join(names), *rows_of]))
    return ["--features", str(files[0]), "--labels", str(files[1])]


def asked(*options):
    done = CliRunner().invoke(app, ["scaling", *options])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize(("rows", "columns", "ending"), gating(TABLES, TABLES[:1]))
def test_a_table_with_nan_and_constant_columns_gets_a_sentence_and_an_answer(tmp_path, rows, columns, ending):
    given = own_table(tmp_path, rows, columns, ending)
    said = " ".join(asked(*given, "--budget-flops", "6e3", "--out", str(tmp_path)).stdout.split())
    assert said.startswith(f"X.{ending} has 3 constant columns; they are dropped (dimension {columns - 3}).")
    assert f"NaN in 4 rows of X.{ending} or its labels; they are dropped, and {rows - 4} rows are left." in said
    assert "Labels are divided by their standard deviation, and the best linear fit explains 99" in said
    assert "by chance, ±" in said
    assert "by the window of ranks" in said
    assert "learning_rate" in said


@pytest.mark.slow
def test_the_answer_to_a_large_table_has_its_exponents_figure_and_numbers(tmp_path):
    given = own_table(tmp_path, 20_000, 300)
    found = json.loads(asked(*given, "--json", "--out", str(tmp_path)).stdout)
    assert abs(found["estimate"]["alpha"] - 0.8) < 0.02
    assert abs(found["estimate"]["beta"] - 0.7) < 0.1
    assert found["best"]["risk"] > 0
    assert (tmp_path / "scaling.png").stat().st_size > 10_000


@pytest.fixture(scope="module")
def pixels():
    return df.scaling(features="digits", compute=(1e2, 1e4))


@pytest.mark.parametrize(
    ("noise", "sentence"),
    [
        (0.01, "by chance, from the only window in which the target is seen)"),
        (50.0, "by the window of ranks), beta is not known."),
    ],
)
def test_an_error_that_is_not_known_is_not_written_as_a_number(noise, sentence):
    rng, j = np.random.default_rng(0), np.arange(1.0, 101)
    x = rng.standard_normal((4000, 100)) * j**-0.7
    y = x @ j**-1.2 + noise**0.5 * rng.standard_normal(4000)
    found = estimate(x - x.mean(axis=0), y - y.mean())
    (said,) = said_of_rows(Law(df.PowerLaw(), 0.5, 1), found)
    assert sentence in said
    assert "nan" not in said


@pytest.mark.slow
def test_windows_and_the_end_of_the_table_are_warned_of(pixels):
    said = " ".join(pixels.summary().split())
    assert "Eigenvalues beyond rank 30 of 1797 rows are not used" in said
    assert "the best size is the largest of the list" in said
    assert "the 61 inputs end the law there" in said
    assert np.isnan(pixels.curves.frontier.size[-1])


@pytest.mark.slow
def test_windows_matter_more_than_chance(pixels):
    """docs/theory/scaling.md, section 5: for digits, ten times more."""
    found = pixels.estimate
    assert found.by_window[0] > 5 * found.by_chance[0]


@pytest.mark.slow
def test_sgd_on_rows_is_at_the_exact_means_of_its_projections():
    found = df.scaling(features="digits", compute=(1e2, 1e4), seeds=6)
    assert list(found.markers.sizes) == [16, 32]
    off = found.markers.sgd.mean(axis=1) / found.markers.exact.mean(axis=1) - 1
    assert np.abs(off).max() < 0.15  # rows are not Gaussian, and six projections scatter


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"features": "digits", "alpha": 1.0}, "a table has its own spectrum and target"),
        ({"features": np.ones((3, 2))}, "features without labels; name a file of labels"),
        ({"labels": "y.npy"}, "labels and width belong to a table"),
        ({"features": "iris"}, "has 4 columns that vary, too few for a law of sizes"),
        ({"problem": df.Problem(data={"kind": "projected"}), "beta": 1.0}, "alpha and beta are those of power laws"),
        ({"features": "nowhere.npy", "labels": "y.npy"}, "nowhere.npy"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(options, sentence):
    with pytest.raises(ProblemError, match=sentence):
        df.scaling(**options)
