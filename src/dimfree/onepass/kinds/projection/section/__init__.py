"""Sections [data] of what is seen through a random projection."""
