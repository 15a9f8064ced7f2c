"""Pure functions of descriptions, written as plain float64 JavaScript from their jaxprs.

All numbers of a run live on one heap, a Float64Array; an array is, while it is written, a NumPy array of addresses into it. So
whatever only moves numbers costs nothing in the page, and arithmetic alone is written.
"""
