"""How hot SGD on a data set is."""
