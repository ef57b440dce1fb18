"""Heavy hitters of a huge domain: who is frequent among 2^64 strings, prefix by prefix.

Theorem (after Bassily, Smith 2015; Wang, Li, Jha 2019; the thresholds ours).  Users are split over levels at random,
without looking at their values.  At level l the server broadcasts prefixes; a user of that level reports, once, through
an epsilon-DP frequency oracle, which of them extended by the next bits begins the own string, or that none does.  So a
user sends one report that is epsilon-DP, and the protocol is sequentially interactive.  The server keeps an extension
if the interval of its count, at level beta / (levels (room + n)), says that somebody has it, where a level has room for
so many candidates.  With probability at least 1 - beta, for all strings at once,

    every string that is listed is held by somebody, and its fraction lies in its interval;
    every string held by more than `threshold` of the users is listed,

where `threshold` is the largest upper end, over the levels, of an interval that just fails, or that was dropped for
want of room.  A random group counts like independent draws or better, so no sampling error is added.
Proof: docs/theory/heavy_hitters.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.bad_values import listed, whole_in
from discreet.hazmat.entropy import RandomSource, source
from discreet.local.chernoff import share_interval
from discreet.local.coins import pick, positive, whole
from discreet.local.frequency import FrequencyOracle
from discreet.local.hashing import OptimalLocalHashing
from discreet.local.projective import ProjectiveGeometryResponse
from discreet.local.protocol import Server, run
from discreet.local.randomized_response import RandomizedResponse
from discreet.privacy.event import Event, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

    Strings = npt.NDArray[np.uint64]
    Cells = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

FIRST = 16  # bits of the first level at most
STEP = 12  # bits of each later one
ROOM = 1 << 19  # candidates of a level


@dataclass(frozen=True, kw_only=True, slots=True)
class Hitter:
    """A string that somebody holds, the estimated fraction of users, and where the true one lies."""

    value: int
    fraction: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Hitters:
    """The strings found, the most frequent first, and the fraction above which none is missing.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> pages = np.repeat(np.array([7, 9], dtype=np.uint64), [15_000, 5_000])
    >>> found = HeavyHitters(bits=8, epsilon=4.0)(pages, rng=SeededRandom(1))
    >>> [item.value for item in found.items]
    [7, 9]
    """

    items: tuple[Hitter, ...]
    threshold: float
    beta: float

    def values(self) -> list[int]:
        """The strings alone."""
        return [item.value for item in self.items]


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """A question to the users of one level: the prefixes, how many bits they have, and how many come next."""

    number: int
    prefixes: tuple[int, ...]
    known: int
    next: int

    @property
    def candidates(self) -> int:
        """The extensions."""
        return len(self.prefixes) << self.next

    def place(self, strings: Strings, bits: int) -> Cells:
        """The number of the candidate that begins each string, or the number after the last."""
        import numpy as np

        start = strings >> np.uint64(bits - self.known) if self.known else np.zeros(len(strings), dtype=np.uint64)
        end = strings >> np.uint64(bits - self.known - self.next) & np.uint64((1 << self.next) - 1)
        listed = np.array(self.prefixes, dtype=np.uint64)
        where = np.minimum(np.searchsorted(listed, start), len(listed) - 1)
        found = (where.astype(np.int64) << self.next) + end.astype(np.int64)
        return np.where(listed[where] == start, found, self.candidates)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeavyHitters:
    """Find frequent strings of `bits` bits, given as unsigned integers; one report a user.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> strings = np.random.default_rng(0).integers(0, 2**32, 60_000, dtype=np.uint64)
    >>> strings[:15_000] = 0xDECAF
    >>> found = HeavyHitters(bits=32, epsilon=2.0)(strings, rng=SeededRandom(1))
    >>> [hex(value) for value in found.values()], round(found.threshold, 2)
    (['0xdecaf'], 0.08)
    """

    bits: int
    epsilon: Number
    beta: float = 0.05

    def __post_init__(self) -> None:
        positive(self.epsilon)
        whole("bits", self.bits, least=1)
        require(self.bits <= 64, "bits <= 64", bits=self.bits)
        require(isinstance(self.beta, float) and 0 < self.beta < 1, "0 < beta < 1", beta=self.beta)

    @property
    def steps(self) -> tuple[int, ...]:
        """How many bits each level adds."""
        rest = max(0, self.bits - FIRST)
        later = -(-rest // STEP)
        return (self.bits - rest, *(rest // later + (i < rest % later) for i in range(later)))

    @property
    def levels(self) -> int:
        """How many groups the users are split into."""
        return len(self.steps)

    def privacy(self) -> PureDP:
        """epsilon: each user sends one report."""
        return PureDP(self.epsilon, neighbours=Local)

    def event(self) -> Event:
        """What ran, for the accountant."""
        return PureEvent(epsilon=self.epsilon)

    def question(self, number: int, prefixes: Sequence[int] = ()) -> Level:
        """What the users of level `number` are asked, given the prefixes that were kept."""
        known = sum(self.steps[:number])
        return Level(number=number, prefixes=tuple(sorted(prefixes)) or (0,), known=known, next=self.steps[number])

    def oracle(self, level: Level) -> FrequencyOracle:
        """The oracle over the candidates, and one more for none of them."""
        return _oracle(exact(self.epsilon), level.candidates + 1)

    def threshold(self, n: int) -> float:
        """The threshold to expect: with n users and as many candidates as there is room for."""
        whole("n", n, least=self.levels)
        group, last = n // self.levels, self.levels - 1
        width = self.room(last).bit_length() - 1
        oracle = self.oracle(Level(number=last, prefixes=(0,), known=0, next=width))
        return _misses(oracle, group, self.each(last, n))[1]

    def room(self, number: int) -> int:
        """How many candidates level `number` may have."""
        return ROOM if number else 1 << self.steps[0]

    def each(self, number: int, n: int) -> float:
        """The chance of error that each interval of level `number` may have: see the proof for why n is in it."""
        return self.beta / (self.levels * (self.room(number) + n))

    def __call__(self, strings: npt.ArrayLike, *, rng: RandomSource | None = None) -> Hitters:
        """Simulate all users and the server."""
        values, random = self.checked(strings), source(rng)
        require(len(values) >= self.levels, "a user for each level", levels=self.levels)
        groups = pick(self.levels, len(values), random)
        kept, found, threshold = [0], (), 0.0
        for number in range(self.levels):
            level = self.question(number, kept)
            group = values[groups == number]
            server = run(self.oracle(level), level.place(group, self.bits), rng=random)
            kept, found, missed = self.heard(level, server, users=len(values))
            threshold = max(threshold, missed)
            if not kept:
                break
        items = tuple(sorted(found, key=lambda item: -item.fraction)) if kept else ()
        return Hitters(items=items, threshold=min(1.0, threshold), beta=self.beta)

    def heard(self, level: Level, server: Server, *, users: int) -> tuple[list[int], tuple[Hitter, ...], float]:
        """From the reports of one level of all `users`: what is kept, its intervals, and what may have been missed."""
        import numpy as np

        oracle, n = server.protocol, server.n
        assert isinstance(oracle, FrequencyOracle)
        if n == 0:
            return [], (), 1.0
        beta = self.each(level.number, users)
        noise, gap = float(oracle.noise), float(oracle.truth - oracle.noise)
        support = oracle.support(server._tally)[: level.candidates]
        least, missed = _misses(oracle, n, beta)
        passing = np.flatnonzero(support >= least)
        last = level.number == self.levels - 1
        room = len(passing) if last else self.room(level.number + 1) >> self.steps[level.number + 1]
        order = passing[np.argsort(-support[passing], kind="stable")]
        kept = np.sort(order[:room])
        low, high = share_interval(support[kept], n, beta)
        if len(order) > room:
            missed = (float(share_interval(support[order[room]], n, beta)[1]) - noise) / gap
        strings = [
            (level.prefixes[i >> level.next] << level.next) + (i & ((1 << level.next) - 1)) for i in kept.tolist()
        ]
        items = tuple(
            Hitter(value=value, fraction=f, low=max(0.0, a), high=min(1.0, b))
            for value, f, a, b in zip(
                strings,
                ((support[kept] / n - noise) / gap).tolist(),
                ((low - noise) / gap).tolist(),
                ((high - noise) / gap).tolist(),
                strict=True,
            )
        )
        return strings, items, missed

    def checked(self, strings: npt.ArrayLike) -> Strings:
        """Unsigned integers of so many bits: the nearest, and 0 for what is none."""
        import numpy as np

        array = listed(strings) if isinstance(strings, list | tuple) else np.asarray(strings)
        if array.ndim != 1 or array.dtype.kind not in "iuO":
            raise ParameterError("need a vector of integers, one string for each user")
        most = (1 << self.bits) - 1
        if array.dtype == object:
            return np.array([min(max(whole_in(value) or 0, 0), most) for value in array], dtype=np.uint64)
        return np.minimum(np.maximum(array, 0).astype(np.uint64), np.uint64(most))


@lru_cache(maxsize=64)
def _oracle(epsilon: Fraction, size: int) -> FrequencyOracle:
    """The oracle of least variance whose supports are coins of two chances."""
    made: list[FrequencyOracle] = [RandomizedResponse(epsilon=epsilon, size=size)]
    for kind in (ProjectiveGeometryResponse, OptimalLocalHashing):
        try:
            oracle = kind(epsilon=epsilon, size=size)
            oracle.variance(1)
            made.append(oracle)
        except UnsupportedError:
            continue
    return min(made, key=lambda oracle: oracle.variance(1))


def _misses(oracle: FrequencyOracle, n: int, beta: float) -> tuple[int, float]:
    """The least count whose interval lies above the noise, and the upper end of the count before it, as a fraction."""
    noise, gap = float(oracle.noise), float(oracle.truth - oracle.noise)
    if float(share_interval(n, n, beta)[0]) <= noise:
        raise UnsupportedError("so few users in a group tell nothing: no count would be above the noise")
    below, above = int(noise * n), n  # the interval of `below` holds the noise
    while above - below > 1:
        middle = (below + above) // 2
        if float(share_interval(middle, n, beta)[0]) > noise:
            above = middle
        else:
            below = middle
    return above, (float(share_interval(below, n, beta)[1]) - noise) / gap
