"""What can be read off released prefixes: a distribution function, ranges and quantiles, with their error bars.

Theorem.  Let all prefixes be within alpha of the truth at once.  Then (1) so are their monotone versions, the mean of
the largest so far and the least to come; (2) the true quantile p, the least value with at least p n rows up to it, lies
between the least value whose prefix plus alpha reaches p (N - alpha) and the least whose prefix minus alpha reaches
p (N + alpha), where N is the last prefix, the estimate of n; where n is public, between those for p n.
Proof: docs/theory/prefix.md.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Column, Value
from discreet.errors import ParameterError, require
from discreet.privacy.guarantee import Guarantee
from discreet.queries.workload import Workload
from discreet.release.errors import Errors
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.structured.prefixes.prefix_tree import PrefixTree

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bar:
    """An estimate, and an interval that holds the truth but with the probability asked for."""

    value: Any
    low: Any
    high: Any


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class PrefixRelease:
    """Released prefixes: `answers[i]` estimates how many rows are at most the i-th value.  All may be published."""

    release: Release
    mechanism: PrefixTree

    @property
    def answers(self) -> Floats:
        """The unbiased prefixes, in counts."""
        return self.release.answers

    @property
    def workload(self) -> Workload:
        """The thresholds that were answered."""
        return self.release.workload

    @property
    def errors(self) -> Errors:
        """How wrong they may be."""
        return self.release.errors

    @property
    def guarantee(self) -> Guarantee:
        """What was spent."""
        return self.release.guarantee

    def privacy(self) -> Guarantee:
        """What was spent."""
        return self.release.guarantee

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that no prefix is off by more than alpha, but with probability beta."""
        return self.errors.accuracy(beta)

    @property
    def monotone(self) -> Floats:
        """The prefixes made non-decreasing: no farther from the truth than the farthest of them was."""
        import numpy as np

        upper = np.maximum.accumulate(self.answers)
        return (upper + np.minimum.accumulate(self.answers[::-1])[::-1]) / 2

    def cdf(self) -> Floats:
        """The estimated distribution function at every value: fractions that never fall, the last of them 1."""
        import numpy as np

        rising = self.monotone
        found = np.clip(rising / max(float(rising[-1]), 1.0), 0.0, 1.0)
        found[-1] = 1.0
        return found

    def range(self, low: Value, high: Value, *, beta: float = 0.05) -> Bar:
        """How many rows have a value from low to high, both included; unbiased, with an interval for it alone."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        before, after = self._search(bisect.bisect_left, low), self._search(bisect.bisect_right, high)
        if before >= after:
            return Bar(0.0, 0.0, 0.0)
        value = float(self.answers[after - 1] - (self.answers[before - 1] if before else 0.0))
        alpha = self.mechanism.range_error(before, after, beta)
        return Bar(value, value - alpha, value + alpha)

    def quantile(self, p: float, *, beta: float = 0.05) -> Bar:
        """The least value with at least the share p of the rows up to it, and an interval for all p at once."""
        require(not isinstance(p, bool) and 0 <= p <= 1, "0 <= p <= 1", p=p)
        alpha, rising = self.accuracy(beta), self.monotone
        n = self.mechanism.n
        least, most = (n, n) if n is not None else (rising[-1] - alpha, rising[-1] + alpha)
        found = (
            self._reached(rising, p * rising[-1]),
            self._reached(rising + alpha, p * max(least, 0.0)),
            self._reached(rising - alpha, p * most),
        )
        return Bar(*(self._value(place) for place in found))

    def _reached(self, rising: Floats, rank: float) -> int:
        import numpy as np

        return min(int(np.searchsorted(rising, rank)), len(rising) - 1)

    @property
    def _column(self) -> Column:
        return next(iter(self.workload.domain.values()))

    def _value(self, place: int) -> Value:
        low, high = self._column.codes
        return None if low + place > high else self._column.decode(low + place)

    def _search(self, find: Callable[..., int], value: Value) -> int:
        low, high = self._column.codes
        try:
            return find(range(high - low + 1), value, key=lambda place: self._column.decode(low + place))
        except TypeError:
            raise ParameterError(f"need a value of the column, got {type(value).__name__}") from None

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"PrefixRelease(answers={len(self.answers)}, {self.guarantee!r})"
