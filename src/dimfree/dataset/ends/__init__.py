"""Where training on a data set ends, in infinite dimension: learning curves."""
