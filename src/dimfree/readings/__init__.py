"""Numbers that are read off results: when a curve falls to a level, how long it stands still, as which power it scales."""
