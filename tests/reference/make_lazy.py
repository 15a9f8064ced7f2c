"""Makes src/dimfree/reference/data/lazy.json with code that shares nothing with dimfree: mpmath with 40 digits, and NumPy.

Kernels of erf(x/sqrt 2) and ReLU are written as one-dimensional integrals over the correlation (Price's theorem), not as the
arcsines and angles that dimfree has; those of tanh are sums over a fine grid. The linearised flow is the exponential of
gamma² J J^T t, with J written out weight by weight. Run it as `python tests/reference/make_lazy.py FILE`; it needs mpmath.
"""

import json
import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 40
RNG = np.random.default_rng(13)


def expectations(name, q, c, r):
    """E[sigma sigma] and E[sigma' sigma'] of a Gaussian pair with variances q, r and covariance c."""
    if name == "tanh":
        x = np.arange(-13, 13.01, 0.02)
        w = 0.02 * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        u = np.sqrt(q) * x[:, None]
        v = c / np.sqrt(q) * x[:, None] + np.sqrt(r - c**2 / q) * x
        slope = lambda z: 1 / np.cosh(z) ** 2  # noqa: E731
        return w @ (np.tanh(u) * np.tanh(v)) @ w, w @ (slope(u) * slope(v)) @ w
    q, c, r = mp.mpf(q), mp.mpf(c), mp.mpf(r)
    if name == "erf":
        slopes = lambda s: (2 / mp.pi) / mp.sqrt((1 + q) * (1 + r) - s**2)  # noqa: E731
        return mp.quad(slopes, [0, c]), slopes(c)
    # the derivative of P(u > 0, v > 0) in the covariance is the density of the pair at 0; what is independent starts at 1/4
    both = lambda s: mp.mpf(1) / 4 + mp.quad(lambda z: 1 / (2 * mp.pi * mp.sqrt(q * r - z**2)), [0, s])  # noqa: E731
    return mp.sqrt(q * r) / (2 * mp.pi) + mp.quad(both, [0, c]), both(c)


def kernel_item(name, scale, second, points, dimension):
    X = np.round(RNG.normal(size=(points, dimension)) / np.sqrt(dimension), 3)
    K = []
    for i in range(points):
        for j in range(i):  # off the diagonal, where no integral has a singular end
            product = mp.fsum(mp.mpf(float(a)) * mp.mpf(float(b)) for a, b in zip(X[i], X[j], strict=True))
            squares = [mp.fsum(mp.mpf(float(a)) ** 2 for a in X[k]) for k in (i, j)]
            pair = [float(scale**2 * z) if name == "tanh" else scale**2 * z for z in (squares[0], product, squares[1])]
            value, slope = expectations(name, *pair)
            K.append(float(value + second**2 * product * slope))
    inputs = {"activation": name, "scale": float(scale), "second_layer_scale": float(second), "X": X.tolist()}
    return {
        "id": f"kernel_{name}_{float(scale):g}",
        "kind": "lazy_kernel",
        "inputs": inputs,
        "expected": {"below_diagonal": K},
        "rtol": 0.0,
        "atol": 1e-12,
        "note": "K/N between points i > j, row by row",
    }


def flow_item(n, d, N, gamma, times):
    """Linearised gradient flow of a tanh network on 20 points, from a start that is not paired."""
    X, held = (np.round(RNG.normal(size=(m, d)) / np.sqrt(d), 3) for m in (n, 3))
    y, a, W = (np.round(RNG.normal(size=shape), 3) for shape in (n, N, (N, d)))
    exact = lambda z: mp.mpf(float(z))  # noqa: E731

    def row(x):
        """Output without gamma, and its gradient, weight by weight."""
        h = [mp.fsum(exact(w) * exact(b) for w, b in zip(unit, x, strict=True)) for unit in W]
        slopes = [exact(ai) * mp.sech(hi) ** 2 for ai, hi in zip(a, h, strict=True)]
        gradient = [*map(mp.tanh, h), *(s * exact(b) for s in slopes for b in x)]
        return mp.fsum(exact(ai) * mp.tanh(hi) for ai, hi in zip(a, h, strict=True)), gradient

    rows, held_rows = [row(x) for x in X], [row(x) for x in held]
    J, J_held = mp.matrix([r[1] for r in rows]), mp.matrix([r[1] for r in held_rows])
    e = mp.matrix([gamma * r[0] - exact(label) for r, label in zip(rows, y, strict=True)])
    K, expected = J * J.T, {"residual": [], "movement": [], "held_out": []}
    for t in times:
        late = mp.expm(-(gamma**2) * t * K) * e
        moved = J.T * mp.lu_solve(gamma * K, late - e)
        expected["residual"].append([float(z) for z in late])
        expected["movement"].append(float(mp.norm(moved)))
        g = gamma * (mp.matrix([r[0] for r in held_rows]) + J_held * moved)
        expected["held_out"].append([float(z) for z in g])
    inputs = {"activation": "tanh", "gamma": float(gamma), "t": [float(t) for t in times]}
    inputs |= {"X": X.tolist(), "y": y.tolist(), "a": a.tolist(), "W": W.tolist(), "X_held": held.tolist()}
    return {
        "id": "linearised_20_points",
        "kind": "lazy_linearised",
        "inputs": inputs,
        "expected": expected,
        "rtol": 1e-10,
        "atol": 1e-10,
        "note": "t is the time of the flow theta' = -gamma J^T (g - y)",
    }


def main():
    half, one = mp.mpf("0.5"), mp.mpf(1)
    items = [
        kernel_item("erf", one, one, 6, 4),
        kernel_item("erf", mp.mpf("2.5"), half, 5, 8),
        kernel_item("relu", one, one, 6, 4),
        kernel_item("relu", mp.mpf("2.5"), half, 5, 8),
        kernel_item("tanh", one, one, 4, 3),
        flow_item(20, 8, 12, mp.mpf("0.3"), [mp.mpf(s) for s in ("0.5", "4", "40")]),
    ]
    content = {
        "title": "lazy limit reference values",
        "convention": "g = gamma sum_i a_i sigma(w_i.x), L = |g - y|²/2; erf = erf(x/sqrt2); kernels per unit; "
        "made by tests/reference/make_lazy.py",
        "check": "abs(value-expected) <= atol + rtol*abs(expected)",
        "items": items,
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
