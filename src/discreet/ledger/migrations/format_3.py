"""Format 3: a ledger may have a witness outside itself."""

from __future__ import annotations

_WITNESS = "ALTER TABLE head ADD COLUMN witness TEXT"

STATEMENTS = {"sqlite": (_WITNESS,), "postgresql": (_WITNESS,)}
