"""Laws of the radius r on a grid, as figures of two Gaussians need them: on cells, with noise, with the smallest risk."""
