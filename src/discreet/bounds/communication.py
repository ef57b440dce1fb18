"""Private learning and one-way communication: each gives the other.

Theorem (Feldman, Xiao 2014; Beimel, Nissim, Stemmer 2013).  Let an epsilon-DP learner (Replace) from n rows find, with
probability 1 - b, a hypothesis that is good for the target.  Alice, who knows the target, and Bob, who wants a good
hypothesis, run it on a fixed dataset with shared coins

    M = ceil(ln(1 / g) / -ln(1 - (1 - b) e^(-epsilon n))) <= ceil(e^(epsilon n) ln(1 / g) / (1 - b))   times:

with probability 1 - g some run is good, and Alice sends its number, ceil(log2 M) = epsilon n log2(e) + O(1) bits.  So a
class that needs c bits of one-way communication needs n >= (c - log2(ln(1 / g) / (1 - b)) - 1) / (epsilon log2 e) rows.
Conversely a protocol of c bits, its coins drawn in advance, lists 2^c hypotheses, from which the exponential
mechanism learns privately.  Proof: docs/theory/communication.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST = 700  # of epsilon n, beyond which e^(epsilon n) is no float


def list_length(*, epsilon: Number, n: int, failure: float, beta: float) -> int:
    """M: how many runs make a good one likely.

    >>> list_length(epsilon=1, n=10, failure=0.05, beta=0.1)
    73316
    """
    steps = _steps(epsilon, n)
    _chances(failure=failure, beta=beta)
    return math.ceil(math.log(1 / failure) / -math.log1p(-(1 - beta) * math.exp(-steps)))


def message_bits(*, epsilon: Number, n: int, failure: float, beta: float) -> float:
    """log2 M: what Alice sends, before it is rounded up to whole bits.

    >>> round(message_bits(epsilon=1, n=10, failure=0.05, beta=0.1), 2)
    16.16
    """
    return math.log2(list_length(epsilon=epsilon, n=n, failure=failure, beta=beta))


def rows_needed(bits: float, *, epsilon: Number, failure: float, beta: float) -> int:
    """The least n of any epsilon-DP learner of a class that needs this many whole bits of one-way communication.

    From no bit nothing follows.

    >>> rows_needed(17, epsilon=1, failure=0.05, beta=0.1), rows_needed(0, epsilon=1, failure=0.9, beta=0.05)
    (10, 0)
    """
    require(bits >= 0, "bits >= 0", bits=bits)
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    _chances(failure=failure, beta=beta)
    if bits < 1:
        return 0
    rest = math.floor(bits) - math.log2(math.log(1 / failure) / (1 - beta)) - 1
    return max(0, math.ceil(rest / (float(exact(epsilon)) * math.log2(math.e)) - 1e-12))


def rows_enough(bits: int, *, alpha: float, epsilon: Number, beta: float) -> int:
    """Rows from which the exponential mechanism learns the 2^bits hypotheses of a protocol, labels being realisable.

    >>> rows_enough(10, alpha=0.1, epsilon=1, beta=0.05)
    248
    """
    require(isinstance(bits, int) and not isinstance(bits, bool) and bits >= 0, "whole bits >= 0", bits=bits)
    require(0 < alpha < 1, "0 < alpha < 1", alpha=alpha)
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    rate = -math.log1p(alpha * math.expm1(-float(exact(epsilon)) / 2))
    return math.ceil((bits * math.log(2) + math.log(1 / beta)) / rate)


@dataclass(frozen=True, slots=True, eq=False)
class ListProtocol:
    """Alice and Bob share coins; Bob learns a hypothesis that is good for Alice's target.

    `law` is what the learner outputs on a fixed public dataset: a probability for each hypothesis.

    >>> protocol = ListProtocol((0.5, 0.25, 0.25), length=8)
    >>> shared = protocol.runs(seed=1)
    >>> place = protocol.message(shared, good=lambda hypothesis: hypothesis == 2)
    >>> protocol.received(shared, place)
    2
    >>> round(protocol.failure({2}), 6), protocol.bits
    (0.100113, 3)
    """

    law: Sequence[float]
    length: int

    def __post_init__(self) -> None:
        total = math.fsum(self.law)
        proper = all(0 <= p <= 1 for p in self.law) and abs(total - 1) < 1e-9
        require(proper, "probabilities that sum to 1", total=total)
        whole = isinstance(self.length, int) and not isinstance(self.length, bool)
        require(whole and self.length >= 1, "an integer length >= 1", length=self.length)

    @property
    def bits(self) -> int:
        """What Alice sends."""
        return max(1, (self.length - 1).bit_length())

    def runs(self, *, seed: int) -> npt.NDArray[np.intp]:
        """The list that both make of their shared coins, which are public."""
        import numpy as np

        weights = np.asarray(self.law, dtype=np.float64)
        return np.random.default_rng(seed).choice(len(weights), size=self.length, p=weights / weights.sum())

    def message(self, shared: npt.NDArray[np.intp], *, good: Callable[[int], bool]) -> int | None:
        """The first place with a good hypothesis; None if there is none."""
        return next((place for place, hypothesis in enumerate(shared.tolist()) if good(hypothesis)), None)

    def received(self, shared: npt.NDArray[np.intp], place: int) -> int:
        """What Bob reads at that place."""
        return int(shared[place])

    def failure(self, good: set[int]) -> float:
        """The probability that no run is good, exactly up to rounding."""
        return (1 - math.fsum(self.law[hypothesis] for hypothesis in good)) ** self.length


def _steps(epsilon: Number, n: int) -> float:
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 0, "an integer n >= 0", n=n)
    steps = float(exact(epsilon) * n)
    require(steps <= LARGEST, f"epsilon n <= {LARGEST}", epsilon=epsilon, n=n)
    return steps


def _chances(**given: float) -> None:
    for name, value in given.items():
        require(0 < value < 1, f"0 < {name} < 1", **{name: value})
