"""Where between the mean-field limit and real SGD an error comes from."""
