"""The exercises of the course in docs/learn, and whether an answer to one of them is right."""
