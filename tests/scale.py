"""How many repetitions the long checks make: scaled down in `make test`, full in `make acceptance`."""

from __future__ import annotations

import os

FULL = os.environ.get("DISCREET_ACCEPTANCE") == "1"


def counts(*, quick: int, full: int) -> int:
    """The number of repetitions for this run."""
    return full if FULL else quick
