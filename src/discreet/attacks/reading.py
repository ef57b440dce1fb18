"""How outputs are read as rows of numbers: each by one function, fixed before the tested outputs are looked at.

Any function of an output is post-processing, so that reading can hide a leak and never invent one, provided that the
function was chosen without the outputs that test the event.  It is chosen on the first part of the sample:

    arrays of numbers of one shape    as they are; whole numbers as integers
    anything else                     its leaves: entries of lists, fields, values of a dictionary, parts of a fraction

A leaf is two numbers, (0, x) where it is a number and (code, 0) where it is missing, a word, None or not finite.  Words
are numbered as they first appear, on that part only; a word or a place not seen there is read as nothing, and
`unread` says in how many tested outputs that happened.  An exception is an output: its type, and what it says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]  # of integers or floats
    Bools = npt.NDArray[np.bool_]

Path = tuple[str, ...]
Outputs = Any  # a sequence of anything, or an array whose rows are the outputs
EXACT = 2**53  # integers below it are floats
MOST = 512  # places of a leaf that are read, where outputs differ in them
ORDERED = 8  # keys of a dictionary whose order is read
MISSING, NOT_A_NUMBER, INFINITE, LOW, NEGATIVE_ZERO, WORDS = 1, 2, 3, 4, 5, 6  # codes of a leaf; words from WORDS on
UNSEEN = -1


@dataclass(frozen=True, slots=True)
class Raised:
    """A run that failed: what is seen of it is the type of the exception and what it says."""

    kind: str
    says: str


@dataclass(frozen=True, slots=True)
class Word:
    """A leaf that is no number."""

    key: object


class Reading(Protocol):
    """A function from outputs to numbers, and which outputs it could read whole."""

    @property
    def ordered(self) -> bool:
        """Whether the size of what is read means something."""
        ...

    def __call__(self, outputs: Outputs, /) -> tuple[Array, Bools]:
        """Numbers, one row an output."""
        ...


def learn_reading(training: Sequence[Outputs]) -> Reading:
    """How to read outputs of which these were seen.

    >>> read = learn_reading([[("a", 3), ("b", 4)], [("a", 5), ("a", 4)]])
    >>> read([("b", 7), ("c", None)])  # codes of the words, and the numbers; "c" and None were not seen before
    (array([[ 7.,  7.],
           [-1.,  0.]]), array([ True, False]))
    """
    return _numbers(training) or _leaves(training)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Outputs that are arrays of numbers of one shape; others are read as zeros."""

    shape: tuple[int, ...]
    whole: bool  # all seen were whole numbers
    ordered: bool = True

    def __call__(self, outputs: Outputs, /) -> tuple[Array, Bools]:
        import numpy as np

        given = isinstance(outputs, np.ndarray)
        array = _array(outputs)
        exact = given or array is None or not (self.whole and array.dtype.kind == "f")  # one float makes all floats
        if array is not None and exact and array.shape[1:] == self.shape:
            return self._read(array)
        rows = [self._one(output) for output in outputs]
        return np.concatenate([row for row, _ in rows]), np.concatenate([known for _, known in rows])

    def _one(self, output: object) -> tuple[Array, Bools]:
        import numpy as np

        array = _array([output])
        if array is not None and array.shape[1:] == self.shape:
            return self._read(array)
        kind = np.int64 if self.whole else np.float64
        width = (math.prod(self.shape),) if self.shape else ()
        return np.zeros((1, *width), dtype=kind), np.zeros(1, dtype=bool)

    def _read(self, array: Array) -> tuple[Array, Bools]:
        import numpy as np

        flat = array.reshape((len(array), -1) if self.shape else -1)
        if not self.whole:
            return flat.astype(np.float64, copy=False), np.ones(len(flat), dtype=bool)
        if flat.dtype.kind != "f":
            return flat.astype(np.int64, copy=False), np.ones(len(flat), dtype=bool)
        fits = _whole(flat)
        return np.where(fits, flat, 0).astype(np.int64), np.asarray(fits.reshape(len(flat), -1).all(axis=1))


def _numbers(training: Sequence[Outputs]) -> Numbers | None:
    arrays = [_array(side) for side in training]
    if any(a is None for a in arrays) or arrays[0].shape[1:] != arrays[1].shape[1:]:  # type: ignore[union-attr]
        return None
    if 0 in arrays[0].shape[1:]:  # type: ignore[union-attr] - empty so far, and so no numbers yet
        return None
    whole = all(a.dtype.kind != "f" or bool(_whole(a).all()) for a in arrays if a is not None)
    return Numbers(arrays[0].shape[1:], whole)  # type: ignore[union-attr]


def _array(outputs: Outputs) -> Array | None:
    """Numbers of one shape as an array; None of anything else."""
    import numpy as np

    try:
        array = np.asarray(outputs)
    except (ValueError, OverflowError):  # ragged
        return None
    if array.dtype == object and all(type(y) is int for y in array.flat):  # as arrays of large integers are
        try:
            array = array.astype(np.int64)
        except OverflowError:
            return None
    return array if array.dtype.kind in "biuf" else None


def _whole(array: Array) -> Bools:
    """Which floats are integers of 64 bits; a negative zero is none."""
    import numpy as np

    fits = (np.floor(array) == array) & (np.abs(array) < 2.0**63)
    return fits & ~((array == 0) & np.signbit(array))


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Outputs by their leaves: a code and a number for each place, those that were not the same all the time."""

    words: dict[Path, dict[object, int]]  # of every place that is read
    columns: tuple[int, ...]  # of (code, number, code, number, ...)
    ordered: bool

    def __call__(self, outputs: Outputs, /) -> tuple[Array, Bools]:
        import numpy as np

        rows = np.zeros((len(outputs), 2 * len(self.words)))
        rows[:, 0::2] = MISSING
        known = np.ones(len(outputs), dtype=bool)
        places = {path: 2 * place for place, path in enumerate(self.words)}
        for row, output in enumerate(outputs):
            for path, leaf in leaves(output):
                place = places.get(path)
                if place is None:
                    known[row] = False
                    continue
                code, number = _coded(leaf, self.words[path])
                rows[row, place], rows[row, place + 1] = code, number
                known[row] &= code != UNSEEN
        if not self.columns:
            return np.zeros(len(outputs)), known
        kept = rows[:, list(self.columns)]
        return (kept[:, 0] if self.ordered else kept[:, 0].astype(np.int64)) if len(self.columns) == 1 else kept, known


def _leaves(training: Sequence[Outputs]) -> Leaves:
    """Places that are there often enough to say something, and their words in order of appearance."""
    import numpy as np

    seen = [dict(leaves(output)) for side in training for output in side]
    often = Counter(path for found in seen for path in found)
    if min(often.values(), default=0) < len(seen):  # else all outputs have the same places, and all are read
        often = Counter({path: times for path, times in often.items() if times >= 2 + len(seen) // 1000})
        often = Counter(dict(often.most_common(MOST)))
    words: dict[Path, dict[object, int]] = {path: {} for path, _ in often.most_common()}
    for found in seen:
        for path, leaf in found.items():
            if path in words and isinstance(leaf, Word):
                words[path].setdefault(leaf.key, len(words[path]))
    every = Leaves(words, tuple(range(2 * len(words))), ordered=True)
    rows = every([output for side in training for output in side])[0].reshape(len(seen), -1)
    moving = tuple(int(i) for i in np.flatnonzero((rows != rows[:1]).any(axis=0))) if len(words) else ()
    return Leaves(words, moving, ordered=not (len(moving) == 1 and moving[0] % 2 == 0))


def _coded(leaf: Word | float, words: dict[object, int]) -> tuple[int, float]:
    """(0, x) of a number, (code, 0) of anything else."""
    if isinstance(leaf, Word):
        place = words.get(leaf.key, UNSEEN)
        return (UNSEEN if place == UNSEEN else WORDS + place), 0.0
    if math.isnan(leaf):
        return NOT_A_NUMBER, 0.0
    if math.isinf(leaf):
        return (INFINITE if leaf > 0 else LOW), 0.0
    if leaf == 0 and math.copysign(1, leaf) < 0:
        return NEGATIVE_ZERO, 0.0
    return 0, leaf


def leaves(output: object, path: Path = ()) -> Iterator[tuple[Path, Word | float]]:
    """Every number and every word of an output, with its place.

    >>> [leaf for _, leaf in leaves(("total", 1.5))]
    [2.0, Word(key='total'), 1.5]
    """
    import numpy as np

    if isinstance(output, np.generic):
        output = output.item()
    match output:
        case Enum() | None:
            yield path, Word(output)
        case bool() | int():
            yield from _integer(int(output), path)
        case float():
            yield path, output
        case Fraction():
            yield path, _float(output)
            yield from _integer(output.numerator, (*path, "numerator"))
            yield from _integer(output.denominator, (*path, "denominator"))
        case Decimal():
            yield from _decimal(output, path)
        case complex():
            yield from leaves((output.real, output.imag), path)
        case str():
            yield from _text(output, path)
        case bytes() | bytearray() | np.ndarray():
            yield from _entries(enumerate(output.tolist() if isinstance(output, np.ndarray) else output), path)
        case list() | tuple():
            yield from _entries(enumerate(output), path)
        case set() | frozenset():
            yield from _entries(((repr(part), 1) for part in output), path)
        case dict():
            if len(output) <= ORDERED:
                yield (*path, "order"), Word(tuple(map(repr, output)))
            yield from _entries(((repr(key), part) for key, part in output.items()), path)
        case _ if is_dataclass(output) and not isinstance(output, type):
            yield from _entries(((each.name, getattr(output, each.name)) for each in fields(output)), path)
        case _:
            yield path, Word(_key(output))


def _entries(parts: Iterable[tuple[object, object]], path: Path) -> Iterator[tuple[Path, Word | float]]:
    inner = [found for key, part in parts for found in [(str(key), part)]]
    yield (*path, "size"), float(len(inner))
    for key, part in inner:
        yield from leaves(part, (*path, f"[{key}]"))


def _integer(number: int, path: Path) -> Iterator[tuple[Path, float]]:
    yield path, _float(number)
    if abs(number) >= EXACT:  # what a float forgets
        yield (*path, "low bits"), float(number % 2**40)


def _decimal(number: Decimal, path: Path) -> Iterator[tuple[Path, Word | float]]:
    if not number.is_finite():
        yield path, Word(str(number))
        return
    _, digits, exponent = number.as_tuple()
    yield path, _float(number)
    yield from _integer(int("".join(map(str, digits))), (*path, "digits"))
    yield (*path, "exponent"), float(exponent)


def _text(text: str, path: Path) -> Iterator[tuple[Path, Word | float]]:
    """A number that is written out, or a word."""
    try:
        number = float(text)
    except ValueError:
        yield path, Word(text)
        return
    yield path, number
    yield (*path, "length"), float(len(text))


def _float(number: int | Fraction | Decimal) -> float:
    """The nearest float; infinite beyond them."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _key(output: object) -> object:
    """What an object is known by: itself, or else how it prints."""
    try:
        hash(output)
    except TypeError:
        return repr(output)
    return output
