"""Differencing: two large, harmless questions whose answers differ by one person.

Theorem.  Against a system that answers large counts exactly the difference of "this group" and "this group with the
target" is the target's bit.  Against Laplace noise of scale b on both, calling the bit 1 if the difference is above 1/2
is right with probability 1 - e^(-t) (2 + t) / 4 for t = 1 / (2 b).  Proof: docs/theory/reconstruction.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.attacks.naive import System


def difference(system: System, target: int, group: npt.ArrayLike) -> int | None:
    """The target's bit from two questions about a group of others; None where an answer is withheld.

    >>> import numpy as np
    >>> from discreet.attacks.naive import Suppressed
    >>> secret = np.random.default_rng(0).integers(0, 2, 100)
    >>> system = Suppressed(secret, threshold=10)
    >>> others = np.arange(100) >= 50
    >>> [difference(system, person, others) for person in range(5)] == secret[:5].tolist()
    True
    """
    import numpy as np

    others = np.asarray(group).astype(np.uint8)
    if others.ndim != 1 or not 0 <= target < len(others) or others[target]:
        raise ParameterError("need a group of zeros and ones that the target is not in")
    asked: npt.NDArray[np.uint8] = np.stack([others, others])
    asked[0, target] = 1
    more, less = system.answer(asked)
    return None if math.isnan(more) or math.isnan(less) else int(more - less > 0.5)


def difference_success(scale: Number) -> float:
    """How often two Laplace answers of this scale give the bit away.

    >>> round(difference_success(10), 6)
    0.512495
    """
    require(exact(scale) > 0, "scale > 0", scale=scale)
    t = 1 / (2 * float(exact(scale)))
    return 1 - math.exp(-t) * (2 + t) / 4
