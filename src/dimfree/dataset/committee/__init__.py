"""Networks of several units on a data set that is revisited: the real thing and its dynamical mean-field theory."""
