"""The states that limits follow in time: overlaps of all pairs, overlaps by eigenvalue, one particle per unit."""
