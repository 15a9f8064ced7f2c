"""The page of what dimfree cannot do: written by hand above, and below it what every description says when it is asked."""

from pathlib import Path

from builders.markdown import code, table, text

from dimfree.problem import Problem
from dimfree.registry import descriptions, setting_of
from dimfree.setting import why_not

INGREDIENTS = {  # what is added to the embedded problem
    "nothing else": {},
    "mini-batches": {"training.batch": 10},
    "a trained second layer": {"network.trained": ["first-layer", "second-layer"]},
    "offsets": {"network.trained": ["first-layer", "bias"]},
    "weight decay": {"training.weight_decay": 0.1},
    "rows on the sphere": {"training.spherical": True},
    "a schedule": {"training.schedule": {"kind": "power", "scale": 10.0, "exponent": 0.5}},
    "momentum": {"training.momentum": 0.9},
    "noise on the weights": {"training.inverse_temperature": 100.0},
    "ReLU units": {"network.activation": "relu", "data.activation": "relu"},
    "Huber's loss": {"training.loss": {"kind": "huber", "threshold": 1.0}},
    "the logistic loss": {"training.loss": "logistic", "data.labels": "sign"},
    "clipped errors": {"training.clip": {"error": 1.0}},
    "Student noise": {"data.noise_law": {"student": 3.0}},
    "a covariance": {"data.covariance": {"kind": "power", "exponent": 1.0}},
    "two centred Gaussians": {"data": {"kind": "two-gaussians"}, "dimension": 40},
    "the hypercube": {"data": {"kind": "hypercube"}},
    "clusters": {"data": {"kind": "clusters"}},
}


def page(docs: Path) -> str:
    """The hand-written limits, and the table of what each description of fresh samples refuses, with its reasons."""
    hand = (docs / "reference" / "cannot.md.in").read_text(encoding="utf-8")
    asked = list(setting_of(Problem()).descriptions)
    rows, reasons = [], dict[tuple[str, str], list[str]]()
    for label, changes in INGREDIENTS.items():
        data = changes.get("data")
        problem = Problem(**changes) if data else Problem().replace(**changes)
        row = [label]
        for name in asked:
            reason = why_not(descriptions()[name], problem)
            row.append("✓" if reason is None else "–")
            if reason:
                reasons.setdefault((name, reason), []).append(label)
        rows.append(tuple(row))
    said = [f"- {code(name)}, {', '.join(labels)}: {text(reason)}" for (name, reason), labels in reasons.items()]
    return "\n\n".join(
        [
            hand.rstrip(),
            "## Fresh samples: what each description was asked",
            "The embedded problem with one thing changed; ✓ where a description applies. The reasons stand below the table.",
            table(("with", *(code(name) for name in asked)), rows),
            "\n".join(said),
            "",
        ]
    )
