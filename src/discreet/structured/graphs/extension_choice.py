"""Which of several Lipschitz extensions to release, when each loses something and needs its own noise.

Theorem (Raskhodnikova, Smith 2016).  Let f_1 <= ... <= f_k <= f be integers that move by at most m_1, ..., m_k
between neighbours; f itself may move by anything.  To release f_i costs its shortfall f - f_i and the
noise m_i / counting.  The normalised loss

    s_i = max over j of (c_i - c_j) / (m_i + m_j),   c_i = m_i / counting - f_i + calm m_i,

does not mention f, and moves by at most one; so does floor(UNIT s_i) by UNIT, and choosing i by the
exponential mechanism on it is epsilon-DP.  With calm = (2 / epsilon) ln(k / beta) the choice costs at most
2 calm m_j more than any other j, with probability 1 - beta.  Costs are rational numbers and nothing in them
is rounded: rounded up to whole numbers, a bound would cost m_i at least, however large the budget is.
Proof: docs/theory/node_privacy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.number import Number, exact

UNIT = 1 << 32  # a normalised loss of one, as an integer: losses that differ by less are the same
DOUBT = 0.05  # beta above


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtensionChoice:
    """Choose among extensions by their values and by how far each can move.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> choice = ExtensionChoice(epsilon=1, counting=1)
    >>> choice([500, 990, 1000, 1000], [1, 2, 4, 1024], rng=SeededRandom(1)) in (1, 2)
    True
    """

    epsilon: Number
    counting: Number

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(exact(self.counting) > 0, "counting > 0", counting=self.counting)

    def __call__(self, values: list[int], moves: list[int], *, rng: RandomSource | None = None) -> int:
        """The place of the chosen one."""
        return Exponential(epsilon=self.epsilon, sensitivity=UNIT)(self.scores(values, moves), rng=rng)

    def scores(self, values: list[int], moves: list[int]) -> list[int]:
        """-floor(UNIT s_i), of exact costs; `moves` are public."""
        calm = 2 / exact(self.epsilon) * Fraction(math.log(len(values) / DOUBT))
        price = 1 / exact(self.counting) + calm  # of one that an extension may move by
        cost = [price * m - f for f, m in zip(values, moves, strict=True)]
        places = range(len(values))
        return [-max(UNIT * (cost[i] - cost[j]) // (moves[i] + moves[j]) for j in places) for i in places]
