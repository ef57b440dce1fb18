"""Running counts and ranges from a tree: each user reports at one level, and the levels are made to agree.

Theorem (Hay, Rastogi, Miklau, Suciu 2010; Cormode, Kulkarni, Srivastava 2019; the exact variances ours).  Give the
cells a tree of h levels in which every node has b children.  A user picks a level uniformly, without looking at the
value, and reports the ancestor of the value there through an epsilon-DP frequency oracle: the report is epsilon-DP.
The total is known, so the best linear combination of all levels is found by one pass up the tree and one down, and if
the estimates at level l have independent errors of variance s_l, the fraction of users in the first j cells has the
variance

    sum over l of q_l (k + t^2 - (k + t)^2 / b),   1 / q_l = 1 / s_l + 1 / (b q_(l+1)),

where k is the number of whole children at level l on the path to j and t what share of the next one lies below j.
Errors of one level are not independent, but for these oracles no linear combination has more than with
s_l = (truth (on - both) / on / gap^2 + 1) / n_l, sampling included: those are the weights.  What `error` is made of, by
Chebyshev, takes the two apart.  Users at level l add numbers of a known range r_l: who reports where has variance
(r_l / 2)^2 / n_l at most, times n / (n - 1).  The noise is that above with s_l less 1 / n_l, or for randomized response
(1 - truth) (r_l / gap)^2 / n_l, which vanishes with it.
Proof: docs/theory/local_factorization.md.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.local.coins import pick, positive, whole
from discreet.local.projective import ProjectiveGeometryResponse, count
from discreet.local.protocol import LocalProtocol, cells_of
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

    Floats = npt.NDArray[np.float64]

BRANCHES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)  # that are tried
ALIKE = 1e-9  # variances below are nothing, and the first oracle is taken
UNSEEN = 1e12  # the variance of a level that nobody reported at

Oracle = RandomizedResponse | ProjectiveGeometryResponse


@dataclass(frozen=True, kw_only=True)
class HierarchicalRanges(LocalProtocol):
    """The fraction of users with a value of at most i, for i = 0 .. size - 1; ranges are differences of two.

    Without `branches` the tree is the one of least predicted variance.  With `consistent=False` a running count is the
    sum of the nodes on its path, at most (b - 1) h of them: the textbook's hierarchy, to compare with.

    >>> ranges = HierarchicalRanges(epsilon=1.0, size=1024)
    >>> ranges.branching, ranges.height, ranges.bits
    (2, 10, 12)
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.local.protocol import run
    >>> server = run(ranges, [100] * 30_000 + [900] * 10_000, rng=SeededRandom(1))
    >>> bool(abs(server.estimate()[500] - 0.75) < server.error(0.05)[500])
    True
    """

    epsilon: Number
    size: int
    branches: int | None = None
    consistent: bool = True

    def __post_init__(self) -> None:
        positive(self.epsilon)
        whole("size", self.size, least=2)
        if self.branches is not None:
            whole("branches", self.branches, least=2)

    @property
    def branching(self) -> int:
        """b."""
        return self.branches or _branching(exact(self.epsilon), self.size)

    @property
    def height(self) -> int:
        """h: the levels below the root."""
        return _height(self.size, self.branching)

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        """One for each level, from the top; values are nodes."""
        return tuple(_oracle(exact(self.epsilon), self.branching**level) for level in range(1, self.height + 1))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the codes of each level start, and where all end."""
        found = [0]
        for oracle in self.oracles:
            found.append(found[-1] + oracle.form.limit)
        return tuple(found)

    @property
    def form(self) -> Codes:
        """The level and the report there."""
        return Codes(self.starts[-1])

    @property
    def cells(self) -> int:
        """One for each code."""
        return self.starts[-1]

    def checked(self, values: object) -> Array:
        """Cells."""
        return cells_of(values, self.size)

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A level that has not seen the value, and the report of the ancestor there."""
        import numpy as np

        levels = pick(self.height, len(values), random)
        reports = np.empty(len(values), dtype=np.int64)
        for level, oracle in enumerate(self.oracles):
            there = np.flatnonzero(levels == level)
            nodes = values[there] // self.branching ** (self.height - 1 - level)
            reports[there] = self.starts[level] + oracle.draw(nodes, random)
        return reports

    def tally(self, reports: Array) -> Tally:
        """How often each code was reported."""
        import numpy as np

        return np.bincount(reports, minlength=self.cells)

    def _levels(self, tally: Tally) -> list[Tally]:
        return [tally[a:b] for a, b in pairwise(self.starts)]

    def decode(self, tally: Tally, n: int) -> Floats:
        """The running counts of the levels made to agree; unbiased where every level was reported at."""
        import numpy as np

        parts = self._levels(tally)
        estimates = [
            oracle.decode(part, int(part.sum())) if part.any() else np.full(oracle.size, 1 / oracle.size)
            for oracle, part in zip(self.oracles, parts, strict=True)
        ]
        if not self.consistent:
            return path_sums(estimates, self.branching)[: self.size]
        leaves = agreed(estimates, self._spreads([int(part.sum()) for part in parts]), self.branching)
        return np.cumsum(leaves)[: self.size]

    def bound(self, tally: Tally, n: int, beta: float) -> Floats:
        """For each running count alone, by Chebyshev."""
        import numpy as np

        reports = [int(part.sum()) for part in self._levels(tally)]
        spreads = self._spreads(reports)
        variances = prefix_variances(spreads, self.branching, consistent=self.consistent)
        if self.consistent and all(reports) and n > 1:
            noises = [_most(oracle) / m for oracle, m in zip(self.oracles, reports, strict=True)]
            ranges = squared_ranges(spreads, self.branching)
            sampled = sum(one / 4 / m for one, m in zip(ranges, reports, strict=True)) * (n / (n - 1))
            lies = [_lies(oracle) / m for oracle, m in zip(self.oracles, reports, strict=True)]
            lied = sum(one * lie for one, lie in zip(ranges, lies, strict=True)) if max(lies) < math.inf else math.inf
            noise = np.minimum(prefix_variances(spreads, self.branching, noises=noises), lied)
            variances = np.minimum(variances, noise + sampled)
        return np.sqrt(variances[: self.size] / beta)

    def _spreads(self, reports: Sequence[int]) -> list[float]:
        """s_l from above, for so many reports at each level."""
        return [
            (_most(oracle) + 1) / m if m else UNSEEN * (_most(oracle) + 1)
            for oracle, m in zip(self.oracles, reports, strict=True)
        ]

    def variance(self, n: int) -> float:
        """The largest variance of a running count, where values are spread evenly and errors independent."""
        whole("n", n, least=1)
        return _predicted(exact(self.epsilon), self.size, self.branching, consistent=self.consistent) / n

    def law(self, value: int) -> dict[int, Fraction]:
        """Each level with the same chance."""
        found: dict[int, Fraction] = {}
        for level, oracle in enumerate(self.oracles):
            node = value // self.branching ** (self.height - 1 - level)
            for code, chance in oracle.law(node).items():
                found[self.starts[level] + code] = chance / self.height
        return found

    def inputs(self) -> list[int]:
        """All cells."""
        return list(range(self.size))

    def fingerprint(self) -> bytes:
        """As of the tree that is used."""
        whole_tree = (exact(self.epsilon), self.size, self.branching)
        return hashlib.sha256("|".join(["HierarchicalRanges", *map(str, whole_tree)]).encode()).digest()[:8]


def agreed(estimates: Sequence[Floats], spreads: Sequence[float], branching: int) -> Floats:
    """Fractions of the leaves: the generalised least squares where level l has variance s_l and the total is 1.

    >>> import numpy as np
    >>> agreed([np.array([0.4, 0.4]), np.array([0.1, 0.3, 0.2, 0.6])], [1.0, 1.0], 2).round(3)
    array([0.117, 0.317, 0.083, 0.483])
    """
    import numpy as np

    inverse = precisions(spreads, branching)
    best = list(estimates)
    for level in range(len(best) - 2, -1, -1):
        below = best[level + 1].reshape(-1, branching).sum(axis=1)
        own = 1 / spreads[level] / inverse[level]
        best[level] = own * best[level] + (1 - own) * below
    above = np.ones(1)
    for level in best:
        rows = level.reshape(-1, branching)
        above = (rows + (above - rows.sum(axis=1))[:, None] / branching).reshape(-1)
    return above


def path_sums(estimates: Sequence[Floats], branching: int) -> Floats:
    """The fraction in the first j leaves as a sum of whole nodes, for j = 1, 2, .. and 1 at the end.

    >>> import numpy as np
    >>> path_sums([np.array([0.4, 0.4]), np.array([0.1, 0.3, 0.2, 0.6])], 2)
    array([0.1, 0.4, 0.6, 1. ])
    """
    import numpy as np

    ends = np.arange(1, len(estimates[-1]) + 1)
    total = np.zeros(len(ends))
    for level, found in enumerate(estimates):
        child = branching ** (len(estimates) - 1 - level)
        sums = np.concatenate([[0.0], np.cumsum(found)])
        whole_children = ends // child
        total += sums[whole_children] - sums[whole_children - whole_children % branching]
    total[-1] = 1.0
    return total


def precisions(spreads: Sequence[float], branching: int) -> list[float]:
    """1 / q_l: of a node at each level from its own estimate and all below it."""
    found = [1 / spreads[-1]]
    for spread in reversed(spreads[:-1]):
        found.append(1 / spread + found[-1] / branching)
    return found[::-1]


def own_shares(spreads: Sequence[float], branching: int) -> list[float]:
    """The weight of a node's own estimate beside the sum of those below it."""
    inverse = precisions(spreads, branching)
    return [1 / spread / found for spread, found in zip(spreads, inverse, strict=True)]


def squared_ranges(spreads: Sequence[float], branching: int) -> list[Floats]:
    """For each level, and for j = 1, 2, .., the square of the range of what the estimate of one user there counts for.

    >>> squared_ranges([1.0], 4)
    [array([1., 1., 1., 0.])]
    """
    import numpy as np

    height, b = len(spreads), branching
    ends = np.arange(1, b**height + 1)
    taken = [ends % (b * b ** (height - 1 - level)) / b ** (height - 1 - level) for level in range(height)]
    own, found = own_shares(spreads, b), []
    for level in range(height):
        passed = np.zeros(len(ends))  # what nodes on the path have added so far
        low, high = np.full(len(ends), np.inf), np.full(len(ends), -np.inf)
        for above in range(level + 1):
            share = own[level] * math.prod(1 - own[between] for between in range(above, level))
            mean, whole_ones = taken[above] / b, np.floor(taken[above])
            inside, outside = passed + share * (1 - mean), passed - share * mean
            high = np.maximum(high, np.where(whole_ones >= 1, inside, outside))
            low = np.minimum(low, np.where(whole_ones < b - 1, outside, passed + share * (taken[above] - b + 1 - mean)))
            passed = passed + share * (taken[above] - whole_ones - mean)
        found.append((np.maximum(high, passed) - np.minimum(low, passed)) ** 2)
    return found


def prefix_variances(
    spreads: Sequence[float], branching: int, *, consistent: bool = True, noises: Sequence[float] | None = None
) -> Floats:
    """The variance of the fraction in the first j leaves, for j = 1, 2, .., with levels that agree or by sums of nodes.

    `noises` are the variances, where the levels are weighted as if they were `spreads`.

    >>> prefix_variances([1.0], 4)
    array([0.75, 1.  , 0.75, 0.  ])
    >>> prefix_variances([1.0], 4, consistent=False)
    array([1., 2., 3., 0.])
    """
    import numpy as np

    height, b = len(spreads), branching
    ends = np.arange(1, b**height + 1)
    total, each = np.zeros(len(ends)), [1 / inverse for inverse in precisions(spreads, b)]
    if noises is not None:
        each = [noises[-1]]
        for noise, own in zip(noises[-2::-1], own_shares(spreads, b)[-2::-1], strict=True):
            each.insert(0, own**2 * noise + (1 - own) ** 2 * b * each[0])
    for level, one in enumerate(each):
        child = b ** (height - 1 - level)
        taken = ends % (b * child) / child  # k + t
        k = np.floor(taken)
        if not consistent:
            total += k * spreads[level]
            continue
        total += (k + (taken - k) ** 2 - taken**2 / b) * one
    return total


def _most(oracle: Oracle) -> float:
    """No combination of estimates with squares adding up to 1 has a larger variance of noise, for one report."""
    on, both = 1, 0
    if isinstance(oracle, ProjectiveGeometryResponse):
        on, both = count(oracle.order, oracle.length - 1), count(oracle.order, oracle.length - 2)
    return float(oracle.truth * (on - both) / on / (oracle.truth - oracle.noise) ** 2)


def _lies(oracle: Oracle) -> float:
    """The same for a combination whose weights lie within 1 of each other: how often a report is not the own node."""
    if isinstance(oracle, ProjectiveGeometryResponse):
        return math.inf
    return float((1 - oracle.truth) / (oracle.truth - oracle.noise) ** 2)


@lru_cache(maxsize=512)
def _oracle(epsilon: Fraction, width: int) -> Oracle:
    kinds = (RandomizedResponse, ProjectiveGeometryResponse) if width > 2 else (RandomizedResponse,)
    return min((kind(epsilon=epsilon, size=width) for kind in kinds), key=lambda oracle: max(oracle.variance(1), ALIKE))


def _height(size: int, branching: int) -> int:
    height = 1
    while branching**height < size:
        height += 1
    return height


@lru_cache(maxsize=256)
def _predicted(epsilon: Fraction, size: int, branching: int, *, consistent: bool = True) -> float:
    height, spreads = _height(size, branching), []
    for level in range(1, height + 1):
        share = 1 / branching**level
        noise = _oracle(epsilon, branching**level).variance(1, fraction=share)
        spreads.append(height * (noise + share * (1 - share)))
    return float(prefix_variances(spreads, branching, consistent=consistent)[:size].max())


@lru_cache(maxsize=256)
def _branching(epsilon: Fraction, size: int) -> int:
    def cost(branching: int) -> float:
        padded = branching ** _height(size, branching)
        return _predicted(epsilon, size, branching) if padded <= 8 * size else math.inf

    return min((b for b in BRANCHES if b <= size), key=cost)
