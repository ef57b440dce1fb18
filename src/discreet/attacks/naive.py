"""Systems that feel private and are not: how counts were protected before, kept to be attacked.

    Rounded      counts rounded to a multiple of `base`
    Suppressed   counts below `threshold` are withheld; the others are exact
    Sticky       uniform noise in [-noise, noise], the same whenever the same question is asked

Each answers "how many of these people have the secret bit?" for rows of zeros and ones, and carries `private = False`.
Sticky noise stops averaging, and nothing else: another question about the same person has noise of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Subsets = npt.NDArray[np.uint8]
    Answers = npt.NDArray[np.float64]  # NaN where the answer is withheld


class System(Protocol):
    """Whoever answers subset questions about secret bits."""

    def answer(self, subsets: Subsets) -> Answers:
        """One count a subset; NaN where it is withheld."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """Counts to the nearest multiple of `base`.

    >>> import numpy as np
    >>> Rounded(np.array([1, 1, 0, 1]), base=5).answer(np.array([[1, 1, 1, 1]]))
    array([5.])
    """

    private: ClassVar[bool] = False
    secret: npt.NDArray[np.integer] = field(repr=False)
    base: int = field(kw_only=True)

    def answer(self, subsets: Subsets) -> Answers:
        """Rounded counts."""
        import numpy as np

        require(self.base >= 1, "base >= 1", base=self.base)
        return np.round(_counts(self.secret, subsets) / self.base) * self.base


@dataclass(frozen=True, slots=True, eq=False)
class Suppressed:
    """Exact counts of at least `threshold`; others are withheld.

    >>> import numpy as np
    >>> Suppressed(np.array([1, 1, 0, 1]), threshold=3).answer(np.array([[1, 1, 1, 1], [1, 0, 0, 0]]))
    array([ 3., nan])
    """

    private: ClassVar[bool] = False
    secret: npt.NDArray[np.integer] = field(repr=False)
    threshold: int = field(kw_only=True)

    def answer(self, subsets: Subsets) -> Answers:
        """Counts, or NaN."""
        import numpy as np

        found = _counts(self.secret, subsets)
        return np.where(found >= self.threshold, found, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Sticky:
    """Noise that depends on the question alone: asking again gives the same answer.

    >>> import numpy as np
    >>> system = Sticky(np.array([1, 1, 0, 1]), noise=2.0, salt=b"k")
    >>> asked = np.array([[1, 1, 1, 1], [1, 1, 1, 1]])
    >>> len(set(system.answer(asked).tolist()))
    1
    """

    private: ClassVar[bool] = False
    secret: npt.NDArray[np.integer] = field(repr=False)
    noise: float = field(kw_only=True)
    salt: bytes = field(default=b"", kw_only=True, repr=False)

    def answer(self, subsets: Subsets) -> Answers:
        """Counts with the noise of their questions."""
        import numpy as np

        require(self.noise >= 0, "noise >= 0", noise=self.noise)
        packed = np.packbits(np.asarray(subsets, dtype=np.uint8), axis=1)
        words = [hashlib.blake2b(row.tobytes(), key=self.salt, digest_size=8).digest() for row in packed]
        uniform = np.array([int.from_bytes(word, "big") for word in words], dtype=np.float64) / 2.0**63 - 1
        return _counts(self.secret, subsets) + self.noise * uniform


def _counts(secret: npt.NDArray[np.integer], subsets: Subsets) -> Answers:
    import numpy as np

    return np.asarray(subsets, dtype=np.float64) @ np.asarray(secret, dtype=np.float64)
