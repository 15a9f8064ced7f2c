"""Two synthetic tables to plan for: `python plan_tables.py FOLDER` writes power.csv and one-hot.csv, target in the column `y`.

power: Gaussian rows with eigenvalues 1/k in a random basis, labels of three erf units whose signal falls as k^-1.2, and noise of
0.3 times their variance. one-hot: the same with four columns of words (3, 8, 30 and 80 kinds), each kind with a random effect.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import erf

KINDS = (3, 8, 30, 80)


def power_table(rows=6_000, dimension=100, units=3, seed=0):
    """Numbers alone."""
    chance, ranks = np.random.default_rng(seed), np.arange(1, dimension + 1)
    s = dimension / ranks / np.sum(1 / ranks)
    W = chance.choice([-1.0, 1.0], (units, dimension)) * np.sqrt(ranks**-1.2 / s)
    W /= np.sqrt(np.sum(W**2 * s, axis=1, keepdims=True) / dimension)
    basis = np.linalg.qr(chance.normal(size=(dimension, dimension)))[0]
    x = chance.normal(size=(rows, dimension)) * np.sqrt(s / dimension)
    f = erf(x @ W.T / np.sqrt(2)).sum(axis=1)
    y = f + np.sqrt(0.3 * f.var()) * chance.normal(size=rows)
    table = pd.DataFrame(x @ basis.T * np.sqrt(dimension), columns=[f"x{k}" for k in ranks])
    return table.assign(y=y)


def one_hot_table(rows=6_000, dimension=100, seed=0):
    """The same with words."""
    table, chance = power_table(rows, dimension, seed=seed), np.random.default_rng(seed + 1)
    for number, kinds in enumerate(KINDS):
        kind = chance.integers(kinds, size=rows)
        table[f"word{number}"] = [f"kind{k}" for k in kind]
        table["y"] += 0.3 * chance.normal(size=kinds)[kind]
    return table


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    power_table().to_csv(folder / "power.csv", index=False, float_format="%.6g")
    one_hot_table().to_csv(folder / "one-hot.csv", index=False, float_format="%.6g")
