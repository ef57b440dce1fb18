"""A session put aside: everything public of it, to be stored and gone on with later.

Theorem.  The secret threshold is not stored.  A session that is resumed draws a fresh one and gives up the update
of the epoch that was interrupted.  So over all its parts at most `updates` epochs are begun, each with a threshold of
its own, and the price is the one paid at first.  Resuming the same suspended session twice would begin epochs
twice: whoever holds it must see that it is used once.  Proof: docs/theory/multiplicative_weights.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Suspended:
    """The weights of the histogram, what is known of their distance to the data, and what was used up.  All public.

    >>> import numpy as np
    >>> Suspended(weights=np.ones(4), potential=1.2, asked=3, left=5, n=100)
    Suspended(3 questions asked, 5 updates left)
    """

    weights: npt.NDArray[np.float64]
    potential: float
    asked: int
    left: int
    n: int

    def save(self, path: str | Path) -> None:
        """Write it to a file of arrays (npz)."""
        import numpy as np

        with Path(path).open("wb") as file:
            np.savez(file, **{one.name: getattr(self, one.name) for one in fields(self)})

    @classmethod
    def load(cls, path: str | Path) -> Suspended:
        """Read back what `save` wrote; anything else is refused."""
        import numpy as np

        names = {one.name for one in fields(cls)}
        try:
            with np.load(path, allow_pickle=False) as file:
                numbers = {name: file[name].item() for name in names - {"weights"}}
                return cls(weights=file["weights"].astype(np.float64), **numbers)
        except (KeyError, ValueError, OSError):
            raise ParameterError("need a file written by Suspended.save, got another") from None

    def __repr__(self) -> str:
        return f"Suspended({self.asked} questions asked, {self.left} updates left)"
