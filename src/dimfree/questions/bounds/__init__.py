"""Bounds of the literature as calculators, and one bound that is fitted to runs."""
