"""A page of the lab without mathematics, and the browser that its tests open it in."""

import shutil
from pathlib import Path

import pytest

from tabs import browser, tab  # noqa: F401


@pytest.fixture
def fake_page(tmp_path: Path) -> str:
    """The address of the page over a backend without mathematics."""
    from dimfree.lab import page

    (tmp_path / "index.html").write_text(page.served(), encoding="utf-8")
    for name in {path.name for path in Path(page.__file__).parent.glob("*.[jc]s*")}:
        found = page.asset(name)
        assert found is not None
        (tmp_path / name).write_bytes(found[0])
    shutil.copy(Path(__file__).parent / "fake_backend.js", tmp_path / "remote.js")
    return (tmp_path / "index.html").as_uri()
