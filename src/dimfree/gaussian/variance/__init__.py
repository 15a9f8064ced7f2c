"""The variance of one step of SGD."""
