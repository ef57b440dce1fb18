"""A connection has so long to send the head of a request, and the head is so long at most.

uvicorn closes a connection that is idle between requests; one that never sends a request, or sends its head a byte at
a time, it keeps for ever.  Here the whole head must have come `HEAD_S` seconds after the connection was made, or after
its first byte on a connection that has served before.  Bodies have a limit of their own (`discreet.service.limits`).
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 20.0  # seconds in which the head of a request must have come


class Deadlined(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it over h11, which bounds the head; and a deadline for it."""

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self.deadline = self.loop.call_later(HEAD_S, self._late)

    def data_received(self, data: bytes) -> None:
        """Take what came; a byte more of a head gives it no second more."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the head is whole, or is none
            self._met()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(HEAD_S, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._met()
        super().connection_lost(exc)

    def _met(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def _late(self) -> None:
        self.deadline = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
