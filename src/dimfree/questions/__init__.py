"""What else one asks about a problem, each a folder with its record, answer, figure and formulas."""
