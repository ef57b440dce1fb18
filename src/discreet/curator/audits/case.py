"""What is audited: a mechanism on two neighbours, and all cases of one public name with a broken twin.

A twin here is the mechanism itself, built with `twin` times the budget and sold at the price of one: noise too
small by that factor, whatever the noise.  (Twins with other mistakes are in `discreet.attacks.broken`.)
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.hazmat.entropy import RandomSource
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import GaussianDP, Guarantee
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]  # of integers or floats


@dataclass(frozen=True)
class Rows:
    """An additive mechanism on a number or a vector, many times in one call: its entries are independent."""

    mechanism: Any

    def __call__(self, value: object, *, rng: RandomSource | None = None) -> object:
        """One release."""
        import numpy as np

        return self.mechanism(np.asarray(value), rng=rng)

    def releases(self, value: object, count: int, *, rng: RandomSource | None = None) -> Array:
        """`count` independent releases."""
        import numpy as np

        copies = np.full(count, value) if np.ndim(value) == 0 else np.tile(np.asarray(value), (count, 1))  # type: ignore[arg-type]
        return self.mechanism(copies, rng=rng)

    def privacy(self) -> Guarantee:
        """The claim."""
        return self.mechanism.privacy()


@dataclass(frozen=True)
class Seen:
    """Anything that releases, with what is seen of it: `look(value, rng)` runs it once and returns numbers."""

    look: Callable[[Any, RandomSource | None], object]
    claim: Guarantee | Callable[[], Guarantee]  # a function where only what ran can say

    def __call__(self, value: object, *, rng: RandomSource | None = None) -> object:
        """One release."""
        return self.look(value, rng)

    def privacy(self) -> Guarantee:
        """The claim."""
        return self.claim if isinstance(self.claim, Guarantee) else self.claim()


@dataclass(frozen=True)
class Many:
    """The same for what can be run many times in one call: `look(value, count, rng)`."""

    look: Callable[[Any, int, RandomSource | None], Any]
    claim: Guarantee

    def __call__(self, value: object, *, rng: RandomSource | None = None) -> object:
        """One release."""
        return self.look(value, 1, rng)[0]

    def releases(self, value: object, count: int, *, rng: RandomSource | None = None) -> Array:
        """`count` independent releases."""
        return self.look(value, count, rng)

    def privacy(self) -> Guarantee:
        """The claim."""
        return self.claim


@dataclass(frozen=True)
class Case:
    """A mechanism, a pair of neighbours, and the share of the claim that an audit must find on it.

    `delta` is where the claim is audited; `table` writes the law down where it is finite; a claim of
    Gaussian DP is audited in mu.
    """

    mechanism: Any
    inputs: tuple[Any, Any]
    share: float = 0.0
    delta: float = 0.0
    slow: bool = False  # has no way to draw many at once
    table: Callable[[], FiniteMechanism] | None = field(default=None, compare=False)

    @property
    def gaussian(self) -> bool:
        """Whether the claim is one of mu."""
        return isinstance(self.mechanism.privacy(), GaussianDP)

    def claimed(self) -> float:
        """The epsilon claimed at `delta`, or the mu."""
        claim = self.mechanism.privacy()
        return float(claim.mu) if self.gaussian else float(exact(claim.to_approx(self.delta).epsilon))

    def __str__(self) -> str:
        return f"{self.mechanism}-{self.inputs}"


Cases = Callable[[float], Iterator[Case]]
"""The cases at a budget: epsilon, or what plays its part."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One public name of a room, with its cases; `covers` are other public names that the same cases audit.

    `samples` is how many releases of either side are drawn of what is drawn at once, and of what is not.
    """

    name: str
    room: str
    cases: Cases
    twin: float | None  # None: nothing private is read, so no noise can be too small
    covers: tuple[str, ...] = ()
    samples: int = 100_000
    slow: int = 1000
    replays: int = 0  # recorded on one input and played back on the other; 2: a unit has two rows, paid as a group
    needs: str | None = None  # a package that is not installed everywhere

    @property
    def here(self) -> bool:
        """Whether what it needs is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    @property
    def known_as(self) -> str:
        """The room and the name."""
        return f"{self.room}.{self.name}"

    @property
    def names(self) -> set[str]:
        """Every public name that is audited here."""
        return {self.name.split(",")[0], *self.covers}
