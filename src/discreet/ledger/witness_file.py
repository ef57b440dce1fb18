"""A witness in a file, on another volume than the ledger's: replaced as a whole, and on the disk before it counts.

Theorem.  Let the volume do what `fsync` asks, and let all who use the file lock it by `flock`.  Then `read` gives the
text of one `compare_and_set`, never a part of one; of two that expect the same version at most one returns True; and
what returned True is there after a power cut, until another one replaced it.
Proof: the text is written under another name and synced before it gets its own by a rename, which is atomic, and the
folder is synced before True is returned; the version is compared and the file replaced under one lock.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.chain import canonical
from discreet.release.once import replace_whole

LARGEST = 1 << 28  # bytes; a ledger of a million accounts writes less


class FileWitness:
    """The file of this path, which its first use makes; its folder must be there, as a volume that is mounted is.

    >>> import tempfile
    >>> witness = FileWitness(Path(tempfile.mkdtemp()) / "witness.json")
    >>> witness.read(), witness.compare_and_set(None, "one"), witness.compare_and_set(None, "two")
    ((None, None), True, False)
    >>> witness.read()
    ('1', 'one')
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()  # where a link leads: a rename would replace the link itself

    def read(self) -> tuple[str | None, str | None]:
        """Version and text; None and None where there is no file, an error where there is no folder."""
        try:
            with self.path.open("rb") as file:
                content = file.read(LARGEST)
        except FileNotFoundError:
            if not self.path.parent.is_dir():
                raise
            return None, None
        match _parsed(content):
            case {"version": str(version), "text": str(text), **rest} if not rest:
                return version, text
            case _:
                raise LedgerError("the file of the witness holds something that no ledger has written")

    def compare_and_set(self, expected: str | None, text: str) -> bool:
        """Replace the file, if it is the expected one."""
        with self._locked():
            if self.read()[0] != expected:
                return False
            version = "1" if expected is None else str(int(expected) + 1)
            content = canonical({"version": version, "text": text}).encode()
            replace_whole(self.path, lambda file: file.write(content))
            return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One at a time, in any process on this machine; the lock is of an open file, and ends with it."""
        handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
