"""Help for a key: the comment on it in the problem that `dimfree new` writes, or what the docstring of its section says."""

import re
from functools import lru_cache

from dimfree.problem.section import Section
from dimfree.setting import Setting

_LINE = re.compile(r"^(?:# )?(?P<key>\w+) = .*?\s# (?P<said>.*)$")
_MORE = re.compile(r"^\s+# (?P<said>.*)$")


def help_of(setting: Setting, section: type[Section], path: str, of: str = "") -> str:
    """What a key of a problem means, in a sentence or two; `of` is a key inside the section that stands there."""
    name = path.rpartition(".")[2]
    field = section.model_fields[name]
    if field.description:
        return field.description
    return _comments(setting.commented_problem()).get(f"{path}{of}") or _docstring(section, name)


def title_of(section: type[Section]) -> str:
    """The first sentence of what a section says of itself."""
    return " ".join((section.__doc__ or "").split("\n\n")[0].split())


def _docstring(section: type[Section], name: str) -> str:
    """The sentence of the docstring that names the key, or else its first."""
    text = " ".join((section.__doc__ or "").split())
    sentences = re.split(r"(?<=[.;]) ", text)
    return next((one for one in sentences if re.search(rf"\b{re.escape(name)}\b", one)), sentences[0])


@lru_cache(maxsize=32)
def _comments(template: str) -> dict[str, str]:
    """The comments of a template, by dotted key."""
    found, section, last = dict[str, str](), "", ""
    for line in template.splitlines():
        if line.startswith("["):
            section, last = f"{line.strip('[] ')}.", ""
        elif (match := _LINE.match(line)) and f"{section}{match['key']}" not in found:
            last = f"{section}{match['key']}"
            found[last] = match["said"]
        elif last and (match := _MORE.match(line)):
            found[last] += f" {match['said']}"
        else:
            last = ""
    return found
