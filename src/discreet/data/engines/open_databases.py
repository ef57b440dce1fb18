"""DuckDB databases that stay open between questions: opening one takes nearly as long as counting a million rows.

A database that is lent has been shut in on its files before (`sources.shut_in`), and cannot be let out again.  It holds
no row: every statement reads the files anew, whatever they hold by then.  So who asks next finds what a new database
would give, and nothing of who asked before.

Lent to one at a time, so that the cap on memory is that of one question; closed for good after an error; and only
where it has no threads, which a process that forks would lose.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.data.engines import sources
from discreet.data.engines.results import reached

if TYPE_CHECKING:
    import duckdb

    from discreet.data.engines.duckdb import DuckDB

MOST = 4  # databases that wait, in one process
_Key = tuple[int, "DuckDB", tuple[str, ...]]  # the process, the settings, the files
_WAITING: list[tuple[_Key, duckdb.DuckDBPyConnection]] = []  # the one that has waited longest comes first
_LOCK = threading.Lock()


@contextlib.contextmanager
def lent(
    engine: DuckDB, wanted: Sequence[object], *, rows: bool = True
) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[str]]]:
    """A connection that reaches these sources and nothing else, and the relations to read from.

    Without `rows` only their schemas are wanted.
    """
    said = "the source cannot be opened"
    files = reached(lambda: sources.files(wanted, rows=rows), said) if engine.threads == 1 else None
    if files is None:
        with engine._open() as connection:
            yield connection, reached(lambda: sources.attach(connection, wanted, rows=rows), said)
        return
    paths = [path for one in files for path in one.paths]
    key = (os.getpid(), engine, tuple(paths))
    known = _taken(key)
    database = engine._open() if known is None else known
    try:
        if known is None:
            reached(lambda: sources.shut_in(database, paths), said)
        with database.cursor() as connection:
            yield connection, reached(lambda: [sources.relation(connection, one) for one in files], said)
    except BaseException:
        database.close()
        raise
    _put(key, database)


def _forked() -> None:
    """A child leaves the parent's databases alone, and waits for nobody who was not forked with it."""
    global _LOCK, _WAITING
    _LOCK, _WAITING = threading.Lock(), []


os.register_at_fork(after_in_child=_forked)


def _taken(key: _Key) -> duckdb.DuckDBPyConnection | None:
    with _LOCK:
        for place in reversed(range(len(_WAITING))):
            if _WAITING[place][0] == key:
                return _WAITING.pop(place)[1]
    return None


def _put(key: _Key, database: duckdb.DuckDBPyConnection) -> None:
    with _LOCK:
        _WAITING.append((key, database))
        left = [_WAITING.pop(0)[1] for _ in range(len(_WAITING) - MOST)]
    for one in left:
        one.close()
