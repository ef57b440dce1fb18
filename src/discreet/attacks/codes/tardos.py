"""Tardos' fingerprinting code with symmetric accusation (Tardos 2003; Skoric, Katzenbeisser, Celik 2008).

Every position has a secret bias p_j, often near 0 or 1, and every user a bit that is one with probability p_j.  A user
is accused if the score  sum over j of y_j (X_j - p_j) / sqrt(p_j (1 - p_j))  exceeds Z, with y_j = +1 or -1 as the word
has a one or a zero.  An innocent score has mean 0 and variance exactly 1 a position, whatever the pirates do; theirs
together grow by about 2 / pi a position.  Length and threshold: `tardos_length`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.attacks.codes.tardos_length import TardosLength, tardos_length
from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Tardos:
    """A code: one word a user, and the secret biases.

    >>> code = tardos(20, 3, seed=1)
    >>> code.words.shape[0], int(code.scores(code.words[0]).argmax())
    (20, 0)
    """

    words: Bits = field(repr=False)
    biases: Floats = field(repr=False)
    settings: TardosLength

    def scores(self, word: npt.ArrayLike) -> Floats:
        """How much each user's copy agrees with a word, more than chance would have it."""
        import numpy as np

        found = np.asarray(word)
        if found.shape != self.biases.shape or not np.isin(found, (0, 1)).all():
            raise ParameterError(f"need a word of {len(self.biases)} zeros and ones")
        weight = (2.0 * found - 1) / np.sqrt(self.biases * (1 - self.biases))
        return self.words @ weight - float(self.biases @ weight)

    def trace(self, word: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The users that a word accuses."""
        import numpy as np

        return np.flatnonzero(self.scores(word) > self.settings.threshold)


def tardos(users: int, pirates: int, *, innocent: float = 1e-4, miss: float = 0.01, seed: int) -> Tardos:
    """A code for so many users against at most so many pirates.

    `innocent` bounds the probability that one given innocent user is accused, `miss` that none of c pirates is; with
    fewer pirates it grows by `innocent` for each that is missing.

    >>> code = tardos(20, 3, seed=1)
    >>> from discreet.attacks.codes.pirates import mixed
    >>> set(code.trace(mixed(code.words[:3], "majority", seed=2)).tolist()) <= {0, 1, 2}
    True
    """
    import math

    import numpy as np

    require(isinstance(users, int) and not isinstance(users, bool), "an integer users", users=users)
    require(users >= pirates, "at least as many users as pirates", users=users, pirates=pirates)
    settings = tardos_length(pirates, innocent=innocent, miss=miss)
    rng = np.random.default_rng(seed)
    start = math.asin(math.sqrt(settings.cutoff))
    biases = np.sin(rng.uniform(start, math.pi / 2 - start, settings.length)) ** 2
    words = (rng.random((users, settings.length)) < biases).astype(np.uint8)
    return Tardos(words, biases, settings)
