"""Sealed copies: text is read once, line by line, and what questions read from then on is Parquet.

    place/                   one folder, mode 0700; its tag tells programs that keep backups to leave it out
        1f0c.../             one source as it was declared, in one version
            0000.parquet     the rows of one file, every column text
            seal.json        when, of which files, and which lines were bad: for whoever holds the data

A curator keeps copies beside its ledger, and a copy there is read until the table has a new version, whatever the files
hold by then.  Without a curator they are in a folder of this process, removed at its end, and made anew for files that
changed.  A copy is made in a folder of another name, which is renamed when all of it is on the disk: who stops halfway
leaves no copy, and what a killed one leaves is removed by the next.

Making one reads private rows.  It happens where rows are read, after the charge, or when the steward asks for it.
"""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import fcntl
import functools
import glob
import hashlib
import json
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO, TYPE_CHECKING

from discreet.data.engines.text_blocks import blocks, names_of, opened
from discreet.data.text_file import TextFile
from discreet.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.data.table import Table

LOG = logging.getLogger("discreet.operator")
SHOWN = 1000  # bad lines whose numbers are kept
SPARE = 16 << 20  # bytes beyond the size of the files
PACKED = 5  # a copy is at most so many times as long as the compressed file, at a guess
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# copies of private rows: leave them out of backups\n"


@dataclass(frozen=True, slots=True, repr=False)
class Seal:
    """What became of the lines of a source: for the steward alone, since it tells of the rows.

    `bad_lines` are the first thousand: the file, the number of the line in it, from 1, and what is wrong.
    """

    date: str
    source: str
    multiline: bool
    files: tuple[str, ...]
    rows: int
    bad: int
    bad_lines: tuple[tuple[str, int, str], ...]
    bytes: int  # of the copy

    def __repr__(self) -> str:
        return f"Seal({self.source!r}, {self.date})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("what is known of private lines cannot be copied or stored")


def found(file: TextFile) -> list[str]:
    """The files of a source as they are now, at least one."""
    plain = [file.path] if Path(file.path).is_file() else sorted(glob.glob(file.path, recursive=True))
    paths = [os.path.abspath(path) for path in plain if Path(path).is_file()]
    if not paths:
        raise SourceError(f"no file {file.path!r}", declared=file.path)
    return paths


def sealed(file: TextFile) -> Path | None:
    """The folder of the copy that questions read now, if there is one."""
    copy = _folder(file)
    return copy if copy is not None and (copy / "seal.json").is_file() else None


def parts(copy: Path) -> list[str]:
    """The Parquet files of a copy."""
    return sorted(str(path) for path in copy.glob("*.parquet"))


def date(file: TextFile) -> str | None:
    """When the copy was made that questions read now; None where a curator keeps none yet."""
    copy = None if file.place is None else sealed(file)
    return None if copy is None else str(json.loads((copy / "seal.json").read_text(encoding="utf-8"))["date"])


def names(file: TextFile) -> list[str]:
    """The columns that every file has, from its header line or as declared; no row is read."""
    listed = [names_of(file, path) for path in found(file)]
    return [name for name in listed[0] if all(name in other for other in listed[1:])]


def ready(file: TextFile) -> list[str]:
    """The columns of a source, where a copy is there or can be made; too little disk for one is refused here."""
    known = names(file)
    needed = sum(os.path.getsize(path) * (PACKED if file.packed else 1) for path in found(file)) + SPARE
    above = Path(os.path.abspath(file.place or tempfile.gettempdir()))
    while not above.exists():
        above = above.parent
    free = shutil.disk_usage(above).free
    if free < needed:
        mark = secrets.token_hex(4)
        LOG.error("sealing %s refused: needs %d bytes in %s, and %d are free", mark, needed, above, free)
        raise SourceError(f"too little disk for the copy that is read; see the operator log, reference {mark}")
    return known


def seal(file: TextFile) -> Path:
    """The folder of the copy, which is made if there is none."""
    copy = sealed(file)
    if copy is not None:
        return copy
    copy = _folder(file)
    if copy is None:  # there was no file to name it by
        raise SourceError(f"no file {file.path!r}", declared=file.path)
    make_private(copy.parent)
    with _one_at_a_time(copy.with_suffix(".lock")):
        if not (copy / "seal.json").is_file():
            for left in copy.parent.glob(f"{copy.name}.*"):  # by one who died while making it
                if left.is_dir():
                    shutil.rmtree(left)
            _make(file, copy)
    return copy


def report(file: TextFile) -> Seal:
    """What became of the lines, for the steward; the copy is made if there is none."""
    told = json.loads((seal(file) / "seal.json").read_text(encoding="utf-8"))
    listed = {name: tuple(map(tuple, told[name])) if name == "bad_lines" else tuple(told[name])
              for name in ("files", "bad_lines")}  # fmt: skip
    return Seal(**{**told, **listed})


def keep_copies(table: Table, folder: str) -> Table:
    """The table, its copy in that folder from now on where it is of text; others as they are."""
    if not isinstance(table.source, TextFile):
        return table
    return replace(table, source=replace(table.source, place=table.source.place or folder, version=table.version))


def read_whole(file: TextFile) -> pa.Table:
    """All rows of somebody's own file, in memory; a bad line is refused with its number."""
    import pyarrow as pa

    made = []
    (path,) = found(file)
    listed = names_of(file, path)
    kept = [place for place, name in enumerate(listed) if name]
    schema = pa.schema([(listed[place], pa.string()) for place in kept])
    with opened(file, path) as source:
        for columns, count, wrong in blocks(file, source, len(listed)):
            if wrong:
                line, why = wrong[0]
                raise SourceError(f"line {line} of {path!r} is bad: {why}", declared=path)
            if count:
                made.append(pa.record_batch([columns[place] for place in kept], schema=schema))
    return pa.Table.from_batches(made, schema=schema)


def standings(tables: Iterable[tuple[str, Table]]) -> list[tuple[str, str]]:
    """What an answer says of tables of text, by name: when its copy was made, and for which rows the promise holds."""
    made = []
    for name, table in tables:
        if isinstance(table.source, TextFile):
            when = date(table.source)
            said = "read from text at its first paid use" if when is None else f"read from text on {when[:10]}"
            if table.source.multiline:
                said += ", where values may span lines: the promise holds for the rows read, not for the bytes"
            made.append((name, said))
    return made


def place_beside(ledger: Path | None) -> str:
    """The folder of copies beside a ledger in a file; for others a new one, gone with this process."""
    return str(_own_folder(os.getpid()) / secrets.token_hex(8)) if ledger is None else f"{ledger}.sealed"


def _folder(file: TextFile) -> Path | None:
    """Where the copy of a source is, in this version; without a curator, of the files as they are."""
    said = {name: value for name, value in asdict(file).items() if name not in ("place", "path")}
    if file.place is None:
        try:
            paths = found(file)
        except SourceError:
            return None
        return own_place([[[path, *state(path)] for path in paths], said])
    return Path(file.place) / _mark([os.path.abspath(file.path), said])


def own_place(said: object) -> Path:
    """A place in the folder of this process, for what is said."""
    return _own_folder(os.getpid()) / _mark(said)


def state(path: str) -> list[int]:
    """What changes with the bytes of a file."""
    found = os.stat(path)
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _mark(said: object) -> str:
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


@functools.cache
def _own_folder(process: int) -> Path:
    """A folder for copies of this process, removed at its end."""
    made = Path(tempfile.mkdtemp(prefix="discreet-sealed-"))

    def remove() -> None:
        if os.getpid() == process:  # and not in a child that inherited this
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    Finalize(None, remove, exitpriority=0)  # children of multiprocessing end without the other
    return made


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, which programs that keep backups leave out."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.stat(folder).st_uid == os.getuid():
        folder.chmod(0o700)
    tag = folder / "CACHEDIR.TAG"
    if not tag.exists():
        with _created(tag) as file:
            file.write(_TAG.encode())


def _created(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    with _created(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile holds the file open


def _make(file: TextFile, copy: Path) -> None:
    """Write the copy under another name, then rename it."""
    half = copy.with_name(f"{copy.name}.{secrets.token_hex(4)}")
    half.mkdir(mode=0o700)
    try:
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")  # how long it takes tells how long the file is
        files, rows, bad, shown, size = found(file), 0, 0, list[tuple[str, int, str]](), 0
        for number, path in enumerate(files):
            part = half / f"{number:04d}.parquet"
            written, wrong, listed = _copied(file, path, part)
            rows, bad, size = rows + written, bad + wrong, size + part.stat().st_size
            shown += [(path, line, why) for line, why in listed[: SHOWN - len(shown)]]
        told = Seal(moment, file.path, file.multiline, tuple(files), rows, bad, tuple(shown), size)
        with _created(half / "seal.json") as out:
            out.write(json.dumps(asdict(told)).encode())
            _settle(out)
        give_name(half, copy)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise


def _copied(file: TextFile, path: str, part: Path) -> tuple[int, int, list[tuple[int, str]]]:
    """Write the rows of one file; how many there are, how many lines were bad, and the first of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    listed = names_of(file, path)
    kept = [place for place, name in enumerate(listed) if name]  # a column without a name cannot be declared
    schema = pa.schema([(listed[place], pa.string()) for place in kept])
    rows, bad, shown = 0, 0, list[tuple[int, str]]()
    with opened(file, path) as source, _created(part) as out:
        with pq.ParquetWriter(out, schema, compression="lz4", write_statistics=False, store_schema=False) as writer:
            for columns, count, wrong in blocks(file, source, len(listed)):
                if count:
                    writer.write_batch(pa.record_batch([columns[place] for place in kept], schema=schema))
                rows, bad = rows + count, bad + len(wrong)
                shown += wrong[: SHOWN - len(shown)]
        _settle(out)
    return rows, bad, shown


def _settle(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def give_name(half: Path, name: Path) -> None:
    """Give a file or folder the name that it is found by, once all of it is on the disk."""
    _settled(half)
    half.rename(name)
    _settled(name.parent)


def _settled(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
