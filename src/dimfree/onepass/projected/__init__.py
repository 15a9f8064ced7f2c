"""Linear regression seen through a random projection: the mean of SGD exactly, and without a matrix (docs/theory/scaling.md)."""
