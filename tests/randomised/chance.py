"""Which disagreements are no accident: p-values that hold for heavy tails too, and one limit for all of a test's checks.

A correct library fails the whole stage less than once in five hundred times: there are fewer than two hundred tests, and each may
fail by accident with probability SHARE.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import stats

SHARE = 1e-5
NOTHING = 1e-12  # differences of numbers of order one that rounding explains


class Checks:
    """The checks of one test: p-values of what is random, excesses of what is not, and the seed to repeat them with."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.p_values: dict[str, tuple[float, str]] = {}
        self.broken: list[str] = []
        self.made = 0

    def bounded(self, name: str, found: np.ndarray, expected: np.ndarray, allowed: np.ndarray) -> None:
        """Numbers without chance: the difference must be within what both sides promise."""
        found, expected, allowed = np.broadcast_arrays(
            *(np.asarray(x, dtype=float) for x in (found, expected, allowed))
        )
        assert expected.size > 0
        self.made += expected.size
        bad = ~(np.abs(found - expected) <= allowed)  # a NaN is bad
        if bad.any():
            at = np.unravel_index(np.argmax(np.where(bad, np.abs(found - expected) / allowed, -1.0)), bad.shape)
            self.broken.append(
                f"{name}{list(map(int, at))}: {found[at]:.10g} instead of {expected[at]:.10g}, allowed {allowed[at]:.2g}"
            )

    def averaged(
        self, name: str, found: np.ndarray, mean: np.ndarray, error: np.ndarray, own: np.ndarray | float = 0.0
    ) -> None:
        """A number against the mean of so many samples that its error is Gaussian; `own` is what the number may be off."""
        found, mean, error = (np.asarray(x, dtype=float) for x in (found, mean, error))
        scale = np.maximum(np.abs(mean), np.abs(found))
        z = np.maximum(np.abs(found - mean) - own - NOTHING * scale, 0.0) / np.maximum(error, 1e-300)
        z = np.where(np.isfinite(found), z, np.inf)
        for at in np.ndindex(z.shape):
            words = f"{found[at]:.6g} against {mean[at]:.6g} +- {error[at]:.2g}, z = {z[at]:.1f}"
            self._note(f"{name}{list(at)}", 2 * stats.norm.sf(z[at]), words)

    def same_law(self, name: str, one: np.ndarray, other: np.ndarray) -> None:
        """Two samples (replica, ...) of equal size: first and second moments, and the distribution, entry by entry."""
        one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
        assert one.shape == other.shape, f"{name}: {one.shape} and {other.shape}"
        assert one.shape[0] >= 200, "too few replicas to tell laws apart"
        for at in np.ndindex(one.shape[1:]):
            x, y = one[(slice(None), *at)], other[(slice(None), *at)]
            where, (x, y, size) = f"{name}{list(at)}", _up_to_rounding(x, y)
            if max(np.ptp(x), np.ptp(y)) < size:  # a constant
                self.bounded(where, x.mean(), y.mean(), size)
                continue
            centre = np.median(np.concatenate([x, y]))
            self._paired(f"{where}, mean", x, y)
            self._paired(f"{where}, spread", (x - centre) ** 2, (y - centre) ** 2)
            p = stats.ks_2samp(x, y, method="asymp").pvalue
            self._note(f"{where}, distribution", p, f"Kolmogorov and Smirnov p = {p:.1e}")

    def same_mean(self, name: str, one: np.ndarray, other: np.ndarray) -> None:
        """Two samples of equal size, of which one has symmetric noise of its own."""
        self._paired(f"{name}, mean", one, other)

    def same_products(self, name: str, one: np.ndarray, other: np.ndarray) -> None:
        """How the entries (replica, entry) of two samples go together."""
        for i, j in zip(*np.triu_indices(one.shape[1], 1), strict=True):
            centred = []
            for n in (i, j):
                x, y, _ = _up_to_rounding(one[:, n], other[:, n])
                centred.append((x - np.median([x, y]), y - np.median([x, y])))
            x, y = (a * b for a, b in zip(*centred, strict=True))
            if max(np.ptp(x), np.ptp(y)) > 1e-12:
                self._paired(f"{name}[{i}] times [{j}]", x, y)

    def _paired(self, name: str, x: np.ndarray, y: np.ndarray) -> None:
        """If the laws agree, differences of pairs are symmetric, and whatever their tails P(|S|/V > z) <= 2 exp(-z²/2)."""
        difference = x - y
        z = abs(difference.sum()) / np.sqrt(np.sum(difference**2))
        z = z if np.isfinite(z) else np.inf
        error = difference.std() / np.sqrt(difference.size)
        self._note(name, 2 * np.exp(-(z**2) / 2), f"{x.mean():.6g} against {y.mean():.6g} +- {error:.2g}, z = {z:.1f}")

    def _note(self, name: str, p: float, words: str) -> None:
        self.made += 1
        self.p_values[f"{name} ({self.made})"] = (p, words)

    @property
    def failures(self) -> list[str]:
        """What chance does not explain, worst first."""
        limit = SHARE / max(len(self.p_values), 1)
        rare = sorted((p, f"{name}: {words}, p = {p:.1e}") for name, (p, words) in self.p_values.items() if p < limit)
        return self.broken + [line for _, line in rare]

    def settle(self) -> None:
        """Fail if anything is no accident."""
        assert self.made, "nothing was checked"
        failures = self.failures
        shown = "\n  ".join(failures[:12])
        assert not failures, (
            f"{len(failures)} of {self.made} checks fail; repeat with DIMFREE_RANDOM_SEED={self.seed}:\n  {shown}"
        )


def _up_to_rounding(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Two samples in multiples of a size, and that size: what did not move is equal, however the two sides round."""
    size = 1e-9 * max(1.0, np.abs(x).max())
    return size * np.round(x / size), size * np.round(y / size), size


def means(samples: Iterable[Mapping[str, np.ndarray]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and their standard errors from portions of samples (n, ...)."""
    count, first, second = 0, dict[str, np.ndarray](), dict[str, np.ndarray]()
    shift = dict[str, np.ndarray]()
    for portion in samples:
        for name, values in portion.items():
            around = shift.setdefault(name, values.mean(axis=0))  # so that squares lose no digits
            first[name] = first.get(name, 0.0) + (values - around).sum(axis=0)
            second[name] = second.get(name, 0.0) + ((values - around) ** 2).sum(axis=0)
        count += len(next(iter(portion.values())))
    return {
        name: (shift[name] + first[name] / count, np.sqrt((second[name] / count - (first[name] / count) ** 2) / count))
        for name in first
    }
