"""Accounts side by side: which of them fit into a budget, how far they are apart, the verdict in words, the figure."""
