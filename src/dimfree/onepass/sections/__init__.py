"""The sections of a one-pass problem: data, network, training rule, start."""
