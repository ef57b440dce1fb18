"""The wire of a client: requests that may be lost, sent again under one key, and problems turned back into errors.

A request that spends carries an idempotency key, drawn once for each call.  Where no reply comes, the same request is
sent again under the same key, so that a lost reply is never a second charge and never a second draw.

The token is sent to one address only: over TLS, or to this machine; redirections are not followed.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from discreet.errors import (
    BudgetExhausted,
    DiscreetError,
    DomainError,
    ParameterError,
    ServiceError,
    UnsupportedError,
    require,
)

if TYPE_CHECKING:
    import httpx

RETRIES = 4  # times that a request without a reply is sent again
LONGEST = 60.0  # seconds that a client waits before it sends again, at most
JSON = "application/json"
_SAME = {"parameter": ParameterError, "domain": DomainError, "unsupported": UnsupportedError}
_BUSY = (429, 503)  # nothing was done: try later
_CHARGED = "withheld"
AGAIN = "ask again: what was paid for is kept, and given free"
AGAIN_FRESH = (
    "it may have been paid for: ask again without fresh=True, and what was paid for last is given free;"
    " with it, another draw is paid for"
)


class Connection:
    """One service, one token."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        certificate: str | Path | None = None,
        timeout: float = 120.0,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url, self._wait = checked(url), wait
        require(isinstance(token, str) and token.isascii() and token.isprintable(), "a token of ASCII letters")
        require(timeout > 0, "timeout > 0", timeout=timeout)
        self.http = _http(self.url, token, certificate, timeout)

    def get(self, path: str, **query: object) -> dict[str, object]:
        """What is at a path, as a dictionary."""
        return document(self.send("GET", path, query=query))

    def post(self, path: str, body: Mapping[str, object], *, key: str | None = None) -> dict[str, object]:
        """What a request is answered with; `key` is for those that spend."""
        return document(self.send("POST", path, body=body, key=key))

    def delete(self, path: str) -> dict[str, object]:
        """What the end of something is answered with."""
        return document(self.send("DELETE", path))

    def fetch(self, path: str, accept: str, **query: object) -> bytes:
        """A file."""
        return self.send("GET", path, query=query, accept=accept).content

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        key: str | None = None,
        accept: str = JSON,
    ) -> httpx.Response:
        """One request, again and again until there is a reply; a refusal raises what the curator would have raised.

        Once the reply to a request that spends was lost, no refusal of a later attempt says that it cost nothing.
        """
        import httpx

        headers = {"Accept": accept, "Content-Type": JSON} | ({} if key is None else {"Idempotency-Key": key})
        content = None if body is None else json.dumps(body).encode()
        asked = {name: str(value) for name, value in (query or {}).items() if value is not None}
        spends, lost = key is not None, False
        for attempt in range(RETRIES + 1):
            pause = min(LONGEST, 0.1 * 4**attempt)
            try:
                reply = self.http.request(method, path, params=asked, content=content, headers=headers)
            except httpx.TransportError as error:
                lost = True
                if attempt == RETRIES:
                    _unreached(self.url, error, spends=spends, fresh=(body or {}).get("fresh") is True)
            else:
                if reply.status_code not in _BUSY or attempt == RETRIES:
                    return _answered(reply, unsure=spends and lost)
                pause = _told(reply, pause)
            self._wait(pause)
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"


def checked(url: str) -> str:
    """The address without a slash at its end; plain HTTP is for this machine only.

    >>> checked("https://private.example.org/")
    'https://private.example.org'
    >>> checked("http://private.example.org")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need https:// for a service elsewhere: the token would be readable on the way
    """
    require(isinstance(url, str), "a URL", url=type(url).__name__)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ParameterError("need the URL of a service, such as https://private.example.org")
    if parts.scheme == "http" and not loopback(parts.hostname):
        raise ParameterError("need https:// for a service elsewhere: the token would be readable on the way")
    return url.rstrip("/")


def loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> loopback("127.0.0.1"), loopback("localhost"), loopback("127.0.0.1.example.org")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _http(url: str, token: str, certificate: str | Path | None, timeout: float) -> httpx.Client:
    try:
        import httpx
    except ImportError:
        raise UnsupportedError("a client needs httpx: pip install 'discreet[client]'") from None
    import ssl

    from discreet._version import __version__

    headers = {"Authorization": f"Bearer {token}", "User-Agent": f"discreet/{__version__}"}
    here = loopback(urlsplit(url).hostname or "")
    trust = True if certificate is None else ssl.create_default_context(cafile=str(certificate))
    limits = httpx.Timeout(timeout, connect=min(timeout, 10.0))
    # A proxy of the environment is for other machines: what is asked of this one does not leave it.
    return httpx.Client(
        base_url=url, headers=headers, verify=trust, timeout=limits, follow_redirects=False, trust_env=not here
    )


def document(reply: httpx.Response) -> dict[str, object]:
    """The body as a dictionary; what is no JSON object did not come from a service of ours."""
    try:
        found = reply.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ServiceError(
            f"the reply is not of a discreet service (status {reply.status_code})",
            kind="unreadable",
            status=reply.status_code,
            charged=None,
        )
    return found


def _told(reply: httpx.Response, pause: float) -> float:
    """How long the service says to wait."""
    told = reply.headers.get("Retry-After", "")
    return min(LONGEST, float(told)) if told.isascii() and told.isdigit() else pause


def _answered(reply: httpx.Response, *, unsure: bool) -> httpx.Response:
    if reply.is_success:
        return reply
    problem = document(reply)
    kind = str(problem.get("type", "")).rpartition(":")[2] or "unknown"
    error = problem_error(problem, kind, reply.status_code)
    if unsure and isinstance(error, ServiceError) and not error.charged:
        error.charged = None
    raise error


def problem_error(problem: Mapping[str, object], kind: str, status: int | None) -> DiscreetError:
    """The error that a problem document tells of: the curator's own where it has one.

    >>> problem_error({"detail": "need epsilon > 0, got epsilon=0"}, "parameter", 400)
    ParameterError('need epsilon > 0, got epsilon=0')
    """
    detail = str(problem.get("detail") or problem.get("title") or "the service refused")
    if kind in _SAME:
        return _SAME[kind](detail)
    if kind == "budget-exhausted":
        error = BudgetExhausted(requested=problem.get("requested"), remaining=problem.get("remaining"))
        error.args = (detail,)
        return error
    remedy, reference = problem.get("remedy"), problem.get("instance")
    detail += f"; {remedy}" if remedy and str(remedy) not in detail else ""
    where = f" (reference {reference})" if reference else ""
    return ServiceError(f"{detail}{where}", kind=kind, status=status, charged=kind == _CHARGED)


def _unreached(url: str, error: Exception, *, spends: bool, fresh: bool) -> NoReturn:
    said = f"no reply from {url}: {type(error).__name__}"
    if spends:
        said += f"; {AGAIN_FRESH if fresh else AGAIN}"
    raise ServiceError(said, kind="unreachable", charged=None if spends else False) from None
