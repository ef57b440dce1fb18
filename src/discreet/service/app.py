"""The service as an ASGI application: routes, one guard, one shape of refusal, one line of log a request.

`create_app(path)` serves the curator of a file.  `app.state` holds what routes share: `settings`, `store` (tokens and
approvals), `desk` (declarations, plans, ledger), `runner` (the children that read private rows), `limits`, `oidc`,
and `drawing` (the places of those who draw pictures).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet._version import __version__
from discreet.errors import DiscreetError, LedgerError
from discreet.service import log, metrics
from discreet.service.access import guard, routes
from discreet.service.desk import Desk
from discreet.service.limits import Limits, body_of
from discreet.service.oidc import Provider
from discreet.service.openapi import described
from discreet.service.problems import Problem, problem_of, response_of
from discreet.service.running.records import Records
from discreet.service.settings import Settings
from discreet.service.store import open_store

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SLUGS = {404: "missing", 405: "method", 406: "not-acceptable", 413: "too-large", 415: "media-type"}
DRAWING = 2  # pictures at once
_HEADERS = [  # a reply is for one principal and one use
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


def create_app(path: str | Path, settings: Settings | None = None) -> FastAPI:
    """The service of a curator's file; what is not in `settings` is read from it."""
    chosen = Settings.read(path) if settings is None else settings
    app = FastAPI(
        title="discreet",
        version=__version__,
        description="Private answers with error bars, paid for first.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=_lifespan,
    )
    app.state.settings, app.state.path = chosen, Path(path).absolute()
    app.state.store = open_store(chosen)
    app.state.desk = Desk(path)
    app.state.limits = Limits(rate=chosen.rate)
    app.state.oidc = None if chosen.oidc is None else Provider(chosen.oidc)
    app.state.records = Records(app.state.store)
    app.state.records.stands_on(app.state.desk.curator.ledger)
    app.state.drawing = asyncio.Semaphore(DRAWING)
    app.state.runner = None
    _route(app)
    for kind in (Problem, DiscreetError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _refused)
    app.add_middleware(Envelope)
    app.openapi = partial(described, app)
    return app


def _route(app: FastAPI) -> None:
    """The API behind its guard; and the console, whose pages call the API with the session of whoever looks."""
    from discreet.service.console.pages import router as console
    from discreet.service.routes import routers

    for router in routers():
        app.include_router(router, dependencies=[Depends(guard)])
    app.include_router(console(app))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start the children with the service, and stop them with it."""
    from discreet.service.running.runner import Runner

    app.state.runner = Runner(app.state.path, app.state.settings)
    await app.state.runner.start()
    try:
        yield
    finally:
        await app.state.runner.stop()
        app.state.desk.close()
        app.state.store.close()


async def _refused(request: Request, error: Exception) -> Response:
    """Any error as a problem."""
    if isinstance(error, Problem):
        return _told(request.scope, error, error.headers)
    if isinstance(error, RequestValidationError):
        return response_of(problem_of(_invalid(error)))
    if isinstance(error, HTTPException):
        slug = _SLUGS.get(error.status_code, "unreadable")
        allowed = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
        return _told(request.scope, Problem(slug, str(error.detail)), allowed)
    if isinstance(error, LedgerError):
        log.failed(error)
        await run_in_threadpool(request.app.state.desk.recover)
    elif not isinstance(error, DiscreetError):
        log.failed(error)
    return response_of(problem_of(error))


def _told(scope: Scope, error: Exception, headers: Mapping[str, str] | None = None) -> Response:
    """The problem of an error, as JSON; or as a page, for a browser that is not at the API."""
    from discreet.service.console import outside

    problem, sent = problem_of(error), dict(headers or {})
    return outside.page(scope, problem, sent) or response_of(problem, headers=sent)


def _invalid(error: RequestValidationError) -> Problem:
    """What a model refused: where, and the rule; never what was sent."""
    if any(found["type"] == "json_invalid" for found in error.errors()):
        return Problem("unreadable", "the body is not JSON")
    found = [
        f"{'.'.join(str(part) for part in one['loc'] if part != 'body')[:100] or 'body'}: {one['msg']}"
        for one in error.errors()[:5]
    ]
    return Problem("parameter", "; ".join(dict.fromkeys(found)))


class Envelope:
    """What every request passes through: an id, limits on its body, one line of log; no exception leaves it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, started, status = log.begin(), time.monotonic(), 0
        number = log.request_id()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                added = [(name, value) for name, value in (*_HEADERS, *_kept_to_tls(scope)) if name not in given]
                message["headers"] = [*message["headers"], *added, (b"discreet-request", number.encode())]
            await send(message)

        try:
            whole = await body_of(scope, receive, most=scope["app"].state.settings.body)
            await self.app(scope, whole, answer)
        except Problem as problem:
            await _told(scope, problem, problem.headers)(scope, receive, answer)
        except Exception as error:  # its text may quote anything
            log.failed(error)
            if not status:
                await _told(scope, error)(scope, receive, answer)
        finally:
            entered = scope.get("state", {}).get("entered")
            if entered is not None:
                scope["app"].state.limits.leave(entered)
            _noted(scope, status, time.monotonic() - started)
            log.end(begun)


def _kept_to_tls(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Who has come over TLS, to us or to the proxy before us, is to come back over it; not so on one's own machine."""
    host = dict(scope["headers"]).get(b"host", b"")
    here = host.startswith(b"[::1]") or host.partition(b":")[0] in (b"127.0.0.1", b"localhost")
    secure = scope["app"].state.settings.behind_proxy or (scope.get("scheme") == "https" and not here)
    return [(b"strict-transport-security", b"max-age=31536000")] if secure else []


def _noted(scope: Scope, status: int, seconds: float) -> None:
    """One line of log, and the counters."""
    state = scope.get("state", {})
    name, slot = log.told()
    name, slot = getattr(state.get("principal"), "name", name), state.get("slot") or slot
    route = getattr(scope.get("route"), "path", None) or _template(scope)
    method = scope["method"]
    log.served(method=method, route=route, status=status, seconds=seconds, slot=slot, principal=name)
    metrics.served(method=method, route=route, status=status, seconds=seconds, charged=slot is not None)


def _template(scope: Scope) -> str | None:
    """The template of a page, whose route does not tell it by itself."""
    endpoint = scope.get("endpoint")
    found = (route for route in routes(scope["app"]) if getattr(route, "endpoint", None) is endpoint)
    return None if endpoint is None else getattr(next(found, None), "path", None)
