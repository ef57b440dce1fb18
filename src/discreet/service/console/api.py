"""The console's only way to the curator: the routes of the JSON API, called in the same process.

Every call carries the secret of the session as its bearer token, so that what a page may show is decided
where the API decides it, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, time
from typing import TYPE_CHECKING

from discreet.service.console.stream import Stream

if TYPE_CHECKING:
    import httpx
    from starlette.types import ASGIApp

HERE = "http://console.invalid"  # no request leaves the process
WAIT_S = 3600.0  # the runner ends every order by itself long before


class Declined(Exception):
    """The API answered with a problem: what it is, in the API's own words."""

    def __init__(self, problem: Mapping[str, object]) -> None:
        super().__init__(str(problem.get("detail", "")))
        self.problem = dict(problem)

    @property
    def status(self) -> int:
        """The status of the reply."""
        return int(str(self.problem.get("status", 500)))

    @property
    def slug(self) -> str:
        """The last word of the type: `parameter`, `missing`, `budget-exhausted`."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


def declined(status: int, slug: str, title: str, detail: str) -> Declined:
    """A problem of the console's own, in the shape of the API's.

    >>> declined(403, "forbidden", "Not from here", "the form is too old").status
    403
    """
    return Declined({"type": f"urn:discreet:problem:{slug}", "title": title, "status": status, "detail": detail})


class Api:
    """The API as one principal sees it."""

    def __init__(self, app: ASGIApp, secret: str, *, client: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._app = app
        self._secret = secret
        self._client = client

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        accept: str = "application/json",
        key: str | None = None,
    ) -> httpx.Response:
        """One request; a problem is raised as `Declined`, and so is what cannot be said in a request at all."""
        import httpx

        headers = {"Authorization": f"Bearer {self._secret}", "Accept": accept}
        headers |= {} if key is None else {"Idempotency-Key": key}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        try:
            content = None if body is None else encoded(body)
            asked = httpx.Request(method, HERE + path, content=content, params=query, headers=headers)
        except (ValueError, TypeError, RecursionError, httpx.InvalidURL):
            raise declined(400, "unreadable", "The request cannot be read", "a value has no form in JSON") from None
        transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False, client=self._client)
        async with httpx.AsyncClient(transport=transport, timeout=WAIT_S) as client:
            reply = await client.send(asked)
        if reply.status_code >= 400:
            raise Declined(_problem(reply))
        return reply

    async def file(self, path: str, *, query: Mapping[str, str] | None = None) -> Stream:
        """What is at a path in pieces, as they come; a problem is raised as `Declined`."""
        import httpx

        try:
            asked = httpx.Request("GET", HERE + path, params=query, headers={"Authorization": f"Bearer {self._secret}"})
        except (ValueError, httpx.InvalidURL):
            raise declined(400, "unreadable", "The request cannot be read", "no address has such a form") from None
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "headers": [(name.lower(), value) for name, value in asked.headers.raw],
            "scheme": asked.url.scheme,
            "path": asked.url.path,
            "raw_path": asked.url.raw_path.split(b"?")[0],
            "query_string": asked.url.query,
            "server": (asked.url.host, asked.url.port),
            "client": self._client,
            "root_path": "",
        }
        stream = Stream(self._app, scope)
        status = await stream.status()
        if status >= 400:
            body = b"".join([piece async for piece in stream])
            raise Declined(_problem(httpx.Response(status, content=body)))
        return stream

    async def get(self, path: str, **query: str) -> dict[str, object]:
        """The JSON object at a path."""
        return (await self.call("GET", path, query=query or None)).json()

    async def post(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        """The JSON object that a post answers with."""
        reply = await self.call("POST", path, body=body)
        return reply.json() if reply.content.strip() else {}


def encoded(body: Mapping[str, object]) -> bytes:
    """A body as JSON, with dates and times as their texts.

    >>> encoded({"low": date(2020, 1, 1)})
    b'{"low": "2020-01-01"}'
    """
    return json.dumps(body, allow_nan=False, default=_text).encode()


def _text(value: object) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"JSON has no {type(value).__name__}")


def _problem(reply: httpx.Response) -> dict[str, object]:
    """The problem in a reply, or one that stands for it."""
    try:
        found = reply.json()
    except ValueError:
        found = None
    if isinstance(found, dict) and "title" in found:
        return {"status": reply.status_code, **found}
    return {"type": "urn:discreet:problem:unavailable", "title": "The service failed", "status": reply.status_code}
