"""Composition of privacy losses on a lattice, by a tilted Fourier transform with a proven error.

A `Law` is a privacy-loss distribution on the multiples of a step: under the first of
two neighbouring datasets the loss is i * step with probability mass[i], and infinite
with the rest.  For independent losses with total L,

    delta(epsilon) = Pr[L infinite] + E[(1 - e^(epsilon - L))_+; L finite].

Theorem.  `least_epsilon` returns an epsilon with delta(epsilon) <= delta, for any
laws, counts and step.  Masses are tilted by e^(theta i step) first, so that the
error of the transform is relative to delta itself (a saddle point) rather than to 1.
Four errors are bounded and added: rounding in the transform (Higham 2002, Theorem
24.2), in powers and tilts, and the mass beyond the window (Chernoff); what wraps
round from below the window only adds to delta, and no epsilon below it is returned.  Proof: docs/theory/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.int64]

UNIT = 2.0**-53
MASS_ERROR = 2.0**-42  # relative error of a mass handed to a Law; its makers stay well below
LONGEST = 1 << 22  # cells of the longest window


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Masses of finite losses index * step; the missing mass is at infinity."""

    indices: Indices
    masses: Floats
    infinite: float = 0.0

    def tilted(self, slope: float) -> tuple[float, Floats]:
        """ln E[e^(slope * index)] over finite losses, and the tilted masses, which sum to 1."""
        import numpy as np

        exponents = slope * self.indices
        top = float(exponents[self.masses > 0].max())
        weights = self.masses * np.exp(np.minimum(exponents - top, 0.0))
        total = float(weights.sum())
        return top + math.log(total), weights / total


def split(losses: Floats, masses: Floats, step: float, infinite: float = 0.0) -> Law:
    """Move each atom to its two neighbours on the lattice so that both datasets keep their masses.

    Merging the two neighbours again is post-processing, so the split pair dominates
    (the connect-the-dots estimate of Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022).
    The share that moves up is rounded up.
    """
    import numpy as np

    below = np.floor(losses / step)
    rest = np.clip(losses - below * step, 0.0, step)
    share = np.minimum(1.0, np.expm1(-rest) / math.expm1(-step) + 2.0**-40)
    low = int(below.min())
    index = (below - low).astype(np.int64)
    length = int(index.max()) + 2
    out = np.zeros(length)
    out += np.bincount(index, masses * (1 - share), length)
    out += np.bincount(index + 1, masses * share, length)
    kept = np.flatnonzero(out)
    return Law(kept + low, out[kept], infinite)


def least_epsilon(laws: Sequence[tuple[Law, int]], step: float, delta: float) -> float:
    """An epsilon, nearly the least, for which the composed delta is at most `delta`; infinite if there is none."""
    survive = sum(count * math.log1p(-law.infinite) for law, count in laws)
    finite_delta = (delta - -math.expm1(survive)) * (1 - 2.0**-40)
    if finite_delta <= 0:
        return math.inf
    slope, ceiling = _saddle(laws, step, finite_delta)
    ceiling = max(0.0, min(ceiling, step * sum(count * int(law.indices.max()) for law, count in laws)))
    slope = min(slope, 12 / _deviation(laws))  # a steeper one would show the largest loss and nothing below it
    widths = [1, 8, 64]
    exceeds, floor = _tail(laws, step, slope, widths[0])
    while floor > 0 and len(widths) > 1 and exceeds(floor) <= finite_delta:  # the least epsilon lies below the window
        exceeds, floor = _tail(laws, step, slope, widths.pop(1))
    if floor <= 0 and exceeds(0.0) <= finite_delta:
        return 0.0
    low, high = 0.0, ceiling  # Chernoff's bound, or the largest loss: private in any case
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if middle >= floor and exceeds(middle) <= finite_delta else (middle, high)
    return high * (1 + 2.0**-48)


def _saddle(laws: Sequence[tuple[Law, int]], step: float, delta: float) -> tuple[float, float]:
    """The slope per cell that gives the least Chernoff bound on epsilon, and that bound."""

    def bound(log_slope: float) -> float:
        slope = math.exp(log_slope)
        total = sum(count * law.tilted(slope)[0] for law, count in laws)
        return step * (total + (1 + abs(total)) * _rounding(laws) - math.log(delta)) / slope

    widest = max(max(abs(int(law.indices.max())), abs(int(law.indices.min())), 1) for law, _ in laws)
    low, high = math.log(1e-4 / widest) - math.log(sum(count for _, count in laws)), math.log(2000.0)
    grid = [low + (high - low) * i / 40 for i in range(41)]
    centre = min(grid, key=bound)
    low, high = centre - (high - low) / 40, centre + (high - low) / 40
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(16):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    best = (low + high) / 2
    return math.exp(best), bound(best)


def _deviation(laws: Sequence[tuple[Law, int]]) -> float:
    """The standard deviation of the sum, in cells, and at least 1."""
    import numpy as np

    square = 1.0
    for law, count in laws:
        _, weights = law.tilted(0.0)
        mean = float(np.dot(weights, law.indices))
        square += count * float(np.dot(weights, (law.indices - mean) ** 2))
    return math.sqrt(square)


def _rounding(laws: Sequence[tuple[Law, int]]) -> float:
    """Relative error that all masses and tilts together can carry."""
    return 2 * MASS_ERROR * sum(count for _, count in laws)


def _tail(
    laws: Sequence[tuple[Law, int]], step: float, slope: float, width: int
) -> tuple[Callable[[float], float], float]:
    """An upper bound on E[(1 - e^(epsilon - L))_+; L finite], and the epsilon from which on it holds.

    Below the window it would not: losses above such an epsilon are missing from it.
    """
    import numpy as np

    tilts = [(*law.tilted(slope), law, count) for law, count in laws]
    log_total = sum(count * log_mgf for log_mgf, _, _, count in tilts)
    means = [float(np.dot(weights, law.indices)) for _, weights, law, _ in tilts]
    centre = sum(mean * count for mean, (*_, count) in zip(means, tilts, strict=True))
    variance = sum(
        count * float(np.dot(weights, (law.indices - mean) ** 2))
        for mean, (_, weights, law, count) in zip(means, tilts, strict=True)
    )
    size = 1 << max(10, math.ceil(math.log2(width * (24 * math.sqrt(variance) + 32 / slope + 64))))
    size = min(size, LONGEST)
    start = math.floor(centre) - size // 2
    probability, error = _convolve(tilts, size, start)
    cells = start + np.arange(size)
    kept = cells > 0
    losses = step * cells[kept]
    reached = np.exp(np.minimum(log_total - slope * cells[kept], 700.0))  # undoes the tilt
    masses = (np.maximum(probability[kept], 0.0) + error) * reached
    beyond = math.exp(min(700.0, log_total - slope * (start + size)))  # Chernoff
    untilting = 8 * UNIT * (abs(log_total) + slope * (abs(start) + size))
    factor = (1 + _rounding(laws)) * math.exp(_rounding(laws) * (1 + abs(log_total)) + untilting)

    def tail(epsilon: float) -> float:
        first = int(np.searchsorted(losses, epsilon, side="right"))
        inside = float(np.dot(masses[first:], -np.expm1(epsilon - losses[first:])))
        return (inside * (1 + 2.0**-40) + beyond) * factor

    return tail, step * (start - 1)


def _convolve(tilts: Sequence[tuple[float, Floats, Law, int]], size: int, start: int) -> tuple[Floats, float]:
    """The law of the sum modulo `size`, from cell `start` on, and a bound on the error of every cell."""
    import numpy as np

    frequencies = size // 2 + 1
    logarithm = np.zeros(frequencies, dtype=np.complex128)
    smallest = np.ones(frequencies)
    for _, weights, law, count in tilts:
        folded = np.bincount(law.indices % size, weights, size)
        spectrum = np.fft.rfft(folded)
        magnitude = np.maximum(np.abs(spectrum), 1e-200)
        smallest = np.minimum(smallest, magnitude)
        logarithm += count * (np.log(magnitude) + 1j * np.angle(spectrum))
    product = np.exp(logarithm)
    shifted = np.roll(np.fft.irfft(product, size), -(start % size))
    per_factor = UNIT * (16 * math.log2(size) + 64)  # one transform, one logarithm, one exponential
    count = sum(tilt[-1] for tilt in tilts)
    least = np.maximum(smallest - per_factor, 1e-200)  # of the true factors at this frequency
    others = np.exp(np.minimum(0.0, logarithm.real + count * per_factor / least - np.log(least)))
    error = 4 * per_factor * (count * float(others.mean()) + float(np.abs(product).mean()))
    return shifted, error
