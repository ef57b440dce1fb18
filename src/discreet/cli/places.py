"""Files that a command will write: looked at before anything is spent, so that what was paid for is not lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from discreet.cli.outcome import UsageError, reason
from discreet.errors import DiscreetError, ParameterError, UnsupportedError

PICTURES = (".svg", ".png", ".pdf", ".html", ".json")
TABLES = (".parquet", ".csv")


def to_write(path: Path | None, *endings: str) -> None:
    """Refuse a place that cannot be written to, or that does not end as it should; make its folder."""
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise UsageError(f"need a file that ends in {', '.join(endings[:-1])} or {endings[-1]}, got {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"cannot make the folder of {path}: {(error.strerror or 'no').lower()}") from None
    if path.is_dir():
        raise ParameterError(f"cannot write {path}: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ParameterError(f"cannot write {path}: permission denied")


def picture(path: Path | None) -> None:
    """The same for a picture, which needs an extra besides."""
    to_write(path, *PICTURES)
    if path is not None and (find_spec("altair") is None or find_spec("vl_convert") is None):
        raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'")


@contextmanager
def saving(path: Path) -> Iterator[None]:
    """Write what was paid for; where that fails all the same, say that it is kept."""
    try:
        yield
    except OSError as error:
        raise DiscreetError(
            f"cannot write {path}: {reason(error)}; what was paid for is kept: the same command again is free"
        ) from None
