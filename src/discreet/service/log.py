"""What the service writes down: one line of JSON a request, and nothing private.

    {"time": ..., "request": "5f0c...", "method": "POST", "route": "/v1/ask", "status": 200,
     "milliseconds": 1000, "principal": "ada"}

The route is its template, so that no name in an address is written; the time of a charged answer is rounded up to
its slot.  A page of the console calls the API inside its own request: the lines of these calls have an id of their own
and that of the page as `page`, and the line of the page has the principal and the slot of its calls.

No question, answer, token, header or body is ever written, and of an error its kind and place only: the text of an
exception may quote what it failed on.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

LOG = logging.getLogger("discreet.service")
Asked = TypeVar("Asked")
Reply = TypeVar("Reply")


@dataclass(slots=True)
class Served:
    """A request that is being served: its id, the page that makes it, and of a page what its own requests told."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    page: Served | None = None
    principal: str | None = None
    slot: float | None = None


_REQUEST: ContextVar[Served | None] = ContextVar("request", default=None)
_PAGE: ContextVar[Served | None] = ContextVar("page", default=None)


def begin() -> Token[Served | None]:
    """Give the request that is being served an id; `end` takes it away again.

    >>> outer = begin()
    >>> before, inner = request_id(), begin()
    >>> before == request_id(), end(inner), before == request_id(), end(outer), request_id()
    (False, None, True, None, '')
    """
    return _REQUEST.set(Served(page=_PAGE.get()))


def end(begun: Token[Served | None]) -> None:
    """The request was served: what follows belongs to the one around it."""
    _REQUEST.reset(begun)


def request_id() -> str:
    """The id of the request that is being served, or nothing outside one."""
    found = _REQUEST.get()
    return "" if found is None else found.id


def told() -> tuple[str | None, float | None]:
    """Of a page: who its own requests were made by, and the longest slot that they waited for."""
    found = _REQUEST.get()
    return (None, None) if found is None else (found.principal, found.slot)


def page(endpoint: Callable[[Asked], Awaitable[Reply]]) -> Callable[[Asked], Awaitable[Reply]]:
    """An endpoint whose own requests are written down as those of its page."""

    async def paged(request: Asked) -> Reply:
        begun = _PAGE.set(_REQUEST.get())
        try:
            return await endpoint(request)
        finally:
            _PAGE.reset(begun)

    return paged


class Lines(logging.Formatter):
    """Records as lines of JSON: what was given as `fields`, and never an exception's text."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = getattr(record, "fields", None)
        found = {"time": time, "level": record.levelname.lower(), "logger": record.name}
        found |= fields if isinstance(fields, dict) else {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            found |= failure(record.exc_info[1])
        return json.dumps(found)


def set_up(place: str | None) -> None:
    """Write the log to a file, or to standard error; uvicorn's own lines take the same form."""
    if place is None:
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        handler = logging.FileHandler(place, encoding="utf-8")
        Path(place).chmod(0o600)  # who asked when is for the operator alone
    handler.setFormatter(Lines())
    for name in ("discreet", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(logging.INFO)
    logging.getLogger("uvicorn.access").disabled = True  # it writes whole addresses


def failure(error: BaseException) -> dict[str, object]:
    """The kind and place of an error, without its text.

    >>> try:
    ...     int("a private value")
    ... except ValueError as error:
    ...     failure(error)["error"]
    'ValueError'
    """
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return {
        "error": type(error).__name__,
        "at": [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames],
    }


def served(
    *, method: str, route: str | None, status: int, seconds: float, slot: float | None, principal: str | None
) -> None:
    """Write the line of a request, and tell the page that made it; `slot` is that of a charged answer."""
    request = _REQUEST.get()
    around = None if request is None else request.page
    if around is not None:
        around.principal = principal or around.principal
        around.slot = max(slot or 0.0, around.slot or 0.0) or None
    slots = None if not slot else max(1, math.ceil(seconds / slot - 0.5))
    spent = math.ceil(seconds * 1000) if not slot or slots is None else math.ceil(slots * slot * 1000)
    fields = {
        "request": request_id(),
        "method": method,
        "route": route,
        "status": status,
        "milliseconds": spent,
        "principal": principal,
    } | ({} if around is None else {"page": around.id})
    LOG.info("request", extra={"fields": fields})


def failed(error: BaseException) -> None:
    """Write that something went wrong that we did not raise ourselves."""
    LOG.error("failed", extra={"fields": {"request": request_id()} | failure(error)})
