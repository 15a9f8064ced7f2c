"""Expectations of pairs of preactivations."""
