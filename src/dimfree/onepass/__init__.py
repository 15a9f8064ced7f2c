"""Fresh samples: one-pass SGD of two-layer networks, the real thing and its limits."""
