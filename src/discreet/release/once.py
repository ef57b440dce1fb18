"""Files that a run can go on from once: never written over another, moved aside before they are read.

Both survive a loss of power: what is created, renamed or removed is so on the disk only when its folder was written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
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
    """Write the names of a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
