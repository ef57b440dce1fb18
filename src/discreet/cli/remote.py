"""A service from the command line: what is wrong with the address or the token is said at once, by its option."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from discreet.cli.outcome import UsageError
from discreet.errors import ServiceError

if TYPE_CHECKING:
    from discreet.service.client import Client

WITHIN = 10.0  # seconds for the first reply
UNKNOWN = 401  # the status of a token that nobody knows


def connected(url: str) -> Client:
    """A client of the service at an address, with the token of the environment."""
    from discreet.service.client import Client

    token = os.environ.get("DISCREET_TOKEN")
    if not url:
        raise UsageError("need an address: --url (DISCREET_URL), such as https://private.example.org")
    if not token:
        raise UsageError("need a token in DISCREET_TOKEN for --url; a steward makes one with: discreet token issue")
    _knock(url, token)
    try:
        return Client(url, token=token)
    except ServiceError as error:
        if error.status != UNKNOWN:
            raise
        said = f"{url} does not know this token: check DISCREET_TOKEN; it may be revoked, or over"
        raise ServiceError(said, kind=error.kind, status=error.status) from None


def _knock(url: str, token: str) -> None:
    """One request without a second try: a client waits for a service that restarts, a person at a prompt does not."""
    from discreet.service.client_connection import Connection

    connection = Connection(url, token, timeout=WITHIN)
    import httpx  # the connection has said so where it is not installed

    try:
        connection.http.get("/v1/health")
    except httpx.ConnectError as error:
        why = str(error).rpartition("] ")[2].lower() or "no connection"
        raise ServiceError(f"no service at {url}: {why}; check --url (DISCREET_URL)", kind="unreachable") from None
    except httpx.TransportError:
        pass  # there is somebody, who is slow: the client waits
    finally:
        connection.close()
