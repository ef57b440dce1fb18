"""A visit: who is signed in, and forms that only our own pages can send.

The secret of a session lives in a cookie that scripts cannot read, that other sites cannot make the browser
send, and that leaves a machine only over TLS.  Every form carries a token derived from it, so that a page
which cannot read our pages cannot fill in our forms.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from discreet.service import log
from discreet.service.console.api import Api, Declined, declined
from discreet.service.console.page import HEADERS, PART, PRIVATE, fragment, render

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
STAY_S = 8 * 3600  # a session is over after a working day
FIELDS = 64  # of one form, at most
DONE = {
    "registered": "The table is registered.",
    "cap": "The cap is set.",
    "approved": "Approved. The analyst may ask it now.",
    "refused": "Refused. Nothing was read or spent.",
    "revoked": "The token is revoked, with every session that it opened.",
    "cancelled": "Cancelled. What was charged stays charged.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """One request of somebody who is signed in."""

    request: Request
    api: Api
    me: Mapping[str, object]
    csrf: str
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """steward, analyst or auditor."""
        return str(self.me.get("role"))

    def page(self, template: str, *, status: int = 200, **context: object) -> Response:
        """A page for this visitor."""
        return self.roomy_page(template, context, status=status, room=0)

    def roomy_page(self, template: str, context: Mapping[str, object], *, status: int, room: int) -> Response:
        """A page with so many blanks at its end."""
        done = DONE.get(self.request.query_params.get("done", ""))
        here = {"me": self.me, "csrf": self.csrf, "here": self.request.url.path}
        shown: dict[str, Any] = here | {"problem": None, "form": self.form, "done": done} | dict(context)
        return render(template, status=status, room=room, **shown)


Handler = Callable[[Visit], Awaitable[Response]]


def signed_in(app: ASGIApp, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A page that needs a session: without one it leads to the door."""

    async def endpoint(request: Request) -> Response:
        secret = session_of(request)
        if secret is None:
            return to_door(request)
        api, csrf = Api(app, secret, client=_client(request)), form_token(secret)
        shown: dict[str, Any] = {"me": None, "csrf": csrf, "here": request.url.path, "done": None}
        try:
            me = await api.get("/v1/me")
            shown["me"] = me
            form = await checked_form(request, secret) if request.method == "POST" else {}
            return await handler(Visit(request=request, api=api, me=me, csrf=csrf, form=form))
        except Declined as error:
            problem = error.problem
        except HTTPException as error:
            problem = declined(error.status_code, "unreadable", "The form cannot be read", str(error.detail)).problem
        except Exception as error:  # its text may quote anything
            log.failed(error)
            problem = _failed().problem
        return _told(request, problem, shown)

    return endpoint


def _failed() -> Declined:
    told = "the service failed; see the operator log under this reference"
    found = declined(503, "unavailable", "The service cannot answer now", told)
    found.problem["instance"] = log.request_id()
    return found


def _told(request: Request, problem: Mapping[str, object], shown: Mapping[str, Any]) -> Response:
    """A problem as a page, or as a piece of one where a script asked for that; without a session, the door."""
    status = int(str(problem.get("status", 500)))
    if PART in request.headers:
        return fragment("_trouble.html", status=status, problem=problem, back=_from(request) or "/")
    if status == 401:
        return to_door(request)
    return render("problem.html", status=status, problem=problem, **shown)


def session_of(request: Request) -> str | None:
    """The secret of a session that the browser sent, if it may be one."""
    found = request.cookies.get(cookie_name(request), "")
    return found if found and found.isascii() and found.isprintable() else None


async def checked_form(request: Request, secret: str) -> dict[str, str]:
    """The texts of a form that one of our own pages sent; anything else is refused before it is looked at."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise declined(403, "forbidden", "Not from here", "the form was sent by another site")
    sent = await request.form(max_files=0, max_fields=FIELDS)
    form = {name: value for name, value in sent.items() if isinstance(value, str)}
    token = request.headers.get("x-csrf-token") or form.pop("csrf", "")
    if not hmac.compare_digest(token.encode(), form_token(secret).encode()):
        raise declined(403, "forbidden", "Not from here", "the form is too old; open the page again")
    return form


def form_token(secret: str) -> str:
    """What our own forms carry: known to whoever can read our pages, and useless as a session."""
    return hmac.new(secret.encode(), b"discreet console form", hashlib.sha256).hexdigest()


def encrypted(request: Request) -> bool:
    """Whether the browser must keep cookies to TLS: always, but for plain HTTP on the machine itself.

    A proxy may call us by a loopback name; then the settings say that it has the certificate.
    """
    proxied = request.app.state.settings.behind_proxy
    return proxied or request.url.scheme == "https" or (request.url.hostname or "") not in LOOPBACK


def cookie_name(request: Request) -> str:
    """`__Host-` binds a cookie to this host and to TLS."""
    return "__Host-discreet" if encrypted(request) else "discreet"


def door_name(request: Request) -> str:
    """The cookie of somebody who is about to sign in."""
    return cookie_name(request) + "-door"


def keep(response: Response, request: Request, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot use."""
    response.set_cookie(
        name, value, max_age=STAY_S, path="/", secure=encrypted(request), httponly=True, samesite="strict"
    )


def forget(response: Response, request: Request, name: str) -> None:
    """Take a cookie away."""
    response.delete_cookie(name, path="/", secure=encrypted(request), httponly=True, samesite="strict")


def new_door() -> str:
    """A secret for the sign-in form."""
    return secrets.token_urlsafe(32)


def inside(path: str | None) -> str:
    """Where to go after signing in: a path of ours, and never another site.

    >>> inside("/budget"), inside("//elsewhere.example"), inside("https://elsewhere.example"), inside(None)
    ('/budget', '/', '/', '/')
    """
    given = path or ""
    ours = given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable()
    return given if ours and not given.startswith("/sign") else "/"


def to_door(request: Request) -> Response:
    """Lead to the sign-in page, and back to where the visitor wanted to be.

    Whoever follows a link of another site comes without the cookie, which other sites cannot use; a page of ours that
    goes there at once is no other site.
    """
    if PART in request.headers:
        gone = declined(401, "unauthenticated", "You are not signed in", "the session has ended")
        return fragment("_trouble.html", status=401, problem=gone.problem, back=_from(request) or "/")
    wanted = _from(request) if request.method != "GET" else _here(request)
    if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
        return render("onward.html", me=None, here="", done=None, problem=None, onward=wanted)
    back = f"?next={quote(wanted)}" if wanted not in ("", "/") else ""
    response = go(f"/signin{back}")
    if cookie_name(request) in request.cookies:
        forget(response, request, cookie_name(request))
    return response


def _here(request: Request) -> str:
    """The address of a request inside this site, as a browser may be sent to it again."""
    sent = request.scope.get("raw_path") or quote(request.url.path).encode()
    return inside(sent.decode("latin-1") + (f"?{request.url.query}" if request.url.query else ""))


def _from(request: Request) -> str:
    """The page of ours that a form or a script was on."""
    return inside(urlsplit(request.headers.get("referer", "")).path)


def go(path: str) -> Response:
    """See another page, with a GET."""
    return RedirectResponse(path, status_code=303, headers=HEADERS | PRIVATE)


def _client(request: Request) -> tuple[str, int]:
    return (request.client.host, request.client.port) if request.client else ("127.0.0.1", 0)
