"""One hypothesis of a class, drawn by its errors: Pr[h] proportional to exp(-rate errors(h)), exactly.

Errors are whole numbers from 0 to the number of rows, so a class of any size falls into few levels.  One pass counts
how many hypotheses have each number of errors; the level is drawn by `choose_run`, whose law is exact; the hypothesis
is uniform within its level, and a second pass finds it.  This is the law of adding Gumbel noise to 10^8 scores, with
two draws in place of 10^8.  A class that lists its errors as runs needs no pass at all.
Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import uniform_below
from discreet.hazmat.selection_runs import Runs as Levels
from discreet.hazmat.selection_runs import choose_run
from discreet.learning.pac.hypotheses import HypothesisClass, RunsOfErrors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Int64s = npt.NDArray[np.int64]

BLOCK = 1 << 20  # hypotheses counted at once


def draw_hypothesis(
    hypotheses: HypothesisClass, x: Array, y: Array, rate: Fraction, *, rng: RandomSource | None = None
) -> int:
    """The number of the hypothesis drawn.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.pac.hypotheses import Thresholds
    >>> x = np.arange(1000)
    >>> draw_hypothesis(Thresholds(1000), x, x >= 300, Fraction(10), rng=SeededRandom(1))
    300
    """
    random = source(rng)
    if isinstance(hypotheses, RunsOfErrors):
        return _from_runs(hypotheses, x, y, rate, random)
    if hypotheses.size <= BLOCK:
        errors = hypotheses.errors(x, y, 0, hypotheses.size)
        counts = _counted(errors, len(x))
        level, rank = _level(counts, rate, random)
        return int(_where(errors, level)[rank])
    return _streamed(hypotheses, x, y, rate, random)


def _from_runs(hypotheses: RunsOfErrors, x: Array, y: Array, rate: Fraction, rng: RandomSource) -> int:
    import numpy as np

    starts, widths, errors = hypotheses.runs(x, y)
    counts = np.zeros(len(x) + 1, dtype=np.int64)
    np.add.at(counts, errors, widths)
    level, rank = _level(counts, rate, rng)
    same = np.flatnonzero(errors == level)
    ends = np.cumsum(widths[same])
    place = int(np.searchsorted(ends, rank, side="right"))
    return int(starts[same[place]]) + rank - int(ends[place] - widths[same[place]])


def _streamed(hypotheses: HypothesisClass, x: Array, y: Array, rate: Fraction, rng: RandomSource) -> int:
    import numpy as np

    counts = np.zeros(len(x) + 1, dtype=np.int64)
    for start in range(0, hypotheses.size, BLOCK):
        counts += _counted(hypotheses.errors(x, y, start, min(start + BLOCK, hypotheses.size)), len(x))
    level, rank = _level(counts, rate, rng)
    for start in range(0, hypotheses.size, BLOCK):
        same = _where(hypotheses.errors(x, y, start, min(start + BLOCK, hypotheses.size)), level)
        if rank < same.size:
            return start + int(same[rank])
        rank -= same.size
    raise UnsupportedError("the class counted other errors the second time; errors must be a function of the rows")


def _counted(errors: Int64s, rows: int) -> Int64s:
    """How many hypotheses have 0, 1, .., rows errors."""
    import numpy as np

    if errors.size and not (errors.min() >= 0 and errors.max() <= rows):
        raise UnsupportedError("the class counted more errors than rows, or fewer than none")
    return np.bincount(errors, minlength=rows + 1)


def _where(errors: Int64s, level: int) -> Int64s:
    import numpy as np

    return np.flatnonzero(errors == level)


def _level(counts: Int64s, rate: Fraction, rng: RandomSource) -> tuple[int, int]:
    """A number of errors, and a uniform place among the hypotheses that have it."""
    import numpy as np

    levels = np.flatnonzero(counts)
    widths = counts[levels]
    gaps = levels - levels[0]
    total = sum(widths.tolist())

    def near(reach: int) -> Levels:
        kept = int(np.searchsorted(gaps, reach, side="right"))
        return Levels(gaps[:kept].tolist(), widths[:kept].tolist(), total - sum(widths[:kept].tolist()))

    chosen, _ = choose_run(near, rate, candidates=total, rng=rng)
    return int(levels[chosen]), int(uniform_below(int(widths[chosen]), rng=rng))
