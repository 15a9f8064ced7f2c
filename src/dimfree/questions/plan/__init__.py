"""From a table of your data to a plan of training, and its check on the rows."""
