"""What a disk is sure to hold after a power cut, from a trace of the system calls that wrote to it.

A write is volatile until its file is synced, a new name until its folder is.  A cut keeps everything
synced, and of the rest any part, in any order, torn at any sector.  A sync that fails loses what it
should have kept, for ever: the kernel marks the pages clean, and a second sync has nothing to write.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CALLS = "openat,?creat,pwrite64,write,lseek,ftruncate,fsync,fdatasync,?unlink,unlinkat,?link,linkat,?rename,renameat2"
SECTOR = 512

_LINE = re.compile(r"(?P<pid>\d+) +(?P<text>.*)")
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>(?P<rest>.*)")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)")
_FILE = re.compile(r"\d+<(?P<path>(?:\\x[0-9a-f]{2})+)>(?P<deleted>\(deleted\))?")
_TEXT = re.compile(r'"(?P<text>(?:\\x[0-9a-f]{2})*)"')


def strace(log: Path, *options: str, longest: int = 2_000_000) -> list[str]:
    """The words before a command that trace every call that matters, with its bytes."""
    return ["strace", "-f", "-y", "-xx", "-s", str(longest), "-e", f"trace={CALLS}", "-o", str(log), *options]


def need_strace() -> None:
    """Fail, and say what to install, where no process can be traced."""
    probe = ["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync", "true"]
    if shutil.which("strace") is None or subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.fail(
            "need strace, and a machine that lets it trace; call scripts/services.sh, or apt-get install strace"
        )


@dataclass(frozen=True)
class Call:
    """One system call: when it began (`began` calls had ended by then) and how it ended."""

    pid: str
    name: str
    began: int
    result: int
    path: str | None  # of its file
    texts: tuple[bytes, ...]  # its strings: bytes that were written, or names
    numbers: tuple[int, ...]
    flags: str  # its arguments without its strings


def calls(log: Path) -> Iterator[Call]:
    """The calls of a trace in the order of their ends."""
    begun: dict[str, tuple[int, str]] = {}
    ended = 0
    with log.open() as lines:
        for line in lines:
            pid, text = _LINE.match(line).group("pid", "text")  # type: ignore[union-attr]
            began = ended
            if text.endswith("<unfinished ...>"):
                begun[pid] = (ended, text.removesuffix("<unfinished ...>"))
                continue
            if resumed := _RESUMED.match(text):
                began, text = begun.pop(pid)
                text += resumed["rest"]
            if call := _CALL.match(text):
                ended += 1
                yield _call(pid, call, began)


def _call(pid: str, found: re.Match[str], began: int) -> Call:
    arguments = found["arguments"]
    file = _FILE.match(arguments)
    plain = _TEXT.sub("", arguments)
    return Call(
        pid,
        found["name"],
        began,
        int(found["result"]),
        None if file is None or file["deleted"] else _bytes(file["path"]).decode(),
        tuple(_bytes(text["text"]) for text in _TEXT.finditer(arguments)),
        tuple(int(word) for word in re.findall(r"(?<=, )\d+(?= *(?:,|$))", plain)),
        plain,
    )


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


@dataclass(eq=False)
class File:
    """What is sure to be there, and what was written since: (when, offset, bytes), or (when, size, None) for a cut."""

    sure: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, int, bytes | None]] = field(default_factory=list)

    def sync(self, began: int) -> None:
        for _, offset, content in (write for write in self.since if write[0] < began):
            _apply(self.sure, offset, content)
        self.lose(began)

    def now(self) -> bytes:
        """What a reader sees."""
        content = self.sure.copy()
        for _, offset, written in self.since:
            _apply(content, offset, written)
        return bytes(content)

    def lose(self, began: int) -> None:
        self.since = [write for write in self.since if write[0] >= began]

    def torn(self, chance: random.Random) -> bytearray:
        """Everything synced, and any part of the rest."""
        content = self.sure.copy()
        for _, offset, written in chance.sample(self.since, len(self.since)):
            if written is None:
                if chance.random() < 0.5:
                    _apply(content, offset, None)
                continue
            for start in range(0, len(written), SECTOR):
                if chance.random() < 0.5:
                    _apply(content, offset + start, written[start : start + SECTOR])
        return content


def _apply(content: bytearray, offset: int, written: bytes | None) -> None:
    if written is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(written)] = written


class Disk:
    """The files of one folder, replayed call by call."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.names: dict[str, File] = {}
        self.sure: dict[str, File] = {}  # the names that a sync of the folder has kept
        self._places: dict[File, int] = {}  # where the next write goes, of files that one handle writes in order

    def settle(self) -> None:
        """Files of which nothing was replayed are as they are now, and synced."""
        for file in Path(self.folder).iterdir():
            if str(file) not in self.names:
                self.names[str(file)] = self.sure[str(file)] = File(bytearray(file.read_bytes()))

    def replay(self, log: Path) -> Iterator[Call]:
        """Each call, after its effect on the disk; a second trace goes on where the first ended."""
        for file in {**self.sure, **self.names}.values():
            file.since = [(-1, *write[1:]) for write in file.since]
        for ended, call in enumerate(calls(log)):
            if call.result >= 0:
                self._effect(call, ended)
            elif call.name in ("fsync", "fdatasync") and call.path in self.names:
                self.names[call.path].lose(call.began)
            yield call

    def _effect(self, call: Call, ended: int) -> None:
        paths = [text.decode() for text in call.texts if text.startswith(self.folder.encode() + b"/")]
        file = self.names.get(call.path or "")
        match call.name:
            case "openat" | "creat" if paths:
                file = self.names.get(paths[0])
                if file is None and (call.name == "creat" or "O_CREAT" in call.flags):
                    file = self.names[paths[0]] = File()
                if file is not None and (call.name == "creat" or "O_TRUNC" in call.flags):
                    file.since.append((ended, 0, None))
                if file is not None:
                    self._places[file] = len(file.now()) if "O_APPEND" in call.flags else 0
            case "pwrite64" if file is not None:
                assert len(call.texts[0]) >= call.result, "the trace has cut the bytes of a write short"
                file.since.append((ended, call.numbers[-1], call.texts[0][: call.result]))
            case "write" if file is not None:
                assert len(call.texts[0]) >= call.result, "the trace has cut the bytes of a write short"
                place = self._places[file]
                file.since.append((ended, place, call.texts[0][: call.result]))
                self._places[file] = place + call.result
            case "lseek" if file is not None:
                self._places[file] = call.result
            case "ftruncate" if file is not None:
                file.since.append((ended, call.numbers[-1], None))
            case "fsync" | "fdatasync" if call.path == self.folder:
                self.sure = dict(self.names)
            case "fsync" | "fdatasync" if file is not None:
                file.sync(call.began)
            case "unlink" | "unlinkat" if paths:
                self.names.pop(paths[0], None)
            case "link" | "linkat" if paths:
                self.names[paths[1]] = self.names[paths[0]]
            case "rename" | "renameat2" if paths:
                self.names[paths[1]] = self.names.pop(paths[0])
            case _:
                pass

    def cut(self, into: Path, *, chance: random.Random | None = None) -> None:
        """Write the files as a power cut leaves them: what is sure alone, or with any part of the rest."""
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        for path, file in self._left(chance):
            if not path.endswith("-shm"):  # shared memory is no file to rely on
                (into / Path(path).name).write_bytes(file.sure if chance is None else file.torn(chance))

    def _left(self, chance: random.Random | None) -> Iterable[tuple[str, File]]:
        if chance is None:
            return self.sure.items()
        left = []
        for path in {**self.sure, **self.names}:  # each name is as it was when the folder was synced, or as it is
            file = (self.names if chance.random() < 0.5 else self.sure).get(path)
            left += [] if file is None else [(path, file)]
        return left
