"""Which group keys may be named, when the keys themselves are private.

Theorem (Desfontaines, Voss, Gipson, Mandayam 2022).  Let key k be held by n_k units, and let adding
or removing a unit move at most `groups_per_unit` = G of the n_k, each by 1.  With e = epsilon / G and
d = delta / G, release each key independently with probability p(n_k), where p(0) = 0 and

    p(n + 1) = min(e^e p(n) + d,  1 - e^-e (1 - p(n) - d),  1).

The set of released keys is (epsilon, delta)-DP; a key that nobody holds is never released; and for G = 1 no
rule with these two properties releases any key with higher probability.  With `least` > 1 the count is first
lowered by `least` - 1, so that a key held by fewer units is never released.

The rule is kept in integers over 2^width, each step rounded down: then p(n + 1) <= e^e p(n) + d and
1 - p(n) <= e^e (1 - p(n + 1)) + d hold exactly for the probabilities that are drawn, which are below the
optimal ones by a part in 2^60 at most.  Proof: docs/theory/partition_selection.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import Bounds
from discreet.hazmat.integers import integers
from discreet.hazmat.settle import WIDTH, below, settle
from discreet.privacy.enclosure import exp_down, exp_up, expm1_bounds, log_up
from discreet.privacy.event import ApproxEvent, RepeatedEvent
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers

    Flags = npt.NDArray[np.bool_]

Key = TypeVar("Key", bound=Hashable)
CHUNK = 1 << 16  # keys decided at a time
LONGEST = 1 << 20  # steps of a rule; beyond them a key would need a million units to be named


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionSelection:
    """Say of each key, from the number of distinct units that hold it, whether it is released.

    Units are bounded beforehand: one that holds more than `groups_per_unit` keys counts in that many only.

    >>> selection = PartitionSelection(epsilon=1, delta=1e-6)
    >>> selection.threshold(0.5), selection.accuracy(beta=0.05)
    (14, 16)
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> selection([0, 1, 5, 40, 3000], rng=SeededRandom(1))
    array([False, False, False,  True,  True])
    >>> selection.select({"Rome": 812, "Oslo": 1, "Bonn": 95}, rng=SeededRandom(1))
    ['Bonn', 'Rome']
    >>> selection.privacy()
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    epsilon: Number
    delta: Number
    groups_per_unit: int = 1
    least: int = 1

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(0 < exact(self.delta) < 1, "0 < delta < 1", delta=self.delta)
        check_groups(self.groups_per_unit)
        whole = isinstance(self.least, int) and not isinstance(self.least, bool)
        require(whole and 1 <= self.least < 2**63, "an integer least >= 1 that fits 64 bits", least=self.least)
        brief = _steps(*self._share) <= LONGEST
        rule = f"an epsilon and delta a key for which {LONGEST} units are surely released"
        require(brief, rule, epsilon=self.epsilon, delta=self.delta, groups_per_unit=self.groups_per_unit)

    @property
    def _share(self) -> tuple[Fraction, Fraction]:
        """(e, d): what one key may spend."""
        return exact(self.epsilon) / self.groups_per_unit, exact(self.delta) / self.groups_per_unit

    def __call__(self, units: Integers | Sequence[int], *, rng: RandomSource | None = None) -> bool | Flags:
        """Whether each key is released: a bool for an int, an array for an array.  A count below 0 is one of 0."""
        whole, random, rule = integers(units), source(rng), _rule(*self._share)
        if isinstance(whole, int):
            return below(rule.bounds(max(0, whole - self.least + 1)), rng=random)
        import numpy as np

        flat, out = whole.reshape(-1), np.empty(whole.size, dtype=bool)
        for start in range(0, out.size, CHUNK):
            out[start : start + CHUNK] = self._decide(flat[start : start + CHUNK], rule, random)
        return out.reshape(whole.shape)

    def _decide(self, counts: IntArray, rule: Rule, random: RandomSource) -> Flags:
        """One word a key, compared with the first word of its probability; in a tie more words decide."""
        import numpy as np

        place = np.minimum(np.maximum(counts, self.least - 1) - (self.least - 1), len(rule)).astype(np.int64)
        words, first = random.words(place.size), rule.first[place]
        out = words < first
        for i in np.flatnonzero(words == first):
            out[i] = settle(int(words[i]), WIDTH, rule.bounds(int(place[i])), rng=random)
        return out

    def select(self, units: Mapping[Key, int], *, rng: RandomSource | None = None) -> list[Key]:
        """The released keys, in an order that depends on nothing but themselves."""
        flags = self(list(units.values()), rng=rng)
        assert not isinstance(flags, bool)
        return sorted((key for key, flag in zip(units, flags, strict=True) if flag), key=_rank)

    def probability(self, units: int) -> Fraction:
        """Exactly how probable it is that a key of so many units is released.

        >>> PartitionSelection(epsilon=1, delta=1e-6).probability(0)
        Fraction(0, 1)
        """
        return _rule(*self._share)[max(0, units - self.least + 1)]

    def threshold(self, probability: Number) -> int:
        """The least number of units with which a key is released with this probability or more.

        >>> PartitionSelection(epsilon=1, delta=1e-6, groups_per_unit=3).threshold(1)
        80
        """
        wanted = exact(probability)
        require(0 < wanted <= 1, "0 < probability <= 1", probability=probability)
        rule = _rule(*self._share)
        low, high = 0, len(rule)  # p(low) < wanted <= p(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rule[middle] >= wanted else (middle, high)
        return high + self.least - 1

    def privacy(self) -> ApproxDP:
        """(epsilon, delta), for adding or removing a unit."""
        return ApproxDP(self.epsilon, self.delta, neighbours=AddRemove)

    def accuracy(self, beta: float = 0.05) -> int:
        """The least number of units with which a key is missed with probability at most beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self.threshold(1 - exact(beta))

    def event(self) -> RepeatedEvent:
        """What ran: an (e, d)-DP decision on each of G keys, which costs G e^2 / 2 in zCDP and not (G e)^2 / 2."""
        e, d = self._share
        return RepeatedEvent(event=ApproxEvent(epsilon=e, delta=d), count=self.groups_per_unit)


def check_groups(groups_per_unit: int) -> None:
    """Refuse what is no number of groups."""
    whole = isinstance(groups_per_unit, int) and not isinstance(groups_per_unit, bool)
    require(whole and groups_per_unit >= 1, "an integer groups_per_unit >= 1", groups_per_unit=groups_per_unit)


class Rule:
    """p(0), p(1), ..., p(N) = 1 in integers over 2^width; all but the last are kept, as big-endian words."""

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        import numpy as np

        # d is at least 2^64 units, so that rounding a step down by two units costs a part in 2^63.
        bits = WIDTH + math.ceil(1 / delta).bit_length()
        self.width = WIDTH * -(-bits // WIDTH)
        self._words = b"".join(p.to_bytes(self.width // 8, "big") for p in _probabilities(epsilon, delta, self.width))
        table = np.frombuffer(self._words, dtype=">u8").reshape(-1, self.width // WIDTH)
        self.first = np.append(table[:, 0].astype(np.uint64), np.uint64(2**WIDTH - 1))

    def __len__(self) -> int:
        """N: with so many units a key is surely released."""
        return len(self._words) * 8 // self.width

    def __getitem__(self, n: int) -> Fraction:
        """p(n)."""
        return Fraction(self._units(n), 1 << self.width)

    def _units(self, n: int) -> int:
        size = self.width // 8
        return int.from_bytes(self._words[n * size : (n + 1) * size], "big") if n < len(self) else 1 << self.width

    def bounds(self, n: int) -> _Dyadic:
        """p(n) as the samplers read it."""
        return _Dyadic(self._units(n), self.width)


@dataclass(frozen=True, slots=True)
class _Dyadic:
    units: int
    width: int

    def __call__(self, bits: int) -> Bounds:
        """Integers around 2^bits units / 2^width."""
        scaled = self.units << bits
        return scaled >> self.width, -(-scaled >> self.width)


def _probabilities(epsilon: Fraction, delta: Fraction, width: int) -> list[int]:
    """2^width p(n) for every n with p(n) < 1; growth, delta and the shrinking complement are rounded to lower p."""
    one = 1 << width
    growth = max(one, math.floor(exp_down(epsilon) * one))
    shrink = min(one, math.ceil(exp_up(-epsilon) * one))
    jump = math.floor(delta * one)
    p, found = 0, []
    while p < one:
        found.append(p)
        missing = one - p - jump
        rising = (growth * p >> width) + jump
        p = min(rising, one + (-shrink * missing >> width)) if missing > 0 else one
    return found


@lru_cache(maxsize=32)
def _rule(epsilon: Fraction, delta: Fraction) -> Rule:
    return Rule(epsilon, delta)


def _steps(epsilon: Fraction, delta: Fraction) -> Fraction:
    """About how many steps the rule has: twice those it takes to its middle, by the closed form."""
    grown = expm1_bounds(min(epsilon, Fraction(1000)))[1]
    room = grown * (1 - delta) / ((grown + 2) * delta)
    return 2 * min(room, log_up(1 + room) if room > Fraction(1, 10**9) else room) / epsilon + 2


def _rank(key: object) -> tuple[str, object]:
    """A total order on keys of any types."""
    kind = type(key).__qualname__
    if isinstance(key, tuple):
        return kind, tuple(_rank(part) for part in key)
    return kind, key if isinstance(key, (str, bytes, int)) else repr(key)
