"""The limits of SGD, one per file."""
