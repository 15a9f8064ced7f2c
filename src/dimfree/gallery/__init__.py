"""The figures of the source documents: what is measured, the claims that decide it, and how it is drawn."""
