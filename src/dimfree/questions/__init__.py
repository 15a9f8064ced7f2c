"""Questions about a problem beside how training goes, each a folder with its record, answer, figure and formulas."""
