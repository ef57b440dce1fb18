"""Who the service takes me for; and a session of the console, which is a token of its own.

POST /v1/session gives {"secret", "expires"}: a child of the token that asks, for a cookie; it ends after eight hours
or with that token.  DELETE /v1/session ends the session that asks.  A session opens no other: nothing of it is left
when it has ended.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from discreet.service import accounts, tokens
from discreet.service.access import Principal, current
from discreet.service.problems import Problem

router = APIRouter(tags=["me"])
Who = Annotated[Principal, Depends(current)]


@router.get("/v1/me")
def me(request: Request, who: Who) -> dict[str, object]:
    """Name, role, end of the token, datasets (null: all) and allotments, by unit."""
    assert who.token is not None
    return {
        "principal": who.name,
        "role": who.role,
        "expires": tokens.stamp(who.token.expires),
        "datasets": None if who.datasets is None else list(who.datasets),
        "allotment": accounts.own(request.app.state.desk, who),
    }


@router.post("/v1/session", status_code=201)
def sign_in(request: Request, who: Who) -> dict[str, object]:
    """Open a session, with a token; a session opens no other, which would outlive its end."""
    assert who.token is not None
    if who.token.kind == "session":
        raise Problem("forbidden", "a session opens no other session; sign in with the token")
    secret = tokens.open_session(request.app.state.store, who.token)
    found = tokens.find(request.app.state.store, secret)
    assert found is not None
    return {"secret": secret, "expires": tokens.stamp(found.expires)}


@router.delete("/v1/session", status_code=204)
def sign_out(request: Request, who: Who) -> Response:
    """End the session that asks."""
    if who.token is None or who.token.kind != "session":
        raise Problem("conflict", "this is a token, not a session; a steward revokes tokens")
    tokens.revoke(request.app.state.store, who.token.id)
    return Response(status_code=204)
