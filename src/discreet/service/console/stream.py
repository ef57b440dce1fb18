"""A reply of the API as it is sent, piece by piece: a file is on its way to the browser and never whole in memory.

The next piece is made when the last has been taken.  A browser that goes away is not waited for: what is left is
dropped, and the API ends its work as it always does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_RUNNING: set[asyncio.Task[None]] = set()  # a task that nobody holds may vanish


class Stream:
    """One request to an app, and its reply while it comes."""

    def __init__(self, app: ASGIApp, scope: Scope) -> None:
        self._pieces: asyncio.Queue[Message | None] = asyncio.Queue(maxsize=1)
        self._asked = self._left = False
        task = asyncio.get_running_loop().create_task(self._run(app, scope))
        _RUNNING.add(task)
        task.add_done_callback(_RUNNING.discard)

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self._send)
        except asyncio.CancelledError:  # the service ends: nobody takes another piece
            self._left = True
            raise
        finally:
            await self._send(None)

    async def _receive(self) -> Message:
        if self._asked:
            await asyncio.Event().wait()  # nobody goes away before the end
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Message | None) -> None:
        if not self._left:
            await self._pieces.put(message)

    async def status(self) -> int:
        """The status of the reply, once it has begun."""
        first = await self._pieces.get()
        return 500 if first is None else int(first["status"])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body after the status, in pieces; one that ends early is no file."""
        whole = False
        while (message := await self._pieces.get()) is not None:
            whole = not message.get("more_body", False)
            yield message.get("body", b"")
        if not whole:
            raise RuntimeError("the reply ended early")

    def leave(self) -> None:
        """Take nothing more; whoever waits to hand a piece over goes on."""
        self._left = True
        while not self._pieces.empty():
            self._pieces.get_nowait()


class Streamed(StreamingResponse):
    """A response in pieces, which is left when it has been sent or cannot be."""

    def __init__(self, stream: Stream, *, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(stream, media_type=media_type, headers=headers)
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._stream.leave()
