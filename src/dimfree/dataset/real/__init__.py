"""The real thing: SGD on finite data sets."""
