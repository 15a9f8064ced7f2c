"""Accounts side by side: which of them fit into a budget, how far apart they are, the verdict in words, the figure."""
