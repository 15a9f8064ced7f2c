"""How many samples SGD needs to find a direction, and how their number grows with the dimension."""
