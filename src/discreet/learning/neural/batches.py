"""Which rows a step of training takes: each on its own coin, then in random order.

Law.  Each row draws one of `bands` classes once, uniformly and on its own.  Step t takes every row of class t mod
bands with probability `rate`, on its own, and orders those it took uniformly.  With one more row in the dataset the
others draw as before, and the order of all is that of the others after one of them, uniformly chosen or none, gave
its place to the new row and went to the end.  Why this is the law that the accounting needs:
docs/theory/private_gradients.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import bernoulli, uniform_below
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]


class Batches:
    """The samples of one run over `rows` rows, in turn; each is drawn once.

    >>> batches = Batches(rows=8, rate=1, bands=2)
    >>> first, second = batches.take(0), batches.take(1)
    >>> sorted([*first.tolist(), *second.tolist()])
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    def __init__(self, *, rows: int, rate: Number, bands: int = 1, rng: RandomSource | None = None) -> None:
        import numpy as np

        require(0 < exact(rate) <= 1, "0 < rate <= 1", rate=rate)
        self._rate, self._bands, self._random, self._next = exact(rate), bands, source(rng), 0
        classes = uniform_below(bands, shape=(rows,), rng=rng) if bands > 1 else np.zeros(rows, dtype=np.int64)
        self._members = [np.flatnonzero(classes == each) for each in range(bands)]

    def take(self, step: int) -> Places:
        """The places of the rows of a step, in random order.  A step that was drawn, or passed, is refused."""
        if step < self._next:
            raise UnsupportedError("a sample is drawn once: using it twice would cost more than was accounted for")
        self._next = step + 1
        members = self._members[step % self._bands]
        taken = members[bernoulli(self._rate, shape=(len(members),), rng=self._random)]
        return taken[_order(len(taken), self._random)]


def _order(count: int, random: RandomSource) -> Places:
    """A uniform order, by sorting words; equal words are drawn again."""
    import numpy as np

    while True:
        words = random.words(count)
        order = np.argsort(words)
        if count < 2 or not np.any(np.diff(words[order]) == 0):
            return order
