"""When to stop training on a data set."""
