"""All pages that are written from the program and from records, before Sphinx reads a page."""

from pathlib import Path

from builders import api, commands, faults, gallery, keys, refusals

FOLDERS = ("reference/api", "reference/generated", "gallery/entries")


def write(docs: Path) -> None:
    """Write every generated page that is new or has changed, and delete pages of names that are gone."""
    pages = {
        "reference/generated/command-line.md": commands.page(),
        "reference/generated/schema.md": keys.page(),
        "reference/generated/errors.md": faults.page(),
        "reference/generated/cannot.md": refusals.page(docs),
        **api.pages(docs),
        **gallery.pages(docs),
    }
    for old in (path for folder in FOLDERS for path in (docs / folder).rglob("*.md")):
        if str(old.relative_to(docs)) not in pages:
            old.unlink()
    for name, text in pages.items():
        path = docs / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
