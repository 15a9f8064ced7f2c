"""How the time to find a direction grows with the dimension."""
