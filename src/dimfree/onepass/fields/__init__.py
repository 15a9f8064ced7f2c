"""The fields in which `pde` moves particles, and the laws from which the particles start."""
