"""Copy a curator's file, its ledger and the service's records while they are in use; print the ledger's anchor.

    python backup.py /var/lib/discreet/curator.toml /var/backups/discreet

Each database is copied as it is at one moment (SQLite's online backup): first the service's records, then the ledger.
So a reply that is in the copy has its charge in the copy too; the other way round a question that was answered in
between would be given again, free, by a ledger that does not know it.  The curator's file is held meanwhile: its
budget is the copied ledger's.  The copy is verified before it counts, and in a folder of its own.  Rows are not copied.

Keep what is printed on another machine: it is what tells a restored ledger from a rolled-back one.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path


def backup(file: Path, to: Path) -> str:
    """Copy into a new folder under `to`; returns the anchor as JSON."""
    from discreet.curator.config import place, read
    from discreet.ledger import Ledger
    from discreet.release.once import to_disk
    from discreet.service.registering import only
    from discreet.service.settings import Settings

    settings = read(file)
    ledger, records = place(settings, file.parent), Settings.read(file).store
    if "://" in ledger + records:
        raise SystemExit("the ledger or the service's records are in PostgreSQL: use pg_basebackup or its archive")
    folder = to / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    folder.mkdir(parents=True, mode=0o700)
    with only(file):  # no cap is raised between the ledger and the file
        shutil.copy2(file, folder / file.name)
        for store in (Path(records), Path(ledger)):
            if store.exists():
                _copied(store, folder / store.name)
    with Ledger.open(folder / Path(ledger).name, create=False) as copy:
        anchor = copy.verify()
    text = json.dumps({"id": anchor.id, "hash": anchor.hash})
    (folder / "anchor.json").write_text(text + "\n", encoding="utf-8")
    to_disk([*folder.iterdir(), folder])  # before the anchor says that it is there
    return text


def _copied(store: Path, to: Path) -> None:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as old, closing(sqlite3.connect(to)) as new:
        old.backup(new)


if __name__ == "__main__":
    print(backup(Path(sys.argv[1]).absolute(), Path(sys.argv[2])))
