"""Pirates: coalitions that mix their copies into a word, within the marking condition.

Where all copies of a coalition agree the word must agree with them: a word that does is feasible.  Elsewhere they may
write what they like.  The strategies here are those of the literature; a code must trace every feasible word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint8]
    Strategy = Callable[[Bits, np.random.Generator], Bits]

Pirate = Literal["interleaving", "majority", "minority", "ones", "zeros", "coin"]


def _interleaving(copies: Bits, rng: np.random.Generator) -> Bits:
    """Each place from a member drawn at random."""
    import numpy as np

    return copies[rng.integers(0, len(copies), copies.shape[1]), np.arange(copies.shape[1])]


def _majority(copies: Bits, rng: np.random.Generator) -> Bits:
    """What most have; a coin where they are even."""
    twice = 2 * copies.sum(axis=0, dtype="int64")
    return _where(twice > len(copies), twice == len(copies), rng)


def _minority(copies: Bits, rng: np.random.Generator) -> Bits:
    """What fewest have, where they differ."""
    import numpy as np

    ones = copies.sum(axis=0, dtype="int64")
    differ = (ones > 0) & (ones < len(copies))
    fewer = np.where(differ, 2 * ones < len(copies), ones == len(copies))
    return _where(fewer, differ & (2 * ones == len(copies)), rng)


def _ones(copies: Bits, rng: np.random.Generator) -> Bits:
    """A one wherever anybody has one."""
    return copies.max(axis=0)


def _zeros(copies: Bits, rng: np.random.Generator) -> Bits:
    """A zero wherever anybody has one."""
    return copies.min(axis=0)


def _coin(copies: Bits, rng: np.random.Generator) -> Bits:
    """A coin wherever they differ."""
    return _where(copies.min(axis=0) == 1, copies.max(axis=0) != copies.min(axis=0), rng)


def _where(ones: npt.NDArray[np.bool_], open_: npt.NDArray[np.bool_], rng: np.random.Generator) -> Bits:
    import numpy as np

    coins = rng.integers(0, 2, len(ones), dtype=np.uint8)
    return np.where(open_, coins, ones).astype(np.uint8)


PIRATES: dict[str, Strategy] = {
    "interleaving": _interleaving,
    "majority": _majority,
    "minority": _minority,
    "ones": _ones,
    "zeros": _zeros,
    "coin": _coin,
}


def mixed(copies: npt.ArrayLike, strategy: Pirate, *, seed: int) -> Bits:
    """The word of a coalition that has these copies, one a row.

    >>> mixed([[0, 1, 1], [0, 1, 0], [0, 0, 0]], "majority", seed=0).tolist()
    [0, 1, 0]
    """
    import numpy as np

    held = np.asarray(copies, dtype=np.uint8)
    if held.ndim != 2 or not len(held):
        raise ParameterError("need copies, one a row")
    if strategy not in PIRATES:
        raise ParameterError(f"need a strategy among {', '.join(PIRATES)}, got {strategy!r}")
    return PIRATES[strategy](held, np.random.default_rng(seed))


def feasible(copies: npt.ArrayLike, word: npt.ArrayLike) -> bool:
    """Whether the word agrees with the copies wherever they agree.

    >>> feasible([[0, 1], [0, 0]], [0, 1]), feasible([[0, 1], [0, 0]], [1, 1])
    (True, False)
    """
    import numpy as np

    held, written = np.asarray(copies), np.asarray(word)
    return bool(((held.min(axis=0) <= written) & (written <= held.max(axis=0))).all())
