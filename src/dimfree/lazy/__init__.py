"""A two-layer network on a finite data set, from the mean-field scale of its output to the lazy one and beyond."""
