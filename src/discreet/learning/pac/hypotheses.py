"""Classes of hypotheses, counted: how many rows each hypothesis gets wrong.

A class numbers its hypotheses 0 .. size - 1 and counts errors block by block, so that a class of 10^8 never lies in
memory.  A hypothesis looks at one row at a time: then one row more or less moves every count of errors by at most 1,
and all of them the same way, which is all that the privacy of the learners rests on.  A function that looks at the
other rows (a rank, a mean of the column) is no hypothesis, and no theorem here covers it.

`Thresholds` has h_t(x) = [x >= t] for t = 0 .. points.  Between two occupied points all thresholds err equally, so
its counts come in runs as well, one more than there are distinct rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Int64s = npt.NDArray[np.int64]

Hypothesis = Callable[[Any], Any]  # rows -> labels, one for each row
LARGEST = 1 << 62  # hypotheses in a class
EXACT = 1 << 53  # integers up to here are exact in a float64


class Runs(NamedTuple):
    """Consecutive hypotheses with equally many errors: where each run starts, how long it is, its errors."""

    starts: Int64s
    widths: Int64s
    errors: Int64s


class HypothesisClass(Protocol):
    """What a learner needs of a class: implement these three, and one row must move each count by at most 1.

    >>> from discreet.learning import Conjunctions
    >>> Conjunctions(3).size, Conjunctions(3).hypothesis(0) is not None
    (27, True)
    """

    @property
    def size(self) -> int:
        """How many hypotheses there are."""
        ...

    def hypothesis(self, index: int) -> Hypothesis:
        """One of them, as a function from rows to labels."""
        ...

    def errors(self, x: Array, y: Array, start: int, stop: int, *, weights: Int64s | None = None) -> Int64s:
        """The errors of the hypotheses start .. stop - 1 on rows with labels, each row counted `weights` times."""
        ...


@runtime_checkable
class RunsOfErrors(Protocol):
    """A class that can list its errors as runs, and need not be streamed."""

    def runs(self, x: Array, y: Array) -> Runs:
        """All runs, in the order of the hypotheses."""
        ...


def array_of(data: object) -> Array:
    """Data as an array.  Its dtype is public, and what a dtype refuses is refused whatever the rows hold.

    A list has no dtype, and the one it gets is read off its values: pass arrays where a failure could be seen.  An
    empty list gets whole numbers.

    >>> array_of([]).dtype.kind, array_of([True]).dtype.kind
    ('i', 'b')
    """
    import numpy as np

    try:
        found = np.asarray(data)
    except (TypeError, ValueError):  # lists of unequal lengths: its message tells how many there are
        found = None
    if found is None:
        raise ParameterError("need arrays, or lists of equal lengths")
    return found if found.size or hasattr(data, "dtype") else found.astype(np.int64)


def labelled(x: object, y: object, *, n: int | None) -> tuple[Array, Array]:
    """Rows and labels as arrays, as many of one as of the other; n of them where n is public.

    >>> rows, labels = labelled([3, 1, 2], [True, False, True], n=3)
    >>> labels.tolist()
    [True, False, True]
    """
    rows, labels = array_of(x), array_of(y)
    if rows.ndim == 0 or labels.ndim != 1 or len(rows) != len(labels):
        raise ParameterError("need an array of rows and an array of labels, one label for each row")
    if n is not None and len(rows) != n:
        raise ParameterError(f"need n rows, as n is public, got n={n} and another number of rows")
    return rows, labels


def public_rows(n: int | None) -> None:
    """Check a number of rows that is declared public; None means that it is private."""
    whole = isinstance(n, int) and not isinstance(n, bool)
    require(n is None or (whole and n >= 1), "a whole number n >= 1 of rows, or None where it is private", n=n)


def truths(y: Array) -> npt.NDArray[np.bool_]:
    """Labels as truth values: everything but 0 and False is true.  Floats are refused, by their dtype."""
    if y.dtype.kind not in "biu":
        raise ParameterError(f"need labels that are truth values or whole numbers, got kind={y.dtype.kind!r}")
    return y != 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A class given as a sequence of functions, each called once on the array of rows.

    >>> import numpy as np
    >>> Listed([lambda x: x >= 2, lambda x: x >= 3]).errors(np.array([1, 2, 3]), np.array([False, True, True]), 0, 2)
    array([0, 1])
    """

    functions: Sequence[Hypothesis]

    def __post_init__(self) -> None:
        given = self.functions
        require(len(given) >= 1, "at least one hypothesis", hypotheses=len(given))
        require(all(callable(function) for function in given), "hypotheses that are functions of rows")

    @property
    def size(self) -> int:
        return len(self.functions)

    def hypothesis(self, index: int) -> Hypothesis:
        """The function itself."""
        return self.functions[index]

    def errors(self, x: Array, y: Array, start: int, stop: int, *, weights: Int64s | None = None) -> Int64s:
        """Wrong labels of functions start .. stop - 1."""
        import numpy as np

        made = np.empty(stop - start, dtype=np.int64)
        for place in range(start, stop):
            wrong = self.wrong(x, y, place)
            made[place - start] = wrong.sum() if weights is None else weights[wrong].sum()
        return made

    def wrong(self, x: Array, y: Array, index: int) -> npt.NDArray[np.bool_]:
        """Where one function errs."""
        import numpy as np

        said = np.asarray(self.functions[index](x))
        if said.shape != y.shape:
            raise ParameterError(f"need hypotheses that return one label for each row; number {index} does not")
        return np.asarray(said != y, dtype=bool)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The hypothesis x >= at.

    >>> Threshold(3)([2, 3, 4]).tolist()
    [False, True, True]
    """

    at: int

    def __call__(self, x: object) -> npt.NDArray[np.bool_]:
        import numpy as np

        return np.asarray(x) >= self.at


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The points + 1 thresholds on 0 .. points - 1; rows outside count at the nearest end.

    Rows are whole numbers by their dtype, which is public: an array of floats is refused whatever it holds.

    >>> import numpy as np
    >>> thresholds = Thresholds(4)
    >>> thresholds.size, thresholds.errors(np.array([0, 2, 3]), np.array([0, 0, 1]), 0, 5).tolist()
    (5, [2, 1, 1, 0, 1])
    >>> thresholds.runs(np.array([0, 2, 3]), np.array([0, 0, 1])).errors.tolist()
    [2, 1, 0, 1]
    """

    points: int

    def __post_init__(self) -> None:
        whole = isinstance(self.points, int) and not isinstance(self.points, bool)
        require(whole and 1 <= self.points < LARGEST, "a whole number of points, from 1 to 2^62", points=self.points)

    @property
    def size(self) -> int:
        return self.points + 1

    def hypothesis(self, index: int) -> Threshold:
        """x >= index."""
        return Threshold(index)

    def _codes(self, x: Array) -> Int64s:
        import numpy as np

        if x.ndim != 1 or x.dtype.kind not in "biu":
            raise ParameterError(f"need one whole number a row, got kind={x.dtype.kind!r} with {x.ndim} dimensions")
        if x.dtype.kind == "u":  # before the cast, which would wrap
            x = np.minimum(x, x.dtype.type(min(self.points - 1, np.iinfo(x.dtype).max)))
        return np.clip(x.astype(np.int64), 0, self.points - 1)

    def errors(self, x: Array, y: Array, start: int, stop: int, *, weights: Int64s | None = None) -> Int64s:
        """Cumulative sums: passing a row labelled 1 adds an error, passing one labelled 0 takes one away."""
        import numpy as np

        codes, ones = self._codes(x), truths(y)
        each = np.ones(len(codes), dtype=np.int64) if weights is None else weights
        signed = np.where(ones, each, -each)
        made = np.zeros(stop - start, dtype=np.int64)
        made[0] = each[~ones].sum() + signed[codes < start].sum()
        inside = (codes >= start) & (codes < stop - 1)
        made[1:] = sums(codes[inside] - start, signed[inside], stop - start - 1)
        return np.cumsum(made)

    def runs(self, x: Array, y: Array) -> Runs:
        """One run up to each occupied point, and one after the last."""
        import numpy as np

        codes, ones = self._codes(x), truths(y)
        occupied, place = np.unique(codes, return_inverse=True)
        step = sums(place, np.where(ones, 1, -1), len(occupied))
        starts = np.concatenate([np.zeros(1, dtype=np.int64), occupied + 1])
        widths = np.diff(starts, append=self.size)
        return Runs(starts, widths, np.cumsum(np.concatenate([[(~ones).sum()], step])))


def sums(places: Int64s, values: Int64s, size: int) -> Int64s:
    """The sum of the values at each place, exactly.

    >>> import numpy as np
    >>> sums(np.array([0, 2, 2]), np.array([5, -1, 3]), 4)
    array([5, 0, 2, 0])
    """
    import numpy as np

    if len(values) and int(np.abs(values).max()) * len(values) >= EXACT:
        made = np.zeros(size, dtype=np.int64)
        np.add.at(made, places, values)
        return made
    return np.bincount(places, weights=values, minlength=size).astype(np.int64)
