"""Running counts from one noisy angle a user: the best factorization, one frequency at a time.

Theorem.  With the skew-circulant S of `threshold_factors`, M + 1 cells and theta_k = (2k + 1) pi / M,

    S[i, x] / 2 = (1 / (2M)) sum over k of sin(theta_k (i - x + 1/2)) / sin(theta_k / 2).

A user draws a frequency k with probability p_k near 1 / sin(theta_k / 2), without looking at x, and then a point of
the 2M points of the circle: one of the 2w + 1 nearest to (2k + 1) x, uniformly, with probability
truth <= e^epsilon (2w + 1) / (e^epsilon (2w + 1) + 2M - 2w - 1), else one of the others.  The report is epsilon-DP, in
exact rational arithmetic.  With m the mean cosine of its distance, and gamma the gamma_2 norm of S / 2,

    1/2 + gamma sin(theta_k (i + 1/2) - pi point / M) / m

is unbiased for 1[x <= i], and its variance is gamma^2 (1 - m_2 r) / (2 m^2) - 1/4 where m_2 is the mean cosine of twice
the distance and |r| <= 1 depends on i - x.  A report has 2 log2 M bits and takes constant time, whatever M.
Proof: docs/theory/local_factorization.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.local.chernoff import bernstein
from discreet.local.coins import favoured, pick, positive, toss, whole
from discreet.local.protocol import LocalProtocol, cells_of
from discreet.local.threshold_factors import moduli
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

    Floats = npt.NDArray[np.float64]
    Cuts = npt.NDArray[np.uint64]

DEPTH = 30  # bits after the point of a cosine in the tally
PART = 1 << 22  # reports that are added up at a time, exactly


@dataclass(frozen=True, slots=True)
class Arc:
    """w, the chance of a point that near, and the mean cosines of the distance and of twice the distance."""

    reach: int
    truth: Fraction
    mean: float
    double: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledThresholds(LocalProtocol):
    """The fraction of users with a value of at most i, for i = 0 .. size - 1.

    >>> protocol = SampledThresholds(epsilon=1.0, size=1024)
    >>> protocol.bits, round(protocol.variance(1), 1)
    (20, 41.4)
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.local.protocol import run
    >>> server = run(protocol, [100] * 30_000 + [900] * 10_000, rng=SeededRandom(1))
    >>> server.estimate()[[500, 1023]].round(2)
    array([0.75, 1.  ])
    """

    epsilon: Number
    size: int

    def __post_init__(self) -> None:
        positive(self.epsilon)
        whole("size", self.size, least=2)

    @property
    def turns(self) -> int:
        """M."""
        return self.size - 1

    @property
    def frequencies(self) -> int:
        """Half of them: the others say the same."""
        return (self.turns + 1) // 2

    @property
    def arc(self) -> Arc:
        """The arc with the largest m."""
        return _arc(exact(self.epsilon), self.turns)

    @property
    def form(self) -> Codes:
        """2M k + point."""
        return Codes(self.frequencies * 2 * self.turns)

    @property
    def cells(self) -> int:
        """The sums of cosines and of sines for each frequency."""
        return 2 * self.frequencies

    def checked(self, values: object) -> Array:
        """Cells."""
        return cells_of(values, self.size)

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A frequency that has not seen the value, and a point near or far."""
        import numpy as np

        n, circle, arc = len(values), 2 * self.turns, self.arc
        k = np.searchsorted(_cuts(self.turns), random.words(n), side="right").astype(np.int64)
        near = toss(arc.truth, n, random)
        inside = 2 * arc.reach + 1
        distance = np.empty(n, dtype=np.int64)
        distance[near] = pick(inside, int(near.sum()), random) - arc.reach
        distance[~near] = pick(circle - inside, n - int(near.sum()), random) + arc.reach + 1
        return k * circle + ((2 * k + 1) * values + distance) % circle

    def tally(self, reports: Array) -> Tally:
        """Cosines and sines on a lattice, added up exactly."""
        import numpy as np

        circle = 2 * self.turns
        angle = np.arange(circle) * (np.pi / self.turns)
        tables = [np.rint(part * (1 << DEPTH)) for part in (np.cos(angle), np.sin(angle))]
        found = np.zeros((2, self.frequencies), dtype=np.int64)
        for start in range(0, len(reports), PART):
            k, point = np.divmod(reports[start : start + PART], circle)
            for row, table in enumerate(tables):
                found[row] += np.bincount(k, weights=table[point], minlength=self.frequencies).astype(np.int64)
        return found.reshape(-1)

    def decode(self, tally: Tally, n: int) -> Floats:
        """1/2 + sum over k of sin(theta_k (i + 1/2) - angle) / (2 M sin(theta_k / 2) p_k m), and 1 at the end."""
        import numpy as np

        turns = self.turns
        cosines, sines = tally.reshape(2, -1) / (n * float(1 << DEPTH) * self.arc.mean)
        theta = (2 * np.arange(self.frequencies) + 1) * (np.pi / turns)
        weight = moduli(turns)[: self.frequencies] / (2 * turns * _chances(turns))
        weight[: turns // 2] *= 2  # frequency M - 1 - k says what k says
        phase = np.exp(-1j * theta / 2) * (cosines + 1j * sines) * weight
        # sin(theta_k (i + 1/2) - a) = -Im(exp(-i theta_k (i + 1/2)) exp(i a)), for all i by one transform
        spread = np.zeros(2 * turns, dtype=np.complex128)
        spread[1 : 2 * self.frequencies : 2] = phase
        return np.append(0.5 - np.fft.fft(spread)[:turns].imag, 1.0)

    def bound(self, tally: Tally, n: int, beta: float) -> Floats:
        """For each running count alone, by Bernstein; the last one is known."""
        import numpy as np

        reach = self.norm * (1 + 1e-6) / self.arc.mean + 1
        found = np.full(self.size, bernstein(self.variance(1), reach=reach, n=n, beta=beta))
        found[-1] = 0
        return found

    @property
    def norm(self) -> float:
        """gamma."""
        return float(moduli(self.turns).mean()) / 2

    def variance(self, n: int) -> float:
        """The largest variance of a running count, for the worst data."""
        whole("n", n, least=1)
        arc = self.arc
        return (self.norm**2 * (1 - arc.double * _worst(self.turns, arc.double > 0)) / (2 * arc.mean**2) - 0.25) / n

    def law(self, value: int) -> dict[int, Fraction]:
        """Each frequency with its chance, and the two arcs."""
        import numpy as np

        circle, arc = 2 * self.turns, self.arc
        inside = 2 * arc.reach + 1
        near, far = arc.truth / inside, (1 - arc.truth) / (circle - inside)
        found: dict[int, Fraction] = {}
        bounds = [0, *(int(cut) for cut in np.asarray(_cuts(self.turns))), 1 << 64]
        for k in range(self.frequencies):
            chance = Fraction(bounds[k + 1] - bounds[k], 1 << 64)
            for distance in range(-arc.reach, circle - arc.reach):
                point = ((2 * k + 1) * value + distance) % circle
                found[k * circle + point] = chance * (near if distance <= arc.reach else far)
        return found

    def inputs(self) -> list[int]:
        """All cells."""
        return list(range(self.size))


@lru_cache(maxsize=64)
def _cuts(turns: int) -> Cuts:
    """Where the words of one frequency end and those of the next begin, on a grid of 2^-48."""
    import numpy as np

    weight = moduli(turns)[: (turns + 1) // 2].copy()
    weight[: turns // 2] *= 2
    steps = np.maximum(np.rint(np.cumsum(weight)[:-1] / weight.sum() * (1 << 48)), 1).astype(np.uint64)
    return steps << np.uint64(16)


def _chances(turns: int) -> Floats:
    """p_k, exactly what the cuts say."""
    import numpy as np

    ends = np.concatenate([[0.0], _cuts(turns).astype(np.float64) / 2.0**64, [1.0]])
    return np.diff(ends)


@lru_cache(maxsize=64)
def _worst(turns: int, positive_double: bool) -> float:  # noqa: FBT001 - a cache key
    """The extreme of r = sum over k of p_k cos(theta_k (2 (i - x) + 1))."""
    import numpy as np

    spread = np.zeros(2 * turns)
    spread[1::2] = moduli(turns) / moduli(turns).sum()
    values = np.fft.fft(spread)  # at d: sum of p_k exp(-i theta_k d)
    odd = values.real[(2 * np.arange(turns) + 1) % (2 * turns)]
    return float(odd.min() if positive_double else odd.max())


@lru_cache(maxsize=256)
def _arc(epsilon: Fraction, turns: int) -> Arc:
    """The arc of largest m; every arc is private and unbiased."""
    import numpy as np

    circle, odds = 2 * turns, float(np.exp(min(float(epsilon), 700.0)))
    reach = np.arange(turns)
    inside = 2 * reach + 1
    angles = np.pi * reach / turns

    def cosines(times: int) -> tuple[Floats, Floats]:
        """The mean over the arc, and over the rest; all sum to zero, or to 2 where the circle has 2 points."""
        total = 2 * np.cumsum(np.cos(times * angles)) - 1
        whole_circle = circle if times % circle == 0 else 0
        return total / inside, (whole_circle - total) / (circle - inside)

    p = odds * inside / (odds * inside + circle - inside)
    near, far = cosines(1)
    best = int(np.argmax(p * near + (1 - p) * far))
    truth = favoured(epsilon, inside=int(inside[best]), outside=int(circle - inside[best]))
    chance = float(truth)
    double_near, double_far = cosines(2)
    return Arc(
        best,
        truth,
        float(chance * near[best] + (1 - chance) * far[best]),
        float(chance * double_near[best] + (1 - chance) * double_far[best]),
    )
