"""The real thing: one-pass SGD on vectors, and exact in law on overlaps."""
