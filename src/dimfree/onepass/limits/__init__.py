"""Limits of one-pass SGD, one per file."""
