"""A session put aside: everything public of it, and the terms it was paid under, to be gone on with later and once.

Theorem.  The secret threshold is not stored.  A session that is resumed draws a fresh one and gives up the update
of the epoch that was interrupted.  So over all its parts at most `updates` epochs are begun, each with a threshold of
its own, and the price is the one paid at first, if every part runs under the terms and settings of the first and no
part is gone on with twice.  Both are checked: terms and settings are stored and compared; an object serves once, to
resume or to be saved; and a file is moved aside before it is read.  Proof: docs/theory/multiplicative_weights.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from discreet.data.stored_bytes import Archive
from discreet.errors import LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.one_process import OneProcess
from discreet.release.once import create_new, moved_aside, names_to_disk, write_through
from discreet.release.online_settings import Settings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FORMAT = "discreet suspended session 2"
_NUMBERS = ("updates", "gap", "above", "below", "off", "n")
_FRACTIONS = ("epsilon", "first")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Suspended(OneProcess):
    """The weights of the histogram, what is known of their distance to the data, and what was used up.  All public.

    `terms` is the declaration of the mechanism, budget, questions, domain and all, and `settings` what it ran with.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> from discreet.release.online import PrivateMultiplicativeWeights
    >>> domain = Domain({"icu": Boolean(), "smokes": Boolean()})
    >>> pmw = PrivateMultiplicativeWeights(domain, n=50_000, budget=ApproxDP(1.0, 1e-6), queries=9, suspensions=1)
    >>> data = Histogram.random(domain, n=50_000, seed=1)
    >>> after = pmw.open(data).suspend()
    >>> pmw.resume(data, after).queries_left
    9
    >>> pmw.resume(data, after)
    Traceback (most recent call last):
    discreet.errors.UnsupportedError: this suspended session was resumed or saved already; again would cost again
    """

    WHAT: ClassVar[str] = "a suspended session"
    INSTEAD: ClassVar[str] = "save it and load it there"

    weights: npt.NDArray[np.float64]
    potential: float
    asked: int
    left: int
    terms: str
    settings: Settings
    _ticket: list[None] = field(default_factory=lambda: [None], init=False)  # there until it is used up

    def take(self) -> None:
        """Use it up."""
        self._refuse_elsewhere()
        try:
            self._ticket.pop()  # one thread gets it
        except IndexError:
            raise UnsupportedError(
                "this suspended session was resumed or saved already; again would cost again"
            ) from None

    def save(self, path: str | Path) -> None:
        """Move it to a new file of arrays (npz), which no file may be in the way of; this object is used up."""
        import numpy as np

        target = Path(path)
        self.take()
        try:
            descriptor = create_new(target, refused="a suspended session is never written over another file")
        except (OSError, LedgerError):
            self._ticket.append(None)  # nothing was written
            raise
        try:
            write_through(
                descriptor, target, lambda file: np.savez(file, weights=self.weights, public=np.array(self._public()))
            )
        except OSError:
            target.unlink()  # what was written of it is of no use
            names_to_disk(target.parent)  # and it must not come back: only now is the session free again
            self._ticket.append(None)
            raise

    def _public(self) -> str:
        settings = {name: getattr(self.settings, name) for name in (*_NUMBERS, "fresh")}
        settings |= {name: str(getattr(self.settings, name)) for name in _FRACTIONS}
        numbers = {"potential": float(self.potential).hex(), "asked": self.asked, "left": self.left}
        return json.dumps(numbers | {"format": FORMAT, "terms": self.terms, "settings": settings}, sort_keys=True)

    @classmethod
    def load(cls, path: str | Path) -> Suspended:
        """Read back what `save` wrote, once: the file is renamed to `<path>.resumed` first."""
        aside = moved_aside(Path(path), "suspended session")
        try:
            file = Archive(aside.read_bytes(), known=("weights.npy", "public.npy").__contains__)
            record, weights = json.loads(file.array("public.npy").item()), file.array("weights.npy").astype(float)
            if record["format"] != FORMAT:
                raise _other()
            return cls(
                weights=weights, potential=float.fromhex(record["potential"]), asked=int(record["asked"]),
                left=int(record["left"]), terms=str(record["terms"]), settings=_settings(record["settings"]),
            )  # fmt: skip
        except (KeyError, ValueError, TypeError, AttributeError, OSError):
            raise _other() from None

    def __repr__(self) -> str:
        return f"Suspended({self.asked} questions asked, {self.left} updates left)"


def _settings(record: dict[str, object]) -> Settings:
    if set(record) != {one.name for one in fields(Settings)}:
        raise _other()
    numbers = {name: int(record[name]) for name in _NUMBERS}  # type: ignore[call-overload]
    fractions = {name: Fraction(str(record[name])) for name in _FRACTIONS}
    return Settings(**numbers, **fractions, fresh=record["fresh"] is True)  # type: ignore[arg-type]


def _other() -> ParameterError:
    return ParameterError("need a file written by Suspended.save, got another")
