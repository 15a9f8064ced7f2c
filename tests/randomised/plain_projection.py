"""Linear regression behind a random projection in plain NumPy: second moments as matrices, contours, and the Volterra equation.

Nothing here has nodes, cells or roots: whatever it agrees with was found another way (docs/theory/scaling.md, sections 1 to 3).
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

_POINTS = 240  # of a contour
_HEIGHT = 0.9  # largest angle of its points


def modes(alpha: float, beta: float, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Variances and coefficients."""
    j = np.arange(1.0, v + 1)
    return j ** (-2 * alpha), j**-beta


def projection(v: int, d: int, seed: int) -> np.ndarray:
    """W of the reference items."""
    return np.random.default_rng(seed).standard_normal((v, d)) / np.sqrt(d)


class Projected:
    """What is left of a Gaussian problem behind one W: covariance, best weights, and the noise that nothing explains."""

    def __init__(self, h: np.ndarray, b: np.ndarray, W: np.ndarray) -> None:
        self.K = W.T @ (h[:, None] * W)
        seen = W.T @ (h * b)
        self.best = np.linalg.solve(self.K, seen)
        self.unreached = h @ b**2 - seen @ self.best

    def risks(self, gammas: np.ndarray, batches: np.ndarray, Delta: float, momentum: float = 0.0) -> np.ndarray:
        """After 0, 1, 2 ... steps: the full matrices E[u u], E[u w], E[w w] of the error u = best - theta and the velocity w."""
        K, noise = self.K, Delta + self.unreached
        uu, uw, ww = np.outer(self.best, self.best), np.zeros_like(K), np.zeros_like(K)
        found = [self.unreached + np.trace(K @ uu)]
        for gamma, m in zip(gammas, batches, strict=True):
            KuuK = K @ uu @ K
            push = gamma**2 * (
                KuuK + (KuuK + K * (np.trace(K @ uu) + noise)) / m
            )  # E[g g], g = gamma * mean of (y - f) xi
            w_now = momentum * uw + gamma * uu @ K  # E[u w'] for w' = momentum w + g
            ww = momentum**2 * ww + momentum * gamma * (K @ uw + uw.T @ K) + push
            uu, uw = uu - w_now - w_now.T + ww, w_now - ww
            found.append(self.unreached + np.trace(K @ uu))
        return np.array(found) / 2

    def growth(self, gamma: float, m: float) -> float:
        """The spectral radius of one step of E[u u]."""
        K, n = self.K, len(self.K)
        unit = np.eye(n * n).reshape(n * n, n, n)
        KuK = K @ unit @ K
        trace = np.einsum("ij,kji->k", K, unit)
        after = unit - gamma * (K @ unit + unit @ K) + gamma**2 * (KuK * (1 + 1 / m) + trace[:, None, None] * K / m)
        return float(np.abs(np.linalg.eigvals(after.reshape(n * n, n * n))).max())


class Limit:
    """The deterministic equivalent of a spectrum h with counts and energies e (of all modes of a value together)."""

    def __init__(self, h: np.ndarray, counts: np.ndarray, e: np.ndarray, d: float) -> None:
        self.h, self.counts, self.e, self.d = h, counts, e, d
        low, high = np.log(h.min() * 1e-3 * (counts.sum() / d - 1)), np.log(counts @ h / d)
        kappa = brentq(lambda u: counts @ (h / (h + np.exp(u))) - d, low, high, xtol=1e-15)
        self.kappa = float(np.exp(kappa))
        self.unreached = self.kappa * float(e @ (1 / (h + self.kappa)))

    def place(self, s: float) -> float:
        """x(s), where the transform is s."""
        return float(-1 / s + self.counts @ (self.h / (1 + self.h * s)) / self.d)

    def edges(self) -> tuple[float, float]:
        """The largest x beyond 1/kappa, and the smallest between -1/h_1 and 0, by search."""
        start = -np.log(self.kappa)
        lower = minimize_scalar(lambda u: -self.place(np.exp(u)), bounds=(start, start + 40), method="bounded")
        nearest = minimize_scalar(  # s = -1/(h_1 (1 + exp(u)))
            lambda u: self.place(-1 / (self.h[0] * (1 + np.exp(u)))), bounds=(-25, 25), method="bounded"
        )
        return -float(lower.fun), float(nearest.fun)

    def transform(self, z: np.ndarray) -> np.ndarray:
        """The fixed point of the equation, which contracts above the axis and beside the spectrum."""
        m = 1j * np.ones_like(z) / np.abs(z)
        for _ in range(100_000):
            after = 1 / (-z + (self.h / (1 + m[:, None] * self.h)) @ (self.counts / self.d))
            done = np.abs(after - m).max() <= 1e-15 * np.abs(m).max() or np.all(np.abs(after - m) <= 1e-14 * np.abs(m))
            m = after
            if done:
                return m
        raise ArithmeticError("no fixed point")

    def integrals(self, of: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Of functions of z over both measures, along a curve around the whole spectrum that is an ellipse in log z."""
        low, high = self.edges()
        first, last = np.log(low) - 0.6, np.log(high) + 0.15
        angle = (np.arange(_POINTS) + 0.5) * np.pi / _POINTS
        z = np.exp((first + last) / 2 + (last - first) / 2 * np.cos(angle) + 1j * _HEIGHT * np.sin(angle))
        along = z * (-(last - first) / 2 * np.sin(angle) + 1j * _HEIGHT * np.cos(angle)) * np.pi / _POINTS
        m = self.transform(z)
        hm = m[:, None] * self.h
        signal, noise = -((1 / (1 + hm)) @ self.e) / z, z * ((hm / (1 + hm)) @ self.counts)
        values = of(z)
        return tuple(-np.imag(values @ (one * along)) / np.pi for one in (signal, noise))

    def terms(self, gamma: float, m: float, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F and K of the Volterra equation."""
        F, K = self.integrals(lambda z: (1 - 2 * gamma * z + gamma**2 * (1 + 1 / m) * z**2) ** steps[:, None])
        return self.unreached + F, gamma**2 / m * K

    def risks(self, gamma: float, m: float, Delta: float, steps: int) -> np.ndarray:
        """After 0, 1 ... so many steps, by the Volterra equation itself."""
        F, K = self.terms(gamma, m, np.arange(steps + 1))
        G = np.empty(steps + 1)
        for r in range(steps + 1):
            G[r] = F[r] + Delta + K[:r][::-1] @ G[:r]
        return (G - Delta) / 2

    def chi(self, gamma: float, m: float) -> float:
        """The sum of the kernel over all times; the pole of the summand must be beyond the curve."""
        found = self.integrals(lambda z: (1 / (z * (2 - gamma * (1 + 1 / m) * z)))[None])
        return float(gamma / m * found[1][0])


def power_law(alpha: float, beta: float, v: int, d: float) -> Limit:
    """All v modes one by one."""
    h, b = modes(alpha, beta, v)
    return Limit(h, np.ones(v), h * b**2, d)


def balance(alpha: float, beta: float) -> tuple[float, float]:
    """The exponents p and q of size and risk: the largest q over p, when the slowest of the four terms decides; (3.1)."""
    a, b = alpha, beta
    rate = min(2 * a - 1, 0.0)  # gamma ~ d^rate, because the trace is bounded
    p = np.linspace(0.02, 0.98, 960_001)
    tau = 1 - p + p * rate
    terms = [tau * (2 * a + 2 * b - 1) / (2 * a), p * (2 * a - max(0.0, 1 - 2 * b))]
    if a > 0.5 and b > 0.5:
        terms.append(p + tau * (1 - 1 / (2 * a)))
    if a > 0.25:
        terms.append(-p * rate + tau * (2 - 1 / (2 * a)))
    q = np.where(tau > 0, np.min(terms, axis=0), -np.inf)
    return float(p[q.argmax()]), float(q.max())
