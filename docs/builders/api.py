"""The pages of public names: one for each, from its docstring, its signature and its example."""

import inspect
import re
from pathlib import Path
from typing import Any

from builders import keys, names
from builders.markdown import code, docstring, fenced, linked, table, text

import dimfree
from dimfree.problem import Problem
from dimfree.problem.section import Section

FOLDER = "reference/api"


def examples(docs: Path) -> dict[str, str]:
    """The examples of names whose docstring has none, from reference/examples.md."""
    found = (docs / "reference" / "examples.md").read_text(encoding="utf-8")
    return {
        match[1]: match[2].rstrip() for match in re.finditer(r"^## (\w+)\n\n```pycon\n(.*?)```", found, re.M | re.S)
    }


def pages(docs: Path) -> dict[str, str]:
    """The text of every page by its path."""
    written, members = {}, {group: list[tuple[str, str]]() for group in names.GROUPS}
    shown = examples(docs)
    for name, found in sorted(names.public().items(), key=lambda one: names.bare(one[0]).lower()):
        group, bare = names.group_of(name), names.bare(name)
        members[group].append((f"[`{name}`]({bare}.md)", text(first_sentence(found))))
        written[f"{FOLDER}/{group}/{bare}.md"] = page(name, found, names.spelled(shown.get(bare, "")))
    for group, (title, about) in names.GROUPS.items():
        parts = [f"# {title}", about, table(("name", "what it is"), members[group]), ""]
        written[f"{FOLDER}/{group}/index.md"] = "\n\n".join(parts)
    return written


def first_sentence(found: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())


def page(name: str, found: Any, example: str) -> str:
    """One public name: what it is, how it is called, what it takes and returns, and an example."""
    said, _ = names.described(inspect.cleandoc(found.__doc__ or ""))
    kind = "py:class" if inspect.isclass(found) else "py:function"
    parts = [
        "---\norphan: true\n---",
        f"# {names.bare(name)}",
        f"[{names.GROUPS[names.group_of(name)][0]}](index.md)",
        f"```{{{kind}}} dimfree.{names.signature(name, found)}\n```",
        docstring(said, "../../../"),
    ]
    if inspect.isclass(found):
        parts += _class(found)
    else:
        rows = [
            (
                code(one.name),
                linked(text(one.meaning), "../../../"),
                one.kind and code(one.kind),
                one.default and code(one.default),
            )
            for one in names.arguments(found)
        ]
        parts += [f"## Arguments\n\n{table(('argument', 'meaning', 'type', 'default'), rows)}"] if rows else []
        parts += _returned(found)
    if ">>>" not in said and example:
        parts.append(f"## Example\n\n{fenced('pycon', example)}")
    return "\n\n".join(parts) + "\n"


def _class(found: type) -> list[str]:
    if issubclass(found, Section):
        parts = [f"## Keys\n\n{table(keys.HEADS, keys.rows(found))}"]
    else:
        rows = [
            (code(f.name), text(f.meaning), f.kind and code(f.kind), f.default and code(f.default))
            for f in names.fields(found)
        ]
        parts = [f"## Fields\n\n{table(('field', 'meaning', 'type', 'default'), rows)}"] if rows else []
    written = issubclass(found, Section) and not issubclass(found, Problem) and found.__name__ in dir(dimfree)
    methods = [] if written else [(code(call), text(said)) for call, said in names.methods(found)]  # for authors only
    return parts + ([f"## Methods and properties\n\n{table(('name', 'what it gives'), methods)}"] if methods else [])


def _returned(found: Any) -> list[str]:
    given = names.returned(found)
    if given is type(None) or given is inspect.Signature.empty:
        return []
    parts = [f"## Returns\n\n{code(names.words(given))}"]
    if inspect.isclass(given) and given.__module__.startswith("dimfree") and given.__name__ not in names.public():
        parts[0] += f": {text(first_sentence(given))}"
        rows = [(code(f.name), text(f.meaning)) for f in names.fields(given)]
        rows += [(code(call), text(said)) for call, said in names.methods(given)]
        parts.append(table(("has", "which is"), rows))
    return parts
