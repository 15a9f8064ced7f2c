"""The written schema of results, their provenance and their files."""
