"""An order, and the three ways it ends.

    Refused    before any private row was read: nothing was charged, and the problem says why
    Answered   the mechanism's output, stored before it was sent
    Withheld   anything that went wrong later: charged, counted, and always the same reply

What follows the first read has exactly two shapes, `Answered` and `Withheld`: which error, how long and how
large would each be a channel to the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What a principal asks for, already authorised; `body` is the validated request, JSON-ready."""

    kind: str  # ask, release, synthesis, fit or audit
    principal: str
    body: Mapping[str, object]
    key: str | None = None  # the idempotency key, scoped to the principal
    tables: tuple[str, ...] = ()  # what it is about, as far as the slot depends on it


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """Refused from public facts, free."""

    problem: Mapping[str, object]  # an RFC 9457 problem, as `problems.problem_of` makes it


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The output of a mechanism, in the words of the API."""

    document: Mapping[str, object]
    files: Mapping[str, str] = field(default_factory=dict)  # results too large for JSON, by name, as paths


@dataclass(frozen=True, kw_only=True, slots=True)
class Withheld:
    """Charged, and nothing to show for it."""

    receipt: Mapping[str, object] | None = None


Outcome = Refused | Answered | Withheld
