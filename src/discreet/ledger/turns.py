"""Turns: of those who ask the same at the same time, one draws and the others get its answer.

A turn is a lock on an analyst's key, held from before the spend until the answer is stored.

Theorem.  Let every release under a key be made within a turn: spend, draw, store.  Then
at any time at most one process and thread draws under the key; and whoever has the turn
and finds a spend without a stored answer knows that the one who paid for it has failed or
is dead, so that paying again takes nothing from a draw that is under way.
Proof: docs/theory/ledger.md.

The operating system, or the database's server, ends the turn of a process that dies.  On a
file the lock is of an open file (Linux), on one byte of a file beside the ledger; on a
server it is advisory and of a session; in memory it is a thread's.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.errors import LedgerError
from discreet.ledger.chain import canonical, digest

if TYPE_CHECKING:
    import psycopg


class Turns(Protocol):
    """Gives turns."""

    def turn(self, number: int) -> AbstractContextManager[None]:
        """Wait until nobody else has the turn of this number, and have it."""
        ...

    def forget(self) -> None:
        """A forked child has none of its parent's turns, and waits for none of its parent's threads."""


def number(analyst: str | None, key: str) -> int:
    """What stands for a key: 60 bits of its hash.  Two keys that share one wait for one another, no more."""
    return int(digest(canonical([analyst, key]).encode())[:15], 16)


class InMemory:
    """Turns of the threads of one process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._guard = threading.Lock()
        self._locks: dict[int, threading.Lock] = {}
        self._wanted: Counter[int] = Counter()

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        """A lock that exists as long as somebody wants it."""
        with self._guard:
            lock = self._locks.setdefault(number, threading.Lock())
            self._wanted[number] += 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                self._wanted[number] -= 1
                if not self._wanted[number]:
                    del self._locks[number], self._wanted[number]


class OnFile:
    """Turns of all processes that use one file, and of their threads; each opens the file for itself."""

    def __init__(self, path: Path) -> None:
        self.file = path
        self._path = f"{path}-turns"

    def forget(self) -> None:
        """The parent's locks are ended by the parent, or with the last process that inherited them."""

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        """Lock one byte of a file that stays empty."""
        with ExitStack() as held:
            try:
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                held.callback(os.close, handle)
                fcntl.fcntl(handle, fcntl.F_OFD_SETLKW, _range(fcntl.F_WRLCK, number))
                held.callback(fcntl.fcntl, handle, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK, number))
            except OSError as error:
                raise LedgerError(f"cannot lock beside the ledger ({type(error).__name__})") from error
            yield


def _range(kind: int, number: int) -> bytes:
    """The C structure that names one byte of a file."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, number, 1, 0)


class OnServer:
    """Turns of all clients of one database, each on a connection of its own, which ends with it."""

    def __init__(self, connect: Callable[[], psycopg.Connection[tuple[object, ...]]]) -> None:
        self._connect = connect
        self._threads = InMemory()

    def forget(self) -> None:
        """Begin anew; the parent's connections are the parent's."""
        self._threads.forget()

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        """Wait at the server; only one thread of this process does."""
        import psycopg

        with self._threads.turn(number), ExitStack() as held:
            try:
                connection = held.enter_context(closing(self._connect()))
                connection.autocommit = True
                connection.execute("SELECT pg_advisory_lock(%s)", [number])
            except psycopg.Error as error:
                raise LedgerError("the ledger cannot be reached; nothing was spent") from error
            yield
