"""Every Gaussian expectation that the theories need, as a ladder of exactness."""
