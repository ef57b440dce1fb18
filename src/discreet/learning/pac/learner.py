"""What a learner is to those that run others: it fits, predicts, and states its promise."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import Guarantee


class Learner(Protocol):
    """Learns from rows and labels under a promise that is known before."""

    def fit(self, x: Any, y: Any, *, rng: RandomSource | None = None) -> Self:  # noqa: ANN401 - arrays of any kind
        """Learn from rows with labels."""
        ...

    def predict(self, x: Any) -> Any:  # noqa: ANN401 - arrays of any kind
        """The labels of rows."""
        ...

    def privacy(self) -> Guarantee:
        """What one fit keeps."""
        ...


Base = TypeVar("Base", bound=Learner)


def for_rows(learner: Base, n: int | None) -> Base:
    """A copy of a learner for n rows, which are public; for any number of rows, which is private, where n is None."""
    takes_n = is_dataclass(learner) and any(one.name == "n" for one in fields(learner))
    if takes_n:
        return replace(learner, n=n)  # type: ignore[type-var]
    if n is not None:
        raise UnsupportedError(f"{type(learner).__name__} takes no public n; leave n out, one row is added or removed")
    return copy.copy(learner)
