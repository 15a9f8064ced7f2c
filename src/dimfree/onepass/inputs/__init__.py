"""How inputs are correlated: their covariance, its eigenvalues, and where teachers lie in its eigenbasis."""
