"""A finite data set: SGD that revisits it, and its limits."""
