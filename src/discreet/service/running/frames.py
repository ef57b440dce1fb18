"""What a parent and a child say to one another: JSON, each message after its length in four bytes.

Nothing that is read can name code to run, and a message that is longer than agreed ends the conversation.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
from typing import Any

from discreet.errors import DiscreetError

LONGEST = 256 * 2**20  # bytes of one message
_LENGTH = struct.Struct(">I")

Message = dict[str, Any]


class Broken(DiscreetError):
    """The other side went away in the middle of a message, or said something that is none."""


def packed(message: Message) -> bytes:
    """The bytes of a message.

    >>> packed({"event": "ready"})[4:]
    b'{"event":"ready"}'
    """
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > LONGEST:
        raise Broken("the message is too long")
    return _LENGTH.pack(len(body)) + body


def write(handle: int, message: Message) -> None:
    """Send a message, all of it."""
    rest = memoryview(packed(message))
    while rest:
        rest = rest[os.write(handle, rest) :]


def read(handle: int) -> Message | None:
    """The next message; None where the other side has nothing more to say."""
    head = _exactly(handle, _LENGTH.size)
    if not head:
        return None
    body = _exactly(handle, _size(head))
    return _message(body)


async def receive(stream: asyncio.StreamReader) -> Message | None:
    """The next message of a child; None where it is gone, also in the middle of one."""
    try:
        head = await stream.readexactly(_LENGTH.size)
        return _message(await stream.readexactly(_size(head)))
    except (asyncio.IncompleteReadError, ConnectionError, Broken):
        return None


def _exactly(handle: int, size: int) -> bytes:
    parts, left = [], size
    while left:
        part = os.read(handle, min(left, 2**20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    if left and left != size:
        raise Broken("the message is cut off")
    return b"".join(parts)


def _size(head: bytes) -> int:
    if len(head) != _LENGTH.size or (size := _LENGTH.unpack(head)[0]) > LONGEST:
        raise Broken("the message has no length that was agreed on")
    return int(size)


def _message(body: bytes) -> Message:
    try:
        found = json.loads(body)
    except ValueError:
        raise Broken("the message is not JSON") from None
    if not isinstance(found, dict):
        raise Broken("the message is not an object")
    return found
