"""A sweep as a script of its own, to be killed: python killed.py STORE ENGINE POINTS."""

import sys

from accounts import BASE, RATES, Square

import dimfree as df

if __name__ == "__main__":
    store, engine, points = sys.argv[1:]
    how = {"here": {}, "processes": {"processes": 2}, "dask": {"processes": 2, "cluster": "local"}}[engine]
    rates = [0.001 * number for number in range(1, int(points) + 1)]
    df.sweep(BASE, {RATES: rates}, descriptions=[Square()], store=store, **how)
