"""An integer mechanism for real numbers: round to a declared lattice, release, scale back.

Theorem.  If M is private for integer values that move by at most S between neighbours, then
x -> lattice.value(M(lattice.index(f(x)))) is private with the same guarantee for every f whose
indices move by at most S; `Lattice.sensitivity` gives that S.  Scaling back is
post-processing.  The error is at most that of M times the step, plus half a step of rounding.
Proof: docs/theory/lattice.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.bad_values import settle
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.lattice import Lattice
from discreet.mechanisms.base import Mechanism
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.lattice import Reals


@dataclass(frozen=True, kw_only=True, slots=True)
class OnLattice:
    """Release a real number, or an array of them, through an integer mechanism.

    The sensitivity of `mechanism` is in steps: take it from `lattice.sensitivity`.  A value that is no number counts
    as 0, an infinite one as the largest float of its sign, and no value is refused.

    >>> from discreet.mechanisms.laplace import Laplace
    >>> cents = Lattice("0.01")
    >>> laplace = Laplace(epsilon=1, sensitivity=cents.sensitivity(5))  # f moves by at most 5
    >>> spending = OnLattice(mechanism=laplace, lattice=cents)
    >>> spending.privacy()
    PureDP(epsilon=1.0)
    >>> spending.accuracy(beta=0.05)
    14.985
    >>> cents.value(cents.index(y := spending(120.5))) == y
    True
    """

    mechanism: Mechanism
    lattice: Lattice

    def __post_init__(self) -> None:
        require(isinstance(self.mechanism, Mechanism), "a mechanism", mechanism=type(self.mechanism).__name__)
        require(isinstance(self.lattice, Lattice), "a lattice", lattice=type(self.lattice).__name__)

    def __call__(self, value: Reals, *, rng: RandomSource | None = None) -> float | npt.NDArray[np.float64]:
        """The private value: a lattice point, as a float."""
        return self.lattice.value(self.mechanism(self.lattice.index(settle(value, null=0)), rng=rng))

    def privacy(self) -> Guarantee:
        """That of the mechanism."""
        return self.mechanism.privacy()

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> float:
        """The mechanism's alpha in real units, plus half a step."""
        steps = self.mechanism.accuracy(beta) if size == 1 else self.mechanism.accuracy(beta, size=size)  # type: ignore[call-arg]
        return up((2 * exact(steps) + 1) * exact(self.lattice.step) / 2)

    def event(self) -> Event:
        """That of the mechanism."""
        return self.mechanism.event()
