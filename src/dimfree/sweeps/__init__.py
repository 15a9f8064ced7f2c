"""Grids of problems: resumable, in one process, in several, or on a cluster."""
