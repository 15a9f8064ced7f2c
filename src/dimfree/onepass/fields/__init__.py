"""What `pde` moves particles in, and the laws that such flows have."""
