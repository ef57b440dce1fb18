"""The saved state of a running count: exact numbers, a checksum, and one reader.

A state is JSON: the declaration, the number of steps, the open sums of true steps (secret) and what was computed from
noisy measurements (public), each float by its exact hexadecimal form.  A SHA-256 of the rest shows damage; it
is no signature, and whoever can write the file can forge it.

A file is created first and written second, so that the counter can be closed in between: at no time is there a whole
state on the disk and an open counter in memory.  A state is moved aside, and its folder written, before it is read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path

from discreet.errors import LedgerError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import RELATIONS
from discreet.privacy.number import exact, tidy
from discreet.release.once import moved_aside

FORMAT = "discreet running count 1"
_BUDGETS = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP)}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class State:
    """All that a counter needs to go on.  Secret: never shown."""

    horizon: int
    upper: int
    budget: Guarantee
    mechanism: str
    steps_per_unit: int
    separation: int
    bands: int | None
    steps: int
    secret: tuple[int, ...]
    public: tuple[float, ...]
    value: float

    def text(self) -> str:
        """The JSON form, with its checksum."""
        record: dict[str, object] = {field.name: getattr(self, field.name) for field in fields(self)}
        record["budget"] = _budget_record(self.budget)
        record["public"] = [number.hex() for number in self.public]
        record["value"] = self.value.hex()
        record["format"] = FORMAT
        body = json.dumps(record, sort_keys=True)
        return json.dumps({"state": record, "sha256": hashlib.sha256(body.encode()).hexdigest()}, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> State:
        """Read back what `text` wrote; anything else is refused, and nothing of it is shown."""
        try:
            whole = json.loads(text)
            record, digest = whole["state"], whole["sha256"]
            body = json.dumps(record, sort_keys=True)
            intact = digest == hashlib.sha256(body.encode()).hexdigest() and record.pop("format") == FORMAT
            if not intact:
                raise LedgerError("the saved counter is damaged or of another format")
            record["budget"] = _budget(record["budget"])
            record["secret"] = tuple(int(number) for number in record["secret"])
            record["public"] = tuple(float.fromhex(number) for number in record["public"])
            record["value"] = float.fromhex(record["value"])
            return cls(**record)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LedgerError("the saved counter is damaged or of another format") from None


def _budget_record(budget: Guarantee) -> dict[str, str | None]:
    kind = type(budget).__name__
    require(kind in _BUDGETS, "a budget in PureDP, ApproxDP or ZCDP", budget=kind)
    relation = budget.neighbours
    numbers = {"PureDP": ("epsilon",), "ApproxDP": ("epsilon", "delta"), "ZCDP": ("rho",)}[kind]
    named: dict[str, str | None] = {name: str(exact(getattr(budget, name))) for name in numbers}
    return named | {"kind": kind, "neighbours": relation.__name__ if relation else None}


def _budget(record: dict[str, str | None]) -> Guarantee:
    relation = record.pop("neighbours")
    kind = _BUDGETS[str(record.pop("kind"))]
    numbers = {name: tidy(exact(str(number))) for name, number in record.items()}
    return kind(**numbers, neighbours=RELATIONS[relation] if relation else None)


def read_once(path: Path) -> State:
    """Move the file aside, so that nobody else can go on from it, and read it."""
    return State.parse(moved_aside(path, "saved counter").read_text())
