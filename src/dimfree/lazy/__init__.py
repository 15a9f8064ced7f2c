"""Given points: gradient flow of a two-layer network with any scale of its output, and the linear theory of the lazy limit."""
