"""Files that outlive a power cut: new ones, ones in the place of others, ones that a run can go on from once.

Theorem.  Let the disk keep what was synced, and of the rest any part.  A file that `write_through` or `replace_whole`
has returned from is there with all its bytes, whenever the power fails; until `replace_whole` returned, either the old
file or the new one is there as a whole; and a file that was `moved_aside` does not come back under its first name.
Proof: a file is synced before it gets the name that it is found by, a rename is atomic, and what is created, renamed or
removed is so on the disk once its folder was synced, which each of them does before it returns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from discreet.errors import LedgerError


def create_new(path: Path, *, refused: str) -> int:
    """Create a file that was not there, for its owner only, with nothing in it yet; `refused` says why not another."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise LedgerError(f"{refused}: {path} exists") from None


def write_through(descriptor: int, path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write to a created file and on to the disk, with its name; an error leaves it empty, torn or whole."""
    with os.fdopen(descriptor, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    names_to_disk(path.parent)


def replace_whole(path: Path, write: Callable[[BinaryIO], object], *, mode: int = 0o600) -> None:
    """Put a new file in the place of another, whole or not at all; one at a time, as whoever calls it has seen to."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)  # left by one who died while writing
    try:
        descriptor = create_new(draft, refused="a draft is new")
        os.fchmod(descriptor, mode)
        write_through(descriptor, draft, write)
        draft.rename(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    names_to_disk(path.parent)


def remove(path: Path) -> None:
    """Remove a file, if it is there, so that it does not come back."""
    path.unlink(missing_ok=True)
    names_to_disk(path.parent)


def to_disk(paths: Iterable[Path]) -> None:
    """Sync files that somebody else has written, and their folders: they are about to be spoken of."""
    found = list(paths)
    for path in [*found, *{path.parent for path in found}]:
        names_to_disk(path)


def moved_aside(path: Path, what: str) -> Path:
    """Rename the file, so that nobody else can go on from it, even after a loss of power."""
    aside = path.with_name(path.name + ".resumed")
    if aside.exists():
        raise LedgerError(f"{aside} is in the way: a {what} was resumed from here before; remove it to go on")
    try:
        path.rename(aside)
    except FileNotFoundError:
        raise LedgerError(f"there is no {what} at {path}; it may have been resumed already") from None
    names_to_disk(path.parent)
    return aside


def names_to_disk(folder: Path) -> None:
    """Write the names of a folder to the disk, or the bytes of a file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
