"""Numbers read off results: when a curve falls to a level, how long it stands still, with which power it scales."""
