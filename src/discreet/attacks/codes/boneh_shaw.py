"""The code of Boneh and Shaw: steps, hidden by a secret order of the columns.

User r of 1, ..., n has ones in block i exactly if r <= i; a block has b columns, and all columns are permuted secretly.
Only users on both sides of a block's edge can tell it from its neighbours.

Theorem.  Trace: accuse the first i whose block has at least b / n more ones than the block before it (block 0 is all
zero, block n all one).  Every feasible word is traced to somebody, and nobody outside the coalition is accused with
probability more than eta, if in every block

    Pr[2 X - K >= b / n] <= eta / n,   X hypergeometric: b of 2 b places, K of them ones,   for every K.

The largest of these is at K = b or next to it, so three tails decide.  Hoeffding's inequality gives b >= 2 n^2
ln(n / eta); the exact tail about a third of it.  Proof: docs/theory/codes.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint8]

LARGEST = 1 << 28  # bits of a code that is made: its words, one byte each, and their order fit in a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class BonehShaw:
    """A code for `users`, one row each, with the secret order of its columns.

    >>> boneh_shaw(4, eta=0.05, seed=1).words.shape
    (4, 135)
    """

    users: int
    block: int
    order: npt.NDArray[np.int64] = field(repr=False)

    @property
    def words(self) -> Bits:
        """The copies; users are numbered from 0 here."""
        import numpy as np

        number, blocks = np.arange(self.users)[:, None], np.repeat(np.arange(1, self.users), self.block)[None, :]
        return (number + 1 <= blocks)[:, self.order].astype(np.uint8)

    def trace(self, word: npt.ArrayLike) -> int:
        """Whom the word accuses: a user from 0 to n - 1."""
        import numpy as np

        found = np.asarray(word, dtype=np.int64)
        if found.shape != (len(self.order),) or not np.isin(found, (0, 1)).all():
            raise ParameterError(f"need a word of {len(self.order)} zeros and ones")
        plain = np.empty_like(found)
        plain[self.order] = found
        ones = np.r_[0, plain.reshape(self.users - 1, self.block).sum(axis=1), self.block]
        return int(np.argmax(np.diff(ones) * self.users >= self.block))


def boneh_shaw(users: int, *, eta: float, seed: int) -> BonehShaw:
    """A code whose false accusations have probability at most eta.

    >>> code = boneh_shaw(4, eta=0.05, seed=1)
    >>> code.block, code.words.shape, code.trace(code.words[2])
    (45, (4, 135), 2)
    """
    import numpy as np

    block = block_length(users, eta)
    bits = users * (users - 1) * block
    require(bits <= LARGEST, f"a code of at most {LARGEST} bits; Tardos' needs far fewer", users=users, bits=bits)
    return BonehShaw(users, block, np.random.default_rng(seed).permutation((users - 1) * block))


def hoeffding_length(users: int, eta: float) -> int:
    """2 n^2 ln(n / eta).

    >>> hoeffding_length(10, 0.05)
    1060
    """
    _check(users, eta)
    return math.ceil(2 * users**2 * math.log(users / eta))


@lru_cache(maxsize=64)
def block_length(users: int, eta: float) -> int:
    """The columns of a block: the least b of the form j n + 1, just above a step of the threshold, with a small tail.

    >>> block_length(10, 0.05)
    341
    """
    _check(users, eta)
    if users == 2:
        return 1  # both users sit at an end: nobody innocent can be accused
    most = hoeffding_length(users, eta)
    require(most <= LARGEST, f"a block of at most {LARGEST} bits", users=users, eta=eta)
    low, high = 0, most // users + 1
    while low < high:
        middle = (low + high) // 2
        enough = _tail(users, middle * users + 1) <= eta / users
        low, high = (low, middle) if enough else (middle + 1, high)
    return low * users + 1


def _tail(users: int, block: int) -> float:
    """The largest Pr[2 X - K >= b / n] over K: at K = b, or next to it where that has the parity of the threshold."""
    import numpy as np
    from scipy.stats import hypergeom

    ones = np.arange(max(0, block - 1), block + 2)
    least = -(-(ones * users + block) // (2 * users))  # the least X with (2 X - K) n >= b
    return float(hypergeom.sf(least - 1, 2 * block, ones, block).max())


def _check(users: int, eta: float) -> None:
    require(isinstance(users, int) and not isinstance(users, bool) and users >= 2, "users >= 2", users=users)
    require(0 < eta < 1, "0 < eta < 1", eta=eta)
