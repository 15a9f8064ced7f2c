"""A plug-in that breaks when it is imported."""

raise RuntimeError("it was written for another version")
