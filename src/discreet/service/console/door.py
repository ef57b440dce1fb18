"""Signing in with a token, and out again.  The token itself is never kept: the cookie holds a session of its own."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.responses import Response

from discreet.service.console.api import Api, Declined, declined
from discreet.service.console.page import render
from discreet.service.console.visit import (
    FIELDS,
    Visit,
    cookie_name,
    door_name,
    forget,
    form_token,
    go,
    inside,
    keep,
    new_door,
    session_of,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

LONGEST = 4096  # characters of a token; a signed one of an identity provider has about a thousand


def door(app: ASGIApp) -> Callable[[Request], Awaitable[Response]]:
    """The sign-in page of an app."""

    async def endpoint(request: Request) -> Response:
        if request.method == "GET":
            return _page(request, problem=None, known=await _known(app, request))
        try:
            secret = await _session(app, request)
        except Declined as error:
            return _page(request, problem=error.problem, status=error.status)
        response = go(inside(request.query_params.get("next")))
        keep(response, request, cookie_name(request), secret)
        forget(response, request, door_name(request))
        return response

    return endpoint


async def _session(app: ASGIApp, request: Request) -> str:
    """A session for the token in the form, if the form is ours and the token is good."""
    form = await request.form(max_files=0, max_fields=FIELDS)
    held, sent = request.cookies.get(door_name(request)), str(form.get("csrf", ""))
    if held is None or not hmac.compare_digest(sent.encode(), form_token(held).encode()):
        raise declined(403, "forbidden", "Not from here", "the form is too old, or cookies are off; please try again")
    token = "".join(str(form.get("token", "")).split())
    if not token or len(token) > LONGEST or not token.isascii() or not token.isprintable():
        raise declined(401, "unauthenticated", "Not signed in", "this is not a token")
    made = await Api(app, token).post("/v1/session", {})
    return str(made["secret"])


async def _known(app: ASGIApp, request: Request) -> object:
    """Who is signed in already, if anybody is."""
    secret = session_of(request)
    try:
        return None if secret is None else await Api(app, secret).get("/v1/me")
    except Declined:
        return None


def _page(request: Request, *, problem: object, status: int = 200, known: object = None) -> Response:
    """A fresh form, with a cookie that only this browser has."""
    held = new_door()
    wanted = request.query_params.get("next")
    shown = {"me": None, "here": "/signin", "done": None, "next": inside(wanted) if wanted else None, "known": known}
    response = render("signin.html", status=status, problem=problem, csrf=form_token(held), **shown)
    keep(response, request, door_name(request), held)
    return response


async def sign_out(visit: Visit) -> Response:
    """End the session on the server, and take the cookie away."""
    await visit.api.call("DELETE", "/v1/session")
    response = go("/signin")
    forget(response, visit.request, cookie_name(visit.request))
    return response
