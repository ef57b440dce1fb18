"""What every mechanism can do.

A mechanism is its parameters: a frozen value.  Calling it on private data releases one
private value, `privacy` states the theorem's claim, `accuracy` how far the release may
be from the truth, and `event` what ran, for an accountant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.privacy.event import Event
    from discreet.privacy.guarantee import Guarantee


@runtime_checkable
class Mechanism(Protocol):
    """One private value out of one value in; to vary a mechanism, wrap it.

    >>> from discreet.mechanisms import Laplace
    >>> isinstance(Laplace(epsilon=1, sensitivity=1), Mechanism)
    True
    """

    def __call__(self, value: Any, *, rng: RandomSource | None = None) -> Any:  # noqa: ANN401 - each mechanism says
        """The release.  `rng=None` is the system generator; a seeded one is for tests."""
        ...

    def privacy(self) -> Guarantee:
        """The theorem's claim, for the neighbour relation it names."""
        ...

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha with Pr[error > alpha] <= beta.

        The least one where the noise does not depend on the data, else a proven bound,
        else `UnsupportedError`.
        """
        ...

    def event(self) -> Event:
        """What ran, for the accountant."""
        ...
