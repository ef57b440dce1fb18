"""What one client may take: requests a minute and at once, bytes of a body, depth of its JSON, time to send it.

The rate is a bucket for each principal, in each worker process: full at first, refilled steadily, one request a drop.
Of the threads of a process a principal has at most `AT_ONCE`, so that one who plans and verifies without end leaves
the others theirs; orders wait in the runner's own line.  All of it depends on when requests come and never on what is
in the tables.  Lengths of questions and lists are the parser's.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.service.problems import Problem

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

DEPTH = 64  # of nested JSON
PATIENCE = 20.0  # seconds in which a body must have come
AT_ONCE = 8  # requests of one principal that a process works on; it has forty threads
KNOWN = 10_000  # principals whose buckets are kept; a full bucket need not be
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


class Limits:
    """Buckets, by principal.

    >>> limits = Limits(rate=2, clock=lambda: 0.0)
    >>> limits.take("ada"), limits.take("ada")
    (None, None)
    >>> try:
    ...     limits.take("ada")
    ... except Problem as problem:
    ...     problem.status, problem.headers
    (429, {'Retry-After': '30'})
    """

    def __init__(self, *, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and when that was so
        self._inside: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def place(self, principal: str) -> Iterator[None]:
        """Hold a place while something is worked on."""
        self.enter(principal)
        try:
            yield
        finally:
            self.leave(principal)

    def enter(self, principal: str) -> None:
        """Take a place among the requests that are worked on, or be told to wait."""
        with self._lock:
            if self._inside[principal] >= AT_ONCE:
                raise Problem(
                    "too-many-requests",
                    f"at most {AT_ONCE} requests at once",
                    remedy="wait for an answer before the next request",
                    headers={"Retry-After": "1"},
                )
            self._inside[principal] += 1

    def leave(self, principal: str) -> None:
        """Give the place back."""
        with self._lock:
            self._inside[principal] -= 1
            if not self._inside[principal]:
                del self._inside[principal]

    def take(self, principal: str) -> None:
        """Let one request pass, or say how many seconds to wait."""
        now = self._clock()
        with self._lock:
            left, since = self._left.get(principal, (float(self._rate), now))
            left = min(float(self._rate), left + (now - since) * self._rate / 60)
            if left < 1:
                wait = math.ceil((1 - left) * 60 / self._rate)
                raise Problem(
                    "too-many-requests",
                    f"at most {self._rate} requests a minute",
                    remedy=f"wait {wait} seconds",
                    headers={"Retry-After": str(wait)},
                )
            self._left[principal] = (left - 1, now)
            if len(self._left) > KNOWN:
                self._left.pop(next(iter(self._left)))


def depth(body: bytes) -> int:
    """How deeply the brackets of a JSON text are nested, without parsing it.

    >>> depth(b'{"a": [[1], "]"]}')
    3
    """
    deepest = level = 0
    for bracket in _BRACKETS.findall(_TEXT.sub(b"", body)):
        level += 1 if bracket in b"[{" else -1
        deepest = max(deepest, level)
    return deepest


async def body_of(scope: Scope, receive: Receive, *, most: int) -> Receive:
    """Read a request's body, within its limits, and return what hands it on."""
    if not scope.get("path", "").isprintable():
        raise Problem("missing", "no address has such characters")
    headers = {name.lower(): value for name, value in scope.get("headers", [])}
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Problem("media-type", "a body is sent as it is, without a content encoding")
    stated = headers.get(b"content-length", b"0")
    if stated.isdigit() and int(stated[:20]) > most:
        raise Problem("too-large", f"a request has at most {most} bytes")
    try:
        body = await asyncio.wait_for(_read(receive, most), PATIENCE)
    except TimeoutError:
        raise Problem("unreadable", f"the body did not come within {PATIENCE:g} seconds") from None
    if scope.get("path", "").startswith("/v1/") and body:
        if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != b"application/json":
            raise Problem("media-type", "a body is application/json")
        if depth(body) > DEPTH:
            raise Problem("unreadable", f"JSON is nested at most {DEPTH} deep")
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _read(receive: Receive, most: int) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("unreadable", "the client went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise Problem("too-large", f"a request has at most {most} bytes")
        if not message.get("more_body", False):
            return b"".join(parts)
