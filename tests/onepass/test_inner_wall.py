"""Inside one-pass SGD: kinds of data stand side by side, the arrow goes one way, and nobody asks which kind a model is."""

import ast
from pathlib import Path

import dimfree
from dimfree.onepass.kind import kinds

ROOM = Path(dimfree.__file__).parent / "onepass"

# Parts in the order of the arrow; those on one line do not import each other. "record" is what a problem is read with: the
# sections of all kinds and the paths of everything else.
ARROW = (
    ("projected",),
    ("sections",),
    ("inputs",),
    ("record",),
    ("problem",),
    ("law", "loss", "label_laws", "weights", "structured_start", "weights_file"),
    ("rule",),
    ("overlap_model", "outputs_observables", "projected_model"),
    ("directions",),
    ("structured_model",),
    ("start", "model", "linear_mean"),
    ("linear_steps",),
    ("fields", "nodes", "pool"),
    ("notes", "recipe", "spectrum_figure"),
    ("figure",),
    ("scene",),
    ("kinds",),
    ("real", "limits"),
    ("binned_chain",),
    ("setting",),
)
SHARED = {
    "OnePassModel",
    "DimensionFreeModel",
    "DirectionsModel",
    "TargetModel",
}  # models that several kinds derive from
PLACE = {part: number for number, parts in enumerate(ARROW) for part in parts}


def part_of(names: tuple[str, ...]) -> str:
    """Which part a module belongs to, by its names below dimfree.onepass."""
    if names[0] in ("kind", "labelled") or (names[0] == "kinds" and (len(names) < 3 or names[2] == "section")):
        return "record"
    return names[0]


def modules():
    for path in sorted(ROOM.rglob("*.py")):
        names = path.relative_to(ROOM).with_suffix("").parts
        names = names[:-1] if names[-1] == "__init__" else names
        if names:
            yield path, names, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    """Modules of one-pass SGD that are imported when a file is: not those for type checkers, or inside functions."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dimfree.onepass."):
            yield tuple(node.module.split(".")[2:])


def test_the_arrow_goes_one_way():
    wrong = []
    for path, names, tree in modules():
        here = part_of(names)
        for other in imported(tree):
            there = part_of(other)
            if there != here and PLACE[there] >= PLACE[here]:
                wrong.append(f"{path.relative_to(ROOM)} imports {'.'.join(other)}")
    assert not wrong


def test_every_part_has_a_place_in_the_arrow():
    assert {part_of(names) for _, names, _ in modules()} == set(PLACE)


def test_real_sgd_and_limits_import_no_kind_of_data():
    wrong = [
        f"{path.relative_to(ROOM)} imports {'.'.join(other)}"
        for path, names, tree in modules()
        if names[0] in ("real", "limits", "fields", "rule", "overlap_model", "directions", "structured_model", "law")
        for other in imported(tree)
        if other[0] == "kinds"
    ]
    assert not wrong


def asked(tree):
    """Names of types that a file tells apart, and where."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            told = node.args[1:]
        else:
            told = [node.cls] if isinstance(node, ast.MatchClass) else []
        yield from ((one.id, node.lineno) for type_ in told for one in ast.walk(type_) if isinstance(one, ast.Name))


def test_nobody_asks_which_kind_a_model_or_a_section_is():
    """But the folder of that kind: everyone else asks the model itself. A hidden manifold is made from a teacher."""
    owners = {
        node.name: names[1]
        for _, names, tree in modules()
        if names[0] == "kinds" and len(names) > 2
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    wrong = [
        f"{path.relative_to(ROOM)}:{line} asks for {name}"
        for path, names, tree in modules()
        for name, line in asked(tree)
        if name in owners and not (names[0] == "kinds" and owners[name] in (names[1], "teacher"))
    ]
    assert not wrong


def test_nobody_in_dimfree_asks_which_model_a_kind_has():
    """Questions, figures and references ask what a model is for them instead: `taught`, `levels`, `projected`, `form`."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for _, _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    models, last = {"OnePassModel"}, set()
    while models != last:
        last, models = models, models | {name for name, above in bases.items() if above & models}
    assert {"StructuredModel", "ProjectedModel", "ClusterModel"} < models
    wrong = [
        f"{path.relative_to(ROOM.parent)}:{line} asks for {name}"
        for path in sorted(ROOM.parent.rglob("*.py"))
        for name, line in asked(ast.parse(path.read_text(encoding="utf-8")))
        if name in models - SHARED
    ]
    assert not wrong


def test_the_kinds_are_those_of_their_folders():
    folders = {path.name for path in (ROOM / "kinds").iterdir() if (path / "__init__.py").exists()}
    homes = {
        type_.__module__.split(".")[3] for one in kinds() for type_ in one.sections if "dimfree" in type_.__module__
    }
    assert folders == homes
