"""Which step between the mean-field limit and real SGD causes an error."""
