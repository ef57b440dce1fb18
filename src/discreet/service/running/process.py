"""A child as its parent has it: given one order at a time, killed without asking.

The parent reads what the child says and never a private row.  A child that is gone is heard to the end: what it
said before it died decides whether its order was free.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.service.running.frames import LONGEST, Message, packed, receive
from discreet.service.running.limits import environment

LOG = logging.getLogger("discreet.operator")
PATIENCE = 300  # seconds that children may take to start


class Stillborn(DiscreetError):
    """A child did not come up."""


def command(path: str | Path) -> list[str]:
    """How a nursery is started."""
    return [sys.executable, "-m", "discreet.service.running.nursery", str(path)]


class Process:
    """One child."""

    def __init__(self, pid: int, handle: int, folder: str) -> None:
        self.pid = pid
        self._handle, self._folder = handle, folder
        self._reader: asyncio.StreamReader | None = None
        self._reading: asyncio.ReadTransport | None = None
        self._writing: asyncio.WriteTransport | None = None

    async def connect(self, reads: int, writes: int) -> None:
        """Speak through these ends of pipes."""
        loop = asyncio.get_running_loop()
        self._reader = reader = asyncio.StreamReader(limit=LONGEST)
        self._reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reads, "rb", 0)
        )
        self._writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(writes, "wb", 0))

    @property
    def alive(self) -> bool:
        """Whether it may be given an order."""
        return self._handle >= 0 and not _ended(self._handle)

    def tell(self, message: Message) -> None:
        """Give it an order."""
        assert self._writing is not None
        with suppress(OSError, RuntimeError):
            self._writing.write(packed(message))

    async def hear(self) -> Message | None:
        """The next thing it says, but for the lines that are for the operator; None when it is gone."""
        assert self._reader is not None
        while (said := await receive(self._reader)) is not None:
            if said.get("event") != "log":
                return said
            LOG.error("%s", str(said.get("text"))[:500])
        return None

    async def run(self, message: Message, *, hear: Callable[[Message], None]) -> bool:
        """Give it an order and listen until that has ended; False if the child is gone."""
        self.tell(message)
        while (said := await self.hear()) is not None:
            hear(said)
            if said.get("event") in ("refused", "withheld", "done"):
                return True
        return False

    def end(self) -> None:
        """Kill it and all that it started; what it has said can still be heard."""
        if self._handle >= 0:
            with suppress(OSError):
                if self.alive:
                    os.killpg(self.pid, signal.SIGKILL)
            with suppress(OSError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    async def kill(self) -> None:
        """End it, and clear up behind it."""
        if self._handle < 0:
            return
        self.end()
        handle, self._handle = self._handle, -1
        await asyncio.to_thread(_ended, handle, seconds=10)
        os.close(handle)
        for transport in (self._reading, self._writing):
            if transport is not None:
                transport.close()  # in the loop's next round; what follows takes longer
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


class Nursery:
    """The process that children are forked from; started with the first of them, and again if it should die."""

    def __init__(self, argv: Sequence[str], *, memory: int, store: str) -> None:
        self._argv = list(argv)
        self._settings = {"memory": memory, "store": store}
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    async def child(self) -> Process:
        """A child that is ready for an order."""
        async with self._lock:
            made = await self._forked()
        said: Message | None = None
        try:
            said = await asyncio.wait_for(made.hear(), PATIENCE)
        finally:
            if said is None or said.get("event") != "ready":
                await made.kill()
        if not made.alive:
            raise Stillborn("a child could not be started; see the operator log")
        return made

    async def _forked(self) -> Process:
        if self._closed:
            raise Stillborn("the nursery is closed")
        if self._process is None or self._process.returncode is not None:
            await self._start()
        assert self._socket is not None
        folder = tempfile.mkdtemp(prefix="discreet-child-")
        theirs_in, writes = os.pipe()
        reads, theirs_out = os.pipe()
        try:
            body = json_bytes({**self._settings, "folder": folder})
            socket.send_fds(self._socket, [body], [theirs_in, theirs_out])
            pid, handle = await asyncio.to_thread(_born, self._socket)
        except BaseException:
            os.close(writes)
            os.close(reads)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        made = Process(pid, handle, folder)
        await made.connect(reads, writes)
        return made

    async def _start(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nowhere = asyncio.subprocess.DEVNULL
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=theirs.fileno(),
                stdout=nowhere,
                stderr=nowhere,
                env=environment(),
                start_new_session=True,
            )
        if self._closed:  # meanwhile
            with suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """End it, also where it is only coming up; its children end with it, and nobody waits for another."""
        self._closed = True
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        async with self._lock:
            if self._process is not None:
                await self._process.wait()
            if self._socket is not None:
                self._socket.close()


def _ended(handle: int, *, seconds: float = 0) -> bool:
    """Whether a process has ended, or ends within so many seconds.  `select` knows only handles below 1,024."""
    looks = select.poll()
    looks.register(handle, select.POLLIN)
    return bool(looks.poll(seconds * 1000))


def _born(line: socket.socket) -> tuple[int, int]:
    """The number and the handle of a new child."""
    line.settimeout(PATIENCE)
    body, handles, _, _ = socket.recv_fds(line, 64, 1)
    if len(handles) != 1:
        raise Stillborn("the nursery is gone; see the operator log")
    return int.from_bytes(body), handles[0]


def json_bytes(message: Message) -> bytes:
    """A request to the nursery."""
    return packed(message)[4:]
