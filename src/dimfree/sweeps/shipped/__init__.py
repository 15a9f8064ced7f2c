"""Sweeps that come with dimfree."""
