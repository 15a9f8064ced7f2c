"""Distances between accounts, the verdict, and the figures."""
