"""Learning parities in polynomial time, which no learner from statistical queries can do.

Theorem (Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2008; exact constants ours).  Answer nothing with
probability `abort`; else keep each row with probability `keep` and answer a uniform solution of the kept equations
h . x = y over GF(2), or nothing if they contradict one another.  This is epsilon-DP, and no less, for

    keep = 1 - e^-epsilon       one row added or removed, or one row replaced by a null row (all zero)
    keep = tanh(epsilon / 2)    one row replaced
    abort >= keep / (e^epsilon - 1 + keep)      in both cases: 1 / (1 + e^epsilon), (1 - keep) / (3 - keep).

On rows whose labels are a parity, an answer errs on more than a fraction alpha of the distribution with probability
at most b = 2^d (1 - keep alpha)^rows.  On disjoint blocks the answers of all blocks together are still epsilon-DP, and
the most frequent one, the first of these, fails with probability at most abort^blocks + b + C(blocks, 2) b^2 / 2^d.
Blocks are by position where n is public; where it is private every row joins a block by a die of its own.
Proof: docs/theory/parity_learning.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import bernoulli, uniform_below
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pac.bit_rows import BitRows
from discreet.learning.pac.boolean_classes import Parity
from discreet.learning.pac.exponential import fitted
from discreet.learning.pac.hypotheses import labelled, public_rows, truths
from discreet.learning.pac.parity_elimination import uniform_solution
from discreet.privacy.enclosure import LARGEST, expm1_bounds
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP, Relation
from discreet.privacy.neighbours import AddRemove, Neighbours, NullRow, Replace
from discreet.privacy.number import Number, chance, down, exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Int64s = npt.NDArray[np.int64]


@lru_cache(maxsize=256)
def _coins(epsilon: Fraction, relation: type[Neighbours]) -> tuple[Fraction, Fraction]:
    """`keep`, rounded down, and the `abort` that goes with it, rounded up."""
    least = expm1_bounds(epsilon)[0]  # of e^epsilon - 1
    keep = exact(down(least / (least + (2 if relation is Replace else 1))))
    return keep, exact(up(keep / (least + keep)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ParityLearner:
    """Find the columns whose sum modulo 2 is the label.

    `fit` sets `parity_`, a vector of zeros and ones, or None where no block gave an answer; `answers_` has the answer
    of every block.  Without `blocks` there are enough of them that all fail with probability beta / 2 at most.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> rng = np.random.default_rng(0)
    >>> secret, bits = rng.integers(0, 2, 40), rng.integers(0, 2, (4000, 40))
    >>> learner = ParityLearner(epsilon=1.0).fit(bits, bits @ secret % 2, rng=SeededRandom(1))
    >>> bool((learner.parity_ == secret).all())
    True
    >>> learner.privacy(), learner.blocks, round(float(learner.keep), 4), round(float(learner.abort), 4)
    (PureDP(epsilon=1.0), 12, 0.6321, 0.2689)
    """

    epsilon: Number
    blocks: int | None = None
    beta: float = 1e-6
    n: int | None = None
    neighbours: Relation = None
    parity_: Int64s | None = field(init=False, repr=False)
    answers_: list[Int64s | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = exact(self.epsilon)
        require(0 < epsilon <= LARGEST, f"0 < epsilon <= {LARGEST}", epsilon=self.epsilon)
        chance(self.beta)
        public_rows(self.n)
        allowed = (None, AddRemove) if self.n is None else (None, Replace, NullRow)
        if self.neighbours not in allowed:
            raise ParameterError("need n=None for AddRemove, and a public n for Replace or NullRow")
        whole = isinstance(self.blocks, int) and not isinstance(self.blocks, bool)
        require(self.blocks is None or (whole and self.blocks >= 1), "blocks >= 1", blocks=self.blocks)
        if self.blocks is None:
            require(self.keep > 0, "an epsilon that leaves rows to use", epsilon=self.epsilon)
            enough = math.ceil(math.log(float(self.beta) / 2) / math.log(float(self.abort)))
            object.__setattr__(self, "blocks", max(1, enough))

    @property
    def relation(self) -> type[Neighbours]:
        """One row added or removed, unless n is public: then one row replaced, or nulled."""
        return self.neighbours or (AddRemove if self.n is None else Replace)

    @property
    def keep(self) -> Fraction:
        """The probability that a row is used: the largest that is private, rounded down."""
        return _coins(exact(self.epsilon), self.relation)[0]

    @property
    def abort(self) -> Fraction:
        """The probability that a block answers nothing whatever its rows: the least that is private, rounded up."""
        return _coins(exact(self.epsilon), self.relation)[1]

    def fit(self, bits: object, labels: object, *, rng: RandomSource | None = None) -> Self:
        """Learn from rows of bits (an array of 0 and 1, or `BitRows`) with labels; `rng` is for tests."""
        refuse_tools(self)
        random = source(rng)
        rows = bits if isinstance(bits, BitRows) else BitRows.pack(bits)
        ones = truths(labelled(rows.words, labels, n=self.n)[1])
        answers = [self._answer(rows, ones, block, random) for block in self._blocks(len(rows), random)]
        found = Counter(answer.tobytes() for answer in answers if answer is not None)
        best = max(found, key=lambda answer: found[answer], default=None)
        first = next((answer for answer in answers if answer is not None and answer.tobytes() == best), None)
        object.__setattr__(self, "answers_", answers)
        object.__setattr__(self, "parity_", first)
        return self

    def _blocks(self, rows: int, rng: RandomSource) -> list[Int64s]:
        """The rows of each block: by position where n is public, else each row by a die of its own."""
        import numpy as np

        assert self.blocks is not None  # set at construction
        if self.relation is not AddRemove:
            return np.array_split(np.arange(rows), self.blocks)
        joined = np.asarray(uniform_below(self.blocks, shape=(rows,), rng=rng))
        return np.split(np.argsort(joined, kind="stable"), np.cumsum(np.bincount(joined, minlength=self.blocks))[:-1])

    def _answer(self, rows: BitRows, labels: Bools, block: Int64s, rng: RandomSource) -> Int64s | None:
        """Abort, or keep some rows and solve."""
        import numpy as np

        if bernoulli(self.abort, rng=rng):
            return None
        kept = block[np.asarray(bernoulli(self.keep, shape=block.shape, rng=rng))]
        return uniform_solution(rows.system(kept, labels), rows.d, rng)

    def predict(self, bits: object) -> Bools:
        """The parity of each row; refused where no block gave an answer."""
        parity = fitted(self, "parity_")
        if parity is None:
            raise UnsupportedError(
                "every block answered nothing, so there is no parity to predict with; use more blocks"
            )
        return Parity(tuple(parity.tolist()))(bits)

    def privacy(self) -> PureDP:
        """epsilon, for all blocks together."""
        return PureDP(self.epsilon, neighbours=self.relation)

    def accuracy(self, beta: float = 0.05, *, d: int, n: int | None = None) -> float:
        """The alpha with Pr[no answer, or one that errs on more than alpha of the distribution] <= beta.

        For n independent rows of d bits whose labels are a parity.

        >>> round(ParityLearner(epsilon=1.0, blocks=4).accuracy(0.05, d=40, n=4000), 4)
        0.0488
        """
        rows = self.n if n is None else n
        require(rows is not None and rows >= 1, "n >= 1, the number of rows that the error is for", n=rows)
        require(d >= 1, "d >= 1", d=d)
        assert rows is not None
        assert self.blocks is not None
        left = float(exact(beta)) - float(self.abort) ** self.blocks
        require(0 < left < 1, "abort^blocks < beta < 1, or no answer is likelier than beta", beta=beta)
        twice = math.ldexp(math.comb(self.blocks, 2), -d)  # of b^2: a bad answer that two blocks give
        bad = 2 * left / (1 + math.sqrt(1 + 4 * twice * left))  # b + twice b^2 = left
        each = rows / self.blocks if self.relation is AddRemove else max(1, rows // self.blocks)
        return (d * math.log(2) - math.log(bad)) / (float(self.keep) * each)

    def event(self) -> PureEvent:
        """What ran: some epsilon-DP mechanism."""
        return PureEvent(epsilon=self.epsilon)
