"""Tables as people have them: what is read, what is refused in one sentence, and what is said about columns."""

import numpy as np
import pandas as pd
import pytest

import dimfree as df
from dimfree.questions.plan import pieces
from dimfree.questions.plan.columns import look_at
from dimfree.questions.plan.moments import Moments, Sample
from dimfree.questions.plan.splits import splits
from dimfree.questions.plan.table import Wish, read

ROWS = 60


@pytest.fixture
def houses():
    chance = np.random.default_rng(0)
    table = pd.DataFrame({"size": chance.normal(100, 20, ROWS), "age": chance.normal(30, 10, ROWS)})
    return table.assign(city=chance.choice(["Bern", "Chur"], ROWS), price=3 * table["size"] + chance.normal(size=ROWS))


def test_every_format_gives_the_same_numbers(houses, tmp_path):
    plain = houses.drop(columns="city")
    plain.to_csv(tmp_path / "a.csv", index=False)
    X, y = plain[["size", "age"]].to_numpy(), plain["price"].to_numpy()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "both.npz", X=X, y=y)
    given = [(tmp_path / "a.csv", "price"), (plain, "price"), (X, y), (tmp_path / "X.npy", str(tmp_path / "y.npy"))]
    for features, target in [*given, (tmp_path / "both.npz", None)]:
        found = read(features, target, Wish(), seed=0)
        np.testing.assert_allclose(found.X, X)
        np.testing.assert_allclose(found.y, y)
    assert read(plain, "price", Wish(), seed=0).columns == ("size", "age")


def test_words_become_columns_of_0_and_1_on_request(houses):
    found = read(houses, "price", Wish(one_hot=True), seed=0)
    assert found.columns == ("size", "age", "city=Chur")
    np.testing.assert_array_equal(found.X[:, 2], houses["city"] == "Chur")
    three = houses.assign(city=["a", "b", "c"] * (ROWS // 3))
    found = read(three, "price", Wish(one_hot=True), seed=0)
    assert found.columns == ("size", "age", "city=a", "city=b", "city=c")
    np.testing.assert_array_equal(found.X[:, 3], three["city"] == "b")


def test_classes_may_be_words(houses):
    found = read(houses, "city", Wish(), seed=0)
    assert found.classes == ("Bern", "Chur")
    np.testing.assert_array_equal(found.y > 0, houses["city"] == "Chur")
    turned = read(houses, "city", Wish(positive="Bern"), seed=0)
    np.testing.assert_array_equal(turned.y, -found.y)


def test_whole_numbers_that_may_be_classes_are_named(houses):
    y = np.arange(ROWS) % 3
    found = read(houses.drop(columns="city"), y, Wish(), seed=0)
    assert found.classes is None
    assert found.said[0].startswith(
        "labels has only 3 values, all whole numbers, and is learned as a number; if these are"
    )
    for other in (y + 0.5, np.arange(ROWS)):
        assert not read(houses.drop(columns="city"), other, Wish(), seed=0).said
    against = read(houses.drop(columns="city"), y, Wish(positive="1"), seed=0)
    np.testing.assert_array_equal(against.y > 0, y == 1)


def test_missing_values_are_filled_in_as_scikit_learn_does(houses):
    houses.loc[3, "age"] = np.nan
    found = read(houses, "price", Wish(columns=("age",), impute="median"), seed=0)
    assert found.X[3, 0] == houses["age"].median()
    assert found.said == ("1 missing values were filled in by the median of their column.",)
    houses.loc[[4, 5], "city"] = None
    found = read(houses, "price", Wish(one_hot=True, impute="median"), seed=0)
    np.testing.assert_array_equal(found.X[4, 2:], 0.0)
    assert found.said[1] == "2 missing words (city: 2) count as none of the kinds of their column."


def _changed(**columns):
    return lambda table: table.assign(**columns)


@pytest.mark.parametrize(
    ("change", "target", "wish", "said"),
    [
        (
            _changed(),
            None,
            Wish(),
            "which column of the frame is learned was not said; give target, one of: size, age,",
        ),
        (_changed(), "prise", Wish(), "no column 'prise', and there is no such file; did you mean 'price'?"),
        (
            _changed(),
            "price",
            Wish(),
            r"1 column has words \(city: 2 kinds\); make columns of 0 and 1 of it with one_hot, or name the others",
        ),
        (_changed(), "price", Wish(columns=("sice",)), "no column 'sice' beside the target; did you mean 'size'?"),
        (
            lambda table: table.assign(age=table["age"].where(table["age"] > 30)),
            "price",
            Wish(columns=("size", "age")),
            r"values are missing \(age: \d+\); remove their rows, or fill them in with impute = 'mean'",
        ),
        (_changed(price=np.nan), "price", Wish(columns=("age",)), "60 of 60 rows have no 'price'; remove them"),
        (_changed(price=1.0), "price", Wish(columns=("age",)), "'price' is 1 in all rows; there is nothing to learn"),
        (
            lambda table: table.assign(city=["a", "b", "c"] * 20),
            "city",
            Wish(),
            r"'city' has 3 classes \(a, b, c\), and a plan is for numbers or two classes; name one of them as positive",
        ),
        (_changed(), "city", Wish(positive="Basel"), "'city' is never 'Basel'"),
        (_changed(), "price", Wish(impute="mode"), "impute = 'mode' is not known"),
        (
            lambda table: table.assign(price=table["price"].where(table["age"] > 20, np.inf)),
            "price",
            Wish(columns=("age",)),
            r"\d+ values of 'price' are not finite numbers; remove these rows",
        ),
        (_changed(age=np.inf), "price", Wish(columns=("size", "age")), "60 values are not finite numbers"),
        (
            lambda table: table.assign(age=["?", *table["age"].astype(str)[1:]]),
            "price",
            Wish(columns=("size", "age")),
            r"column 'age' has numbers, and '\?'; write numbers with a point, and leave missing values empty",
        ),
        (
            lambda table: table.assign(age=table["age"].map("{:.1f}".format).str.replace(".", ",")),
            "price",
            Wish(one_hot=True),
            r"column 'age' has numbers with a comma \(\d+,\d\); write them with a point",
        ),
        (
            _changed(age=1e200),
            "price",
            Wish(columns=("age",)),
            r"a value of 1e\+200 was given, whose square is no number",
        ),
        (
            lambda table: table.set_axis(["size", "size", "city", "price"], axis=1),
            "price",
            Wish(),
            "the frame has more than one column named 'size'",
        ),
        (lambda table: table[:20], "price", Wish(), "the frame has 20 rows; give at least 40"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_one_sentence(houses, change, target, wish, said):
    with pytest.raises(df.ProblemError, match=said):
        read(change(houses), target, wish, seed=0)


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(
        df.ProblemError, match="there is no file 'diabets', and no data set of that name; did you mean 'd"
    ):
        read("diabets", None, Wish(), seed=0)
    (tmp_path / "houses.csv").touch()
    with pytest.raises(df.ProblemError, match=r"data set of that name; did you mean '.*houses.csv'\?"):
        read(tmp_path / "house.csv", None, Wish(), seed=0)
    with pytest.raises(df.ProblemError, match="cannot be read: it is a folder; give a file"):
        read(tmp_path, None, Wish(), seed=0)


def test_moments_of_pieces_are_those_of_the_whole():
    rows = 1e6 + np.random.default_rng(1).normal(size=(100, 3))
    found = Moments(3)
    for part in np.split(rows, [7, 50]):
        found.add(part)
    np.testing.assert_allclose(found.mean, rows.mean(axis=0))
    np.testing.assert_allclose(found.covariance, np.cov(rows.T, bias=True), rtol=1e-6)


def test_rows_are_drawn_from_all_pieces_alike():
    counts = np.zeros(90)
    for seed in range(400):
        sample = Sample(10, seed)
        for part in np.split(np.arange(90), 9):
            sample.add(pd.DataFrame({"row": part}))
        kept = sample.rows()["row"].to_numpy()
        assert len({*kept}) == 10
        counts[kept] += 1
    expected = 400 * 10 / 90
    assert (
        np.sum((counts - expected) ** 2 / expected) < 150
    )  # chi-squared with 89 degrees of freedom: less than once in 1e4


def test_large_tables_are_read_in_pieces_and_only_some_rows_are_kept(tmp_path, monkeypatch):
    X = np.random.default_rng(2).normal(size=(500, 4))
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr(pieces, "PIECE", 40 * 4)
    longest = []
    cut = pieces._framed
    monkeypatch.setattr(pieces, "_framed", lambda part: longest.append(len(part)) or cut(part))
    found = read(tmp_path / "X.npy", X[:, 0], Wish(), seed=0, most=500)
    assert max(longest) == 40
    assert (found.moments.count, len(found.X)) == (500, 100)
    np.testing.assert_allclose(found.moments.covariance[:-1, :-1], np.cov(X.T, bias=True))
    assert {*map(tuple, found.X)} <= {*map(tuple, X)}
    assert "Of 500 rows, 100 were drawn at random" in found.said[0]


def test_a_hash_begins_a_comment_above_the_table_and_belongs_to_a_word_in_it(houses, tmp_path):
    houses = houses.assign(city=houses["city"] + " #2").rename(columns={"size": "size #1"})
    (tmp_path / "a.csv").write_text("# sold in 2026\n#\n" + houses.to_csv(index=False))
    found = read(tmp_path / "a.csv", "price", Wish(one_hot=True), seed=0)
    assert found.columns == ("size #1", "age", "city=Chur #2")
    np.testing.assert_allclose(found.y, houses["price"])


@pytest.mark.parametrize("mark", [";", "\t"])
def test_marks_between_columns_are_found(houses, tmp_path, mark):
    houses.to_csv(tmp_path / "a.csv", index=False, sep=mark)
    found = read(tmp_path / "a.csv", "price", Wish(columns=("size", "age")), seed=0)
    np.testing.assert_allclose(found.X, houses[["size", "age"]])


def _said(columns, target=None, **options):
    table = pd.DataFrame(columns)
    y = np.random.default_rng(9).normal(size=len(table)) if target is None else target
    found = read(table, y, Wish(**options), seed=0)
    return look_at(table=found, asked=None), " ".join((*found.said, *look_at(found, None).said))


def test_columns_are_reported_in_words():
    chance = np.random.default_rng(3)
    x, z, w = chance.normal(size=(3, 200))
    columns, said = _said({"one": np.ones(200), "x": x, "twice": 2 * x, "z": z, "year": 2000 + w})
    assert "1 column is constant and left out: one." in said
    assert "1 pair of columns says the same (x and twice)" in said
    assert "Column year lies 2.08e+03 standard deviations from 0" in said
    assert columns.varies.tolist() == [False, True, True, True, True]


def test_a_column_that_gives_the_target_away_and_numbers_of_rows_are_named():
    y = np.random.default_rng(9).normal(size=200)
    x = np.random.default_rng(3).normal(size=200)
    _, said = _said({"x": x, "copy": 1 - 2 * y, "Unnamed: 0": np.arange(200.0)})
    assert "Column copy says nearly all of the target by itself" in said
    assert "Column Unnamed: 0 has no name" in said
    _, said = _said({"x": x, "id": 7 + np.arange(200.0), "year": 1900 + np.arange(200.0) % 100, "size": 1000 * x})
    assert "Column id has another whole number in every row, as row numbers have" in said


def test_a_column_that_dominates_makes_every_column_have_its_own_scale():
    x, z, w = np.random.default_rng(4).normal(size=(3, 100))
    columns, said = _said({"x": x, "z": z, "area": 100 * w})
    assert columns.scale == "each"
    assert (
        "Column area has 100 % of the variance of all columns; every column is divided by its standard deviation."
        in said
    )
    np.testing.assert_allclose(columns.spectrum.sum(), 3)


def test_standardised_pixels_are_known_by_their_norms():
    rare = (np.random.default_rng(5).random((2000, 30)) < 0.002).astype(float)
    found = read(rare, np.arange(2000.0), Wish(), seed=0)
    assert "vary" in " ".join(look_at(found, "each").said)
    assert "scale = 'common' often mends it" in " ".join(look_at(found, "each").said)


def test_few_positives_and_few_rows_are_said():
    chance = np.random.default_rng(6)
    y = np.where(np.arange(500) < 5, "ill", "well")
    _, said = _said({"x": chance.normal(size=500)}, target=y, positive="ill")
    assert "Only 5 rows are of class ill" in said
    _, said = _said({f"x{k}": chance.normal(size=50) for k in range(70)})
    assert "There are 50 rows and 70 columns: fewer rows than columns determine no covariance." in said


def test_the_exponent_of_a_power_law_is_read_off():
    from dimfree.questions.plan.columns import exponent

    assert exponent(np.arange(1.0, 101) ** -1.3) == pytest.approx(1.3)
    assert np.isnan(exponent(np.array([2.0, 1.0, 0.5, 1e-3])))


def test_parts_are_disjoint_and_have_their_share_of_a_class():
    y = np.where(np.arange(300) < 15, 1.0, 0.0)
    found = read(np.random.default_rng(7).normal(size=(300, 2)), y, Wish(), seed=0)
    first, second = splits(found, look_at(found, None), 2, seed=0)
    parts = (first.learnt, first.chosen_by, first.measured_on)
    assert sorted(np.concatenate(parts)) == list(range(300))
    assert [len(part) for part in parts] == [180, 60, 60]
    assert [int(np.sum(found.y[part] > 0)) for part in parts] == [9, 3, 3]
    assert not np.array_equal(first.learnt, second.learnt)
    lonely = read(found.X, np.where(np.arange(300) < 1, 1.0, 0.0), Wish(), seed=0)
    with pytest.raises(df.ProblemError, match="too few rows of class 1"):
        splits(lonely, look_at(lonely, None), 1, seed=0)
