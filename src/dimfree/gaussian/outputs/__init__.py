"""Averages over networks of several outputs, whose labels are classes (docs/theory/losses.md, section 1.2)."""
