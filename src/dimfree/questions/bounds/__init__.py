"""Bounds of the literature as calculators, and the one that is fitted."""
