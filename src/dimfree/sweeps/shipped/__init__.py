"""Sweeps that dimfree brings along."""
