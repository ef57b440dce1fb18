"""Events that tell two samples of outputs apart, learnt from data.

Each view of the outputs is cut into cells.  One part of the sample orders the cells by
their estimated likelihood ratio; a second part picks, among the upper sets of that
order, the half-lines and the single cells, the event that promises the largest
log-ratio.  A third part, never seen here, tests it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.attacks.trained import classifiers
from discreet.attacks.views import View, views

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.attacks.views import Array, Feature

    Floats = npt.NDArray[np.float64]
    Counts = npt.NDArray[np.int64]

CELLS = 256  # the most cells a view is cut into
CAUTION = 3.0  # standard deviations held back while choosing, so that luck is not chosen
SHRINKAGE = 5  # imaginary outputs in every cell of a coordinate, so that rare cells weigh little


@dataclass(frozen=True, slots=True, eq=False)
class LearntEvent:
    """A set of outputs: those whose feature falls into the chosen cells.

    `swapped` says which input makes it likelier: False the first, True the second.
    """

    name: str
    swapped: bool
    feature: Feature
    edges: Array  # ascending; cell i holds the values in [edges[i], edges[i + 1])
    chosen: npt.NDArray[np.bool_]  # (edges + 1,)

    def holds(self, outputs: Array) -> npt.NDArray[np.bool_]:
        """Which outputs lie in the event."""
        return self.chosen[_cell(self.edges, self.feature(outputs))]

    def __str__(self) -> str:
        return f"{self.name}, likelier under the {'second' if self.swapped else 'first'} input"

    __repr__ = __str__


def _cell(edges: Array, values: Array) -> Counts:
    """The number of edges at or below each value."""
    import numpy as np

    return np.searchsorted(edges, values, side="right")


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayes:
    """The sum over coordinates of learnt log-ratios, rounded: the likelihood ratio when they are independent."""

    edges: tuple[Array, ...]
    scores: tuple[Floats, ...]

    @classmethod
    def learn(cls, first: Array, second: Array, *, cells: int) -> NaiveBayes:
        """Log-ratios of each coordinate's cells, estimated from the two samples."""
        edges = tuple(cut(first[:, i], second[:, i], cells=cells) for i in range(first.shape[1]))
        scores = []
        for i, edge in enumerate(edges):
            k, m = (_histogram(edge, y[:, i]) for y in (first, second))
            scores.append(_log_ratio(k + SHRINKAGE, m + SHRINKAGE, len(first), len(second)))
        return cls(edges, tuple(scores))

    def __call__(self, outputs: Array) -> Array:
        import numpy as np

        total = np.zeros(len(outputs))
        for i, (edges, scores) in enumerate(zip(self.edges, self.scores, strict=True)):
            total += scores[_cell(edges, outputs[:, i])]
        return np.round(total, 2)


def cut(first: Array, second: Array, *, ordered: bool = True, cells: int = CELLS) -> Array:
    """Edges of about `cells` cells: one a value when there are few; else equally full, or the commonest values."""
    import numpy as np

    pooled = np.concatenate([first, second])
    values, times = np.unique(pooled, return_counts=True)
    if len(values) <= cells:
        return values
    if ordered:
        return np.unique(np.sort(pooled)[np.linspace(0, len(pooled) - 1, cells).astype(int)])
    common = values[np.argsort(-times, kind="stable")[:cells]]
    return np.unique(np.concatenate([common, common + 1]))  # the cells between them hold the rest


def _histogram(edges: Array, values: Array) -> Counts:
    import numpy as np

    return np.bincount(_cell(edges, values), minlength=len(edges) + 1)


def _log_ratio(k: Counts, m: Counts, first: int, second: int) -> Floats:
    import numpy as np

    return np.log((k + 0.5) / (first + 1)) - np.log((m + 0.5) / (second + 1))


def learn(order: Sequence[Array], choose: Sequence[Array], *, delta: float, ordered: bool = True) -> LearntEvent:
    """The best event: cells ordered on the first pair of samples, the set chosen on the second pair."""
    ways = views(order[0], ordered=ordered)
    if order[0].ndim == 2:
        for cells in (8, max(8, math.isqrt(len(order[0])) // 4)):  # few when leaks are faint, many when they are sharp
            ways.append(View("likelihood ratio", NaiveBayes.learn(order[0], order[1], cells=cells), learnt=True))
        for name, score in classifiers(order[0], order[1]):  # what entries say together
            ways.append(View(name, score, learnt=True))
    candidates = (found for view in ways for found in _candidates(view, order, choose, delta))
    return max(candidates, key=lambda found: found[0])[1]


def _candidates(
    view: View, order: Sequence[Array], choose: Sequence[Array], delta: float
) -> Iterator[tuple[float, LearntEvent]]:
    """For each kind of event and each direction, the most promising one."""
    import numpy as np

    seen = [view.feature(y) for y in (*order, *choose)]
    edges = cut(seen[0], seen[1], ordered=view.ordered)
    counts = [_histogram(edges, y) for y in seen]
    sizes = [len(y) for y in seen]
    by_ratio = np.argsort(-_log_ratio(counts[0], counts[1], sizes[0], sizes[1]), kind="stable")
    line = np.arange(len(edges) + 1)
    for swapped in (False, True):
        i, j = (1, 0) if swapped else (0, 1)
        fresh = counts[2 + i], counts[2 + j], sizes[2 + i], sizes[2 + j]  # did not make the order
        whole = counts[i] + fresh[0], counts[j] + fresh[1], sizes[i] + fresh[2], sizes[j] + fresh[3]
        if view.learnt:
            whole = fresh  # the view itself was made from the first pair
        nested = [("upper set", by_ratio[::-1] if swapped else by_ratio, fresh)]
        if view.ordered:
            nested += [("at most", line, whole), ("at least", line[::-1], whole)]
        for kind, ranks, (k, m, n_first, n_second) in nested:
            promises = promise(np.cumsum(k[ranks]), np.cumsum(m[ranks]), n_first, n_second, delta)
            at = int(np.argmax(promises))
            chosen = np.isin(line, ranks[: at + 1])
            yield float(promises[at]), _event(view, kind, edges, chosen, swapped=swapped)
        promises = promise(*whole, delta)
        at = int(np.argmax(promises))
        yield float(promises[at]), _event(view, "cell", edges, line == at, swapped=swapped)


def promise(k: Counts, m: Counts, n_first: int, n_second: int, delta: float) -> Floats:
    """ln((p - delta) / q) less `CAUTION` standard deviations, estimated from counts."""
    import numpy as np

    p, q = k / n_first, (m + 1) / (n_second + 1)  # + 1: an event never seen may still happen
    excess = p - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(p * (1 - p) / n_first) / excess + np.sqrt(np.maximum(0, 1 - q) / (q * n_second))
        value = np.log(excess / q) - CAUTION * spread
    return np.where((excess > 0) & np.isfinite(value), value, -np.inf)


def _event(view: View, kind: str, edges: Array, chosen: npt.NDArray[np.bool_], *, swapped: bool) -> LearntEvent:
    return LearntEvent(f"{view.name} {_say(kind, edges, chosen)}", swapped, view.feature, edges, chosen)


def _say(kind: str, edges: Array, chosen: npt.NDArray[np.bool_]) -> str:
    import numpy as np

    if kind == "at least" and not chosen[0]:
        return f">= {edges[int(np.argmax(chosen)) - 1]}"
    if kind == "at most" and not chosen[-1]:
        return f"< {edges[int(np.argmin(chosen)) - 1]}"
    cells = [str(edges[i - 1]) for i in np.flatnonzero(chosen) if i > 0]
    return f"in the cells of {{{', '.join(cells[:4])}{', ...' if len(cells) > 4 else ''}}}"
