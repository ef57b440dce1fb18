"""Begin the ledger of a curator's file, once, and print its anchor.

    python begin.py /var/lib/discreet/curator.toml >anchor.json

The service's unit verifies a ledger before it serves it, and so wants one that is there.  A ledger that is missing is
otherwise a ledger that was lost, with everything that was spent: nothing but this makes a new one, and not beside an
old one or its records.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def begin(file: Path) -> str:
    """Make the ledger with the caps of the file; returns its anchor as JSON."""
    from discreet.curator import Curator
    from discreet.curator.config import ledger, place, read
    from discreet.errors import DiscreetError, LedgerError
    from discreet.service.settings import Settings

    where = place(read(file), file.parent)
    try:
        ledger(file, verify=False).close()
    except LedgerError as error:
        if "there is no ledger" not in str(error):
            raise SystemExit(f"the ledger cannot be looked at: {error}") from None
    else:
        raise SystemExit(f"there is a ledger at {where}; nothing was changed")
    records = Settings.read(file).store
    if "://" not in records and Path(records).exists():
        raise SystemExit(
            f"there are records of a service at {records}, and no ledger: was it lost? nothing was changed"
        )
    try:
        with Curator.open(file) as curator:
            anchor = curator.ledger.anchor()
    except DiscreetError as error:
        raise SystemExit(str(error)) from None
    return json.dumps({"id": anchor.id, "hash": anchor.hash})


if __name__ == "__main__":
    print(begin(Path(sys.argv[1]).absolute()))
