"""What else one asks about a problem, each a folder with answer, figure and formulas."""
