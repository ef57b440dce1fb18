"""Rows of bits packed into 64-bit words: an eighth of the memory of truth values, and 64 columns an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]
    Bools = npt.NDArray[np.bool_]


def words_for(bits: int) -> int:
    """How many words hold so many bits."""
    return -(-bits // 64)


@dataclass(frozen=True, slots=True, eq=False)
class BitRows:
    """n rows of d bits: bit j of a row is bit j mod 64 of its word j // 64; spare bits are zero.

    >>> import numpy as np
    >>> rows = BitRows.pack(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> rows.words.tolist(), rows.d, len(rows)
    ([[5], [2]], 3, 2)
    """

    words: Words  # (n, words_for(d))
    d: int

    def __post_init__(self) -> None:
        import numpy as np

        whole = isinstance(self.d, int) and not isinstance(self.d, bool) and self.d >= 1
        packed = isinstance(self.words, np.ndarray) and self.words.dtype == np.uint64 and self.words.ndim == 2
        if not whole or not packed or self.words.shape[1] != words_for(self.d):
            raise ParameterError("need a whole number d >= 1 and rows of ceil(d / 64) words of 64 bits")

    @classmethod
    def pack(cls, bits: object) -> Self:
        """Pack an array of truth values or whole numbers; whatever is not zero is a one.

        The dtype is public: an array of floats is refused whatever it holds.
        """
        import numpy as np

        given = np.asarray(bits)
        if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "biu":
            raise ParameterError("need an array of rows of bits, as truth values or whole numbers")
        n, d = given.shape
        made = np.zeros((n, 8 * words_for(d)), dtype=np.uint8)
        step = max(1, (1 << 26) // d)  # rows at a time: the truth values of all need not lie in memory
        for start in range(0, n, step):
            part = np.packbits(given[start : start + step] != 0, axis=1, bitorder="little")
            made[start : start + step, : part.shape[1]] = part
        return cls(made.view("<u8").astype(np.uint64, copy=False), d)

    def __len__(self) -> int:
        return len(self.words)

    def system(self, kept: npt.NDArray[np.int64], labels: Bools) -> Words:
        """The kept rows with their labels as column d: a system of linear equations."""
        import numpy as np

        made = np.zeros((len(kept), words_for(self.d + 1)), dtype=np.uint64)
        made[:, : self.words.shape[1]] = self.words[kept]
        if self.d % 64:
            made[:, -1] &= np.uint64((1 << self.d % 64) - 1)  # whatever the spare bits were
        made[:, self.d // 64] |= labels[kept].astype(np.uint64) << np.uint64(self.d % 64)
        return made
