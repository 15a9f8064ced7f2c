"""Questions about a problem other than how training goes; each is a folder with its record, answer, figure and formulas."""
