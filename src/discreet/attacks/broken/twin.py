"""What every broken mechanism shares: a flaw, a false claim, and the inputs that show it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import discrete_laplace
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]  # of integers or floats

Value = TypeVar("Value")
Vector = tuple[int, ...]
INFINITE = math.inf


class Twin(Generic[Value]):
    """A mechanism with a known mistake.  Never release anything with one.

    `flaw` says what is wrong, `privacy()` repeats the false claim, `worst` is a pair of
    neighbours that shows it, `true_epsilon` the loss on that pair (infinite where an
    output is possible on one side only), None where only a bound is known.
    """

    __slots__ = ()
    flaw: ClassVar[str]

    def releases(self, value: Value, count: int, *, rng: RandomSource | None = None) -> Array:
        """`count` independent releases of one value."""
        raise NotImplementedError

    def __call__(self, value: Value, *, rng: RandomSource | None = None) -> object:
        """One release."""
        return self.releases(value, 1, rng=rng)[0]

    def privacy(self) -> Guarantee:
        """The false claim."""
        raise NotImplementedError

    @property
    def worst(self) -> tuple[Value, Value]:
        """Two neighbours that show the flaw."""
        raise NotImplementedError

    @property
    def true_epsilon(self) -> float | None:
        """The privacy loss on the worst pair."""
        return None


def rows(value: Vector, count: int) -> npt.NDArray[np.int64]:
    """`count` copies of an integer vector, one a row."""
    import numpy as np

    return np.tile(np.asarray(value, dtype=np.int64), (count, 1))


def laplace(scale: Fraction, shape: tuple[int, ...], rng: RandomSource | None) -> npt.NDArray[np.int64]:
    """Exact discrete Laplace noise: what is broken here is never the sampler."""
    import numpy as np

    return np.asarray(discrete_laplace(scale, shape=shape, rng=rng), dtype=np.int64)
