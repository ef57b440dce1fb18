"""The bytes of reports and of server states: compact, versioned, and refused when they are not what they say.

    bytes    0-1   the letters dL            3-10  the protocol: first bytes of SHA-256 of its name and parameters
             2     version and kind          11-18 how many reports;  then the payload

A report of a protocol with m codes takes ceil(log2 m) bits, packed without gaps; a mask takes one bit for
each value; numbers on a lattice take 32 or 64 bits each.  A state is as many integers as the protocol has
cells, in the least of 1, 2, 4 or 8 bytes that holds them all: it does not grow with the reports beyond that.
Whatever cannot have been written by the same protocol raises `DomainError` and changes nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.errors import DomainError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

MAGIC, VERSION = b"dL", 1
REPORTS, STATE = 0, 1  # kinds
HEADER = struct.Struct("<2sB8sQ")


class Form(Protocol):
    """What one report looks like."""

    @property
    def bits(self) -> int:
        """How many bits one report takes."""
        ...

    def check(self, reports: object) -> Array:
        """The reports as an array, or `DomainError`: reports come from anybody."""
        ...

    def pack(self, reports: Array) -> bytes:
        """The payload of checked reports."""
        ...

    def unpack(self, payload: bytes, count: int) -> Array:
        """Reads `pack` back."""
        ...


def seal(kind: int, protocol: bytes, count: int, payload: bytes) -> bytes:
    """Header and payload."""
    return HEADER.pack(MAGIC, VERSION << 1 | kind, protocol, count) + payload


def opened(data: bytes, *, kind: int, protocol: bytes) -> tuple[int, bytes]:
    """The count and the payload, if the header is that of this protocol.

    >>> opened(seal(REPORTS, b"protocol", 3, b"abc"), kind=REPORTS, protocol=b"another ")
    Traceback (most recent call last):
    discreet.errors.DomainError: these bytes are of another protocol or of other parameters
    """
    if len(data) < HEADER.size:
        raise DomainError("these bytes are too short for local reports")
    magic, version, name, count = HEADER.unpack_from(data)
    if magic != MAGIC or version >> 1 != VERSION:
        raise DomainError("these bytes are not local reports of a known version")
    if version & 1 != kind:
        raise DomainError("reports are read by a protocol, states by a server: these bytes are the other kind")
    if name != protocol:
        raise DomainError("these bytes are of another protocol or of other parameters")
    return count, bytes(data[HEADER.size :])


@dataclass(frozen=True, slots=True)
class Codes:
    """Integers 0 .. limit - 1, one for each report."""

    limit: int

    @property
    def bits(self) -> int:
        """ceil(log2 limit)."""
        return max(1, (self.limit - 1).bit_length())

    def check(self, reports: object) -> Array:
        """A vector of integers below the limit."""
        import numpy as np

        array = np.asarray(reports)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DomainError("reports of this protocol are a vector of integers")
        if array.size and not (array.min() >= 0 and array.max() < self.limit):
            raise DomainError("a report lies outside what this protocol sends")
        return array.astype(np.int64, copy=False)

    def pack(self, reports: Array) -> bytes:
        """`bits` bits each, the highest first."""
        import numpy as np

        shifts = np.arange(self.bits - 1, -1, -1, dtype=np.int64)
        parts = [  # whole bytes each, so that the working arrays stay small
            np.packbits((part[:, None] >> shifts & 1).astype(np.uint8)).tobytes()
            for part in np.split(reports.astype(np.int64), range(1 << 16, reports.size, 1 << 16))
        ]
        return b"".join(parts)

    def unpack(self, payload: bytes, count: int) -> Array:
        """Reads `pack` back; padding must be zero."""
        import numpy as np

        _right_length(payload, (count * self.bits + 7) // 8)
        bits = np.unpackbits(np.frombuffer(payload, dtype=np.uint8))
        if bits[count * self.bits :].any():
            raise DomainError("these bytes are torn: their padding is not empty")
        found = np.zeros(count, dtype=np.int64)
        for column in bits[: count * self.bits].reshape(count, self.bits).T:
            found = found << 1 | column
        return self.check(found)


@dataclass(frozen=True, slots=True)
class Masks:
    """Sets of values, a row of 64-bit words each; value v is bit v % 64 of word v // 64; `chosen` if fixed."""

    size: int
    chosen: int | None = None

    @property
    def bits(self) -> int:
        """One for each value."""
        return self.size

    @property
    def words(self) -> int:
        """How many words a row has."""
        return -(-self.size // 64)

    def check(self, reports: object) -> Array:
        """Rows of words with nothing beyond the last value."""
        import numpy as np

        array = np.asarray(reports)
        if array.ndim != 2 or array.dtype != np.uint64 or array.shape[1] != self.words:
            raise DomainError("reports of this protocol are rows of 64-bit words, one bit for each value")
        if self.size % 64 and (array[:, -1] >> np.uint64(self.size % 64)).any():
            raise DomainError("a report lies outside what this protocol sends")
        if self.chosen is not None and (np.bitwise_count(array).sum(axis=1) != self.chosen).any():
            raise DomainError("a report is not a set of as many values as this protocol sends")
        return np.ascontiguousarray(array)

    def pack(self, reports: Array) -> bytes:
        """The bytes of each row that hold values."""
        import numpy as np

        rows = reports.astype("<u8").view(np.uint8).reshape(len(reports), 8 * self.words)
        return rows[:, : -(-self.size // 8)].tobytes()

    def unpack(self, payload: bytes, count: int) -> Array:
        """Reads `pack` back."""
        import numpy as np

        width = -(-self.size // 8)
        _right_length(payload, count * width)
        rows = np.zeros((count, 8 * self.words), dtype=np.uint8)
        rows[:, :width] = np.frombuffer(payload, dtype=np.uint8).reshape(count, width)
        return self.check(rows.view("<u8").astype(np.uint64))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Signed integers on a public lattice: one for each report, or a row of `columns` with a bounded norm."""

    columns: int = 0
    width: int = 64
    most: int = 1 << 62

    @property
    def bits(self) -> int:
        """The width of each number."""
        return self.width * max(1, self.columns)

    def check(self, reports: object) -> Array:
        """A vector, or rows of `columns`, of integers of at most `most` in absolute value."""
        import numpy as np

        array = np.asarray(reports)
        shaped = array.ndim == 2 and array.shape[1] == self.columns if self.columns else array.ndim == 1
        if not shaped or array.dtype.kind != "i":
            raise DomainError("reports of this protocol are signed integers, in rows if it is about vectors")
        if array.size and not (array.min() >= -self.most and array.max() <= self.most):
            raise DomainError("a report lies outside what this protocol sends")
        if self.columns and (np.linalg.norm(array.astype(np.float64), axis=1) > self.most + self.columns).any():
            raise DomainError("a report is longer than what this protocol sends")
        return array

    def pack(self, reports: Array) -> bytes:
        """Little-endian."""
        return reports.astype(f"<i{self.width // 8}").tobytes()

    def unpack(self, payload: bytes, count: int) -> Array:
        """Reads `pack` back."""
        import numpy as np

        _right_length(payload, count * self.bits // 8)
        flat = np.frombuffer(payload, dtype=f"<i{self.width // 8}").astype(f"i{self.width // 8}")
        return self.check(flat.reshape(count, self.columns) if self.columns else flat)


def pack_state(tally: npt.NDArray[np.int64]) -> bytes:
    """The cells in the least width that holds them all."""
    import numpy as np

    largest = max(abs(int(tally.min(initial=0))), abs(int(tally.max(initial=0))))
    width = next(size for size in (1, 2, 4, 8) if largest < 1 << (8 * size - 1))
    return bytes([width]) + tally.astype(np.dtype(f"<i{width}")).tobytes()


def unpack_state(payload: bytes, cells: int) -> npt.NDArray[np.int64]:
    """Reads `pack_state` back."""
    import numpy as np

    if not payload or payload[0] not in (1, 2, 4, 8):
        raise DomainError("these bytes are torn: a state has cells of 1, 2, 4 or 8 bytes")
    _right_length(payload[1:], cells * payload[0])
    return np.frombuffer(payload[1:], dtype=f"<i{payload[0]}").astype(np.int64)


def _right_length(payload: bytes, length: int) -> None:
    if len(payload) != length:
        raise DomainError("these bytes are torn: their length is not that of their reports")
