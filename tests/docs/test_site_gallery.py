"""Records of the gallery belong to figures of the shelf, stay small, and say what was measured; dead links are found."""

import json
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS))

import check_links  # noqa: E402
import make_gallery  # noqa: E402
from builders import gallery  # noqa: E402

from dimfree.gallery.shelf import shelved  # noqa: E402

RECORDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in make_gallery.RECORDS.glob("*.json")}


def test_every_figure_stands_under_one_question():
    listed = [name for names in gallery.QUESTIONS.values() for name in names]
    assert sorted(listed) == sorted(shelved())


def test_every_recorded_figure_shows_code_that_a_reader_would_write():
    asked = gallery.asked(DOCS)
    assert set(asked) == {name for name, record in RECORDS.items() if "problem" not in record}
    for name in RECORDS:
        page = gallery.page(name, shelved()[name], make_gallery.RECORDS)
        assert "import dimfree as df" in page, name
        assert page.count("```python") == 2, name


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(gallery.asked(DOCS)))
def test_the_code_of_a_figure_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(gallery.asked(DOCS)[name], name, "exec"), {"__name__": "gallery"})


def test_records_are_of_figures_of_the_shelf_and_small():
    assert len(RECORDS) >= 30
    for name, record in RECORDS.items():
        assert record["title"] == shelved()[name].title
        assert record["claims"]
        files = [make_gallery.RECORDS / f"{name}.{kind}" for kind in ("webp", "nc")]
        assert all(0 < one.stat().st_size <= make_gallery.LARGEST for one in files)


def test_a_page_shows_whether_a_claim_holds(tmp_path):
    record = json.loads(json.dumps(RECORDS["digits"]))
    record["claims"][0] |= {"holds": False, "value": 12345.0}
    (tmp_path / "digits.json").write_text(json.dumps(record), encoding="utf-8")
    page = gallery.page("digits", shelved()["digits"], tmp_path)
    assert page.count("**fails**") == 1
    assert "1.234e+04" in page
    assert "not recorded here" in gallery.page("margin", shelved()["margin"], tmp_path)


def test_a_record_of_other_claims_is_not_the_same():
    old = RECORDS["digits"]
    assert make_gallery.same(old, old)
    assert not make_gallery.same(old, old | {"claims": old["claims"][1:]})
    assert not make_gallery.same(old, old | {"holds": False})


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="a.html#here">x</a><a href="b.html">x</a><a href="#gone">x</a><a href="https://x">x</a></p>',
        encoding="utf-8",
    )
    found = list(check_links.dead(tmp_path))
    assert len(found) == 3
    assert [line.split()[1] for line in found] == ["b.html", "#gone", "https://x"]


def test_a_shortened_problem_keeps_a_default_where_the_kind_fills_in_another_value():
    text = (
        'dimension = 100\n[data]\nkind = "phase-retrieval"\n[training]\nkind = "multi-pass"\n[run]\nspacing = "log"\n'
    )
    short = make_gallery.shortest(text)
    assert 'spacing = "log"' in short
    assert "batch_fraction" not in short


@pytest.mark.parametrize("page", gallery.NAMING)
def test_names_of_figures_in_tables_lead_to_their_pages(page):
    source = [(DOCS / f"{page}.md").read_text(encoding="utf-8")]
    gallery.link_names(None, page, source)
    led = set(re.findall(r"\[`([\w-]+)`\]\(gallery/entries/\1\.md\)", source[0]))
    assert led == set(shelved())
    gallery.link_names(None, "choose", other := ["| `regimes` | |"])
    assert other == ["| `regimes` | |"]
